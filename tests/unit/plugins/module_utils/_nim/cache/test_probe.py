# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The search for the model manifest, pass by pass."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import owner_reference
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.app import NIMCacheApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.probe import (
    Probe,
    needs_probe,
    needs_protocol,
    probe_image,
    stored_manifest,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.model_manifest import (
    parse_manifest,
)

RBAC = [
    "ServiceAccount/nim/nim-cache-sa",
    "Role/nim/nim-cache-role",
    "RoleBinding/nim/nim-cache-rolebinding",
]
CLAIM, POD, KEPT, JOB = (
    "PersistentVolumeClaim/nim/llama-pvc", "Pod/nim/llama-pod", "ConfigMap/nim/llama-manifest", "Job/nim/llama-job",
)  # fmt: skip
NOT_FOUND = "model_manifest.yaml not found\n"
PLAIN = "download-to-cache not found\n" + NOT_FOUND
HF = {
    "hf": {
        "endpoint": "https://hf.co", "namespace": "org", "modelName": "m", "authSecret": "s",
        "modelPuller": "x:1", "pullSecret": "p",
    }
}  # fmt: skip
NGC = {"modelPuller": "x:1", "authSecret": "s"}
FOREIGN = {"metadata": {"name": "x", "namespace": "nim", "ownerReferences": [
    {"kind": "NIMCache", "name": "other", "uid": "u-other", "controller": True}]}}  # fmt: skip


def test_probe_image_native(world):
    cluster = world()
    cluster.protocol = "native"
    assert cluster.reconcile().applied == [*RBAC, CLAIM]
    assert cluster.cr["status"]["type"] == "native"
    assert cluster.state == "PVC-Created"
    cluster.protocol = ""
    assert cluster.reconcile().applied == [JOB]
    assert "NIM_ENGINE_MODEL_PATH" in str(cluster.objects[JOB])


def test_probe_image_native_is_kept(world):
    cluster = world()
    cluster.protocol = "native"
    cluster.become_ready()
    cluster.protocol = ""
    done = cluster.reconcile()
    assert (done.applied, cluster.state, cluster.cr["status"]["type"]) == ([], "Ready", "native")


def test_needs_protocol_after_empty_probe(world):
    cluster = world()
    cluster.protocol = ""
    assert "protocol" in cluster.reconcile().keys
    assert "protocol" not in cluster.reconcile().keys
    cluster.protocol = "native"
    cluster.run_pod(NOT_FOUND)
    done = cluster.reconcile()
    assert (done.applied, done.pruned) == ([JOB], [POD])
    assert cluster.cr["status"]["type"] == "native"


def test_probe_image_slow_registry(world):
    cluster = world()
    cluster.protocol = "later"
    done = cluster.reconcile()
    assert POD not in done.applied
    assert (done.assessment.requeue.after, done.assessment.requeue.slow) == (True, True)
    assert "the registry, which is slow to answer" in str(done.assessment.status)
    cluster.protocol = ""
    done = cluster.reconcile()
    assert (POD in done.applied, done.assessment.requeue.slow) == (True, False)
    cluster.protocol = "later"
    cluster.run_pod(NOT_FOUND)
    done = cluster.reconcile()
    assert (done.applied, done.pruned) == ([], []), "the pod stays, as it has the log"
    cluster.protocol = "native"
    assert cluster.reconcile().applied == [JOB]


@pytest.mark.parametrize(
    ("log", "cache_type", "command"),
    [
        pytest.param(NOT_FOUND, "model-free", "download-to-cache", id="model-free"),
        pytest.param(PLAIN, None, "huggingface-cli", id="plain"),
        pytest.param(None, None, "huggingface-cli", id="manifest"),
    ],
)
def test_probe_image_hugging_face(world, log, cache_type, command):
    cluster = world(source=HF)
    assert "protocol" not in cluster.reconcile().keys
    cluster.run_pod(log)
    done = cluster.reconcile()
    assert done.applied == ([JOB] if log else [KEPT, JOB])
    assert done.pruned == [POD]
    assert cluster.cr["status"].get("type") == cache_type
    container = cluster.objects[JOB]["spec"]["template"]["spec"]["containers"][0]
    assert container["command"][0] == command
    assert cluster.reconcile().applied == []
    cluster.set_job("Complete", succeeded=1)
    cluster.reconcile()
    assert cluster.state == "Ready"
    assert "profiles" not in cluster.cr["status"]
    assert cluster.reconcile().applied == []


@pytest.mark.parametrize("log", ["", "--- nimops: manifest begins ---\na: {model: m}\n"])
def test_probe_image_incomplete_log(world, log):
    cluster = world()
    cluster.reconcile()
    cluster.run_pod(log)
    done = cluster.reconcile()
    assert (done.applied, done.pruned, done.assessment.requeue.after) == ([], [], True)


def test_probe_image_recreates_finished_pod(world):
    cluster = world()
    cluster.reconcile()
    cluster.run_pod(phase="Failed")
    assert cluster.reconcile().pruned == [POD]
    assert cluster.reconcile().applied == [POD]


def test_probe_image_foreign_config_map(world):
    cluster = world()
    cluster.objects[KEPT] = FOREIGN
    cluster.reconcile()
    assert "ConfigMap llama-manifest exists" in cluster.condition("NIM_CACHE_RECONCILE_FAILED")[2]
    assert POD not in cluster.objects


def test_probe_image_restores_lost_manifest(world):
    cluster = world().become_ready()
    del cluster.objects[KEPT]
    assert cluster.reconcile().applied == [POD]
    assert cluster.state == "Ready"
    cluster.run_pod()
    done = cluster.reconcile()
    assert (done.applied, done.pruned, cluster.state) == ([KEPT], [POD], "Ready")
    assert not done.assessment.requeue.after


def test_probe_image_cached_model_endpoint(world):
    cluster = world(source={"ngc": NGC | {"modelEndpoint": "ngc://m"}}).become_ready()
    del cluster.objects[KEPT]
    assert cluster.reconcile().applied == []


@pytest.mark.parametrize(
    ("source", "status", "live", "is_probed", "is_asked"),
    [
        pytest.param(None, {}, [], True, True, id="new"),
        pytest.param(HF, {}, [], True, False, id="new, no NGC model"),
        pytest.param(None, {}, [POD], True, False, id="pod at work"),
        pytest.param(None, {"type": "native"}, [], False, False, id="type known"),
        pytest.param(None, {}, [KEPT], False, False, id="manifest kept"),
        pytest.param(None, {}, [JOB], True, False, id="manifest lost after the Job started"),
        pytest.param(None, {"state": "Ready"}, [], True, False, id="manifest lost later"),
        pytest.param(HF, {}, [JOB], False, False, id="Job started, no NGC model"),
        pytest.param(HF, {"state": "Ready"}, [], False, False, id="ready, no NGC model"),
    ],
)
def test_needs_probe_and_protocol(cache, source, status, live, is_probed, is_asked):
    cr = cache(source=source) | {"status": status}
    ours = {"metadata": {"ownerReferences": [owner_reference(cr)]}}
    app = NIMCacheApp(cr, Observed(dict.fromkeys(live, ours)))
    assert (needs_probe(app), needs_protocol(app)) == (is_probed, is_asked)


def test_probe_image_invalid_mirrors(cache):
    """No pod starts before the registry can be asked; nothing else needs the setting."""
    operator = {"operator": {"mirrors_problem": "NIMOPS_REGISTRY_MIRRORS: x"}}
    with pytest.raises(NimError, match=r"^NIMOPS_REGISTRY_MIRRORS: x") as caught:
        probe_image(NIMCacheApp(cache(), Observed(operator)))
    assert caught.value.reason == "InvalidSetting"
    cr = cache(source=HF)
    assert probe_image(NIMCacheApp(cr, Observed(operator))).pod


@pytest.mark.parametrize(("log", "expected"), [("", False), (NOT_FOUND, True)])
def test_needs_protocol_by_log(cache, log, expected):
    assert needs_protocol(NIMCacheApp(cache(), Observed({POD: {}, "log": log}))) is expected


def test_stored_manifest(cache):
    text = "a: {model: m}"
    live = {KEPT: {"data": {"model_manifest.yaml": text}}}
    fresh = parse_manifest("b: {model: m}")
    app = NIMCacheApp(cache(), Observed(live))
    assert stored_manifest(app, Probe()) == parse_manifest(text)
    assert stored_manifest(app, Probe(fresh=fresh)) is fresh


@pytest.mark.parametrize(
    ("live", "message"),
    [
        pytest.param(None, 'ConfigMap "llama-manifest" not found', id="no ConfigMap"),
        pytest.param({"data": None}, "has no key model_manifest.yaml", id="no data"),
        pytest.param({"data": {"model_manifest.yaml": ""}}, "has no key", id="empty"),
    ],
)
def test_stored_manifest_missing(cache, live, message):
    with pytest.raises(NimError, match=message) as raised:
        stored_manifest(NIMCacheApp(cache(), Observed({KEPT: live})), Probe())
    assert raised.value.reason == "NoModelManifest"
