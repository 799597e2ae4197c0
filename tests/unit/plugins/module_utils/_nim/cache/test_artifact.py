# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Models in registries."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.app import NIMCacheApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.artifact import (
    artifact_of,
    image_reads,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.job import (
    build_job,
    profiles_of,
)

SOURCE, PLACE = "nimops.nim/source", "registry.example:5000/models/llama:1.0"
MAIN = "kubectl.kubernetes.io/default-container"
JOB, RENEWAL, RENEW = "Job/nim/llama-job", "Job/nim/llama-renewal", "nimops.nim/renew"
NGC = {"modelPuller": "nvcr.io/nim/x:1", "pullSecret": "mirror", "authSecret": "key"}
HF = {
    "endpoint": "https://hf.co", "namespace": "org", "modelName": "m", "authSecret": "hf-secret",
    "modelPuller": "nvcr.io/nim/llm:1", "pullSecret": "mirror",
}  # fmt: skip


@pytest.fixture
def app(cache):
    def make(given=f"oci://{PLACE}", image="operator:1", **spec):
        cr = cache(**spec)
        cr["metadata"]["annotations"] = {SOURCE: given}
        return NIMCacheApp(cr, Observed({"operator": {"puller_image": image}}))

    return make


def pod_of(app, profiles=("a",), cache_type=""):
    return build_job(app, cache_type, profiles, "Kubernetes")["spec"]["template"]["spec"]


@pytest.mark.parametrize("cache_type", ["", "native", "model-free"])
def test_pull_command(app, cache_type):
    """The operator's image downloads, with the pull secret, and without the key of the model."""
    pod = pod_of(app(source={"ngc": NGC}), ["a", "b"], cache_type)
    (container,) = pod["containers"]
    auth = ["--auth", "/var/run/nimops/registry/config.json"]
    assert container["command"] == ["nimops-pull-model", PLACE, "/model-store", *auth]
    assert container["args"] == ["--profiles", "a", "b"]
    assert container["image"] == "operator:1"
    assert container["env"] == []
    assert "envFrom" not in container
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == [
        "/model-store", "/scratch", "/var/run/nimops/registry",
    ]  # fmt: skip
    assert pod["volumes"][-1]["secret"] == {
        "secretName": "mirror",
        "optional": True,
        "items": [{"key": ".dockerconfigjson", "path": "config.json"}],
    }
    assert pod["imagePullSecrets"] == [{"name": "mirror"}]
    assert container["securityContext"]["runAsUser"] == 1000


def test_pull_command_of_proxy(app):
    """Its authorities are files: the image has no program that updates a trust store."""
    proxy = {"httpsProxy": "https://p:1", "certConfigMap": "ca"}
    pod = pod_of(app(source={"ngc": NGC}, proxy=proxy), ["all"])
    (container,) = pod["containers"]
    assert container["command"][-2:] == ["--ca", "/var/run/nimops/ca"]
    assert container["args"] == ["--all"]
    assert {"name": "HTTPS_PROXY", "value": "https://p:1"} in container["env"]
    assert {"name": "custom-ca", "configMap": {"name": "ca"}} in pod["volumes"]
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    assert mounts[-1] == "/var/run/nimops/ca"
    assert "/etc/ssl" not in mounts
    assert "initContainers" not in pod


def test_pull_command_profiles(app):
    assert profiles_of(build_job(app(source={"ngc": NGC}), "", ["a"], "Kubernetes")) == ["a"]
    assert profiles_of(build_job(app(source={"hf": HF}), "", [], "Kubernetes")) == []


@pytest.mark.parametrize(
    "given",
    [
        *(PLACE, f"https://{PLACE}", "oci://", "oci://registry.example", "oci://r.example/a"),
        *("oci://r.example/A:1", "oci://r.example/../a:1", "oci://me:pw@r.example/a:1"),
        *("oci://r.example/a:1 --all", "oci://-r.example/a:1", "oci://r.example/a@sha256:12"),
        f"oci://r.example/{'a' * 2000}:1",
    ],
)
def test_artifact_of_invalid(app, given):
    with pytest.raises(NimError, match="is not a model in a registry") as caught:
        artifact_of(app(given))
    assert caught.value.reason == "InvalidAnnotation"


@pytest.mark.parametrize(
    "place", [PLACE, "r/a:1", "r.example/a-b/c_d@sha256:" + "0" * 64, "10.0.0.5:5000/a:1"]
)
def test_artifact_of(app, place):
    assert artifact_of(app(f" oci://{place} ")) == place
    assert artifact_of(app("")) == ""


def test_puller_image_unknown(app):
    with pytest.raises(NimError, match="NIMOPS_PULLER_IMAGE") as caught:
        pod_of(app(image=""))
    assert caught.value.reason == "NoPullerImage"


def test_puller_image_of_own_pod(app):
    """Without the setting, the image of the operator's pod downloads."""
    made = app(image="")
    assert image_reads(made) == []
    answers = {"operator": {"namespace": "ops", "pod": "ops-1"}}
    made = NIMCacheApp(made.resource, Observed(answers))
    (read,) = image_reads(made)
    assert (read.kind, read.namespace, read.name) == ("Pod", "ops", "ops-1")
    made = NIMCacheApp(made.resource, Observed({**answers, read.key: "own:1"}))
    assert pod_of(made)["containers"][0]["image"] == "own:1"
    answers["operator"]["puller_image"] = "given:1"
    made = NIMCacheApp(made.resource, Observed({**answers, read.key: "own:1"}))
    assert image_reads(made) == []
    assert pod_of(made)["containers"][0]["image"] == "given:1"


def test_image_reads_only_of_artifacts(app):
    answers = {"operator": {"namespace": "ops", "pod": "ops-1"}}
    assert image_reads(NIMCacheApp(app("").resource, Observed(answers))) == []


def test_puller_image_is_read(cluster):
    """A pass over a cache that is not Ready reads it, a pass over a Ready one does not."""
    made = cluster()
    made.operator = {"version": "", "namespace": "ops", "pod": "ops-1"}
    made.objects["Pod/ops/ops-1"] = {
        "metadata": {"name": "ops-1", "annotations": {MAIN: "manager"}},
        "spec": {
            "containers": [{"name": "proxy", "image": "p:1"}, {"name": "manager", "image": "own:1"}]
        },
    }
    key = "Pod/ops/ops-1#image"
    made.reconcile()
    assert key in made.observe()[0]
    made.become_ready()
    assert made.objects[JOB]["spec"]["template"]["spec"]["containers"][0]["image"] == "own:1"
    assert key not in made.observe()[0]


@pytest.fixture
def cluster(world):
    """A world with a NIMCache of a model in a registry."""

    def make(**spec):
        made = world(**spec)
        made.cr["metadata"]["annotations"] = {SOURCE: f"oci://{PLACE}"}
        made.operator = {"version": "", "puller_image": "operator:1"}
        return made

    return make


def test_content_of_profiles(cluster):
    """The profiles of the manifest are those of the status, as with a download from NGC."""
    made = cluster().become_ready()
    assert [item["name"] for item in made.cr["status"]["profiles"]] == ["aaaa"]
    assert made.objects[JOB]["spec"]["template"]["spec"]["containers"][0]["image"] == "operator:1"


def test_content_of_hugging_face_needs_no_probe(cluster):
    made = cluster(source={"hf": HF})
    made.reconcile()
    made.reconcile()
    assert (JOB in made.objects, "Pod/nim/llama-pod" in made.objects) == (True, False)
    made.set_job("Complete", succeeded=1)
    made.reconcile()
    assert made.state == "Ready"


@pytest.mark.parametrize("has_started", [True, False])
def test_content_of_other_annotation(cluster, has_started):
    """Another model is not mixed with a part of the first."""
    made = cluster(source={"hf": HF})
    made.reconcile()
    made.reconcile()
    made.set_job(active=1, ready=int(has_started))
    made.reconcile()
    made.cr["metadata"]["annotations"] = {SOURCE: "oci://r.example/other:2"}
    done = made.reconcile()
    if has_started:
        assert made.condition("Stalled")[1] == "SourceChanged"
    else:
        assert done.pruned == [JOB]


@pytest.mark.parametrize("change", [{SOURCE: "oci://r.example/llama:2"}, {RENEW: "again"}])
def test_renewal_of_artifact(cluster, change):
    """Another model, or the same one again, is downloaded beside the served one, by the same program."""
    made = cluster().become_ready()
    del made.objects[JOB]
    made.cr["metadata"]["annotations"] |= change
    for _pass in range(3):
        made.reconcile()
        if "Pod/nim/llama-pod" in made.objects:
            made.run_pod()
    place = change.get(SOURCE, f"oci://{PLACE}")
    (container,) = made.objects[RENEWAL]["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["args"]) == ("operator:1", ["--profiles", "aaaa"])
    assert container["command"][:3] == ["nimops-pull-model", place[6:], "/model-store"]
    folder = f".nimops/{made.cr['status']['renewal']['id']}"
    assert container["volumeMounts"][0]["subPath"] == folder
    assert made.cr["status"]["served"]["source"]["artifact"] == f"oci://{PLACE}"
    made.set_job("Complete", name="llama-renewal", succeeded=1)
    made.reconcile()
    served = made.cr["status"]["served"]
    assert (served["source"]["artifact"], served["folder"]) == (place, folder)
    assert served.get("trigger", "") == change.get(RENEW, "")
    assert made.cr["status"]["former"][0]["source"]["artifact"] == f"oci://{PLACE}"
    for _pass in range(3):
        made.reconcile()
    (container,) = made.objects["Job/nim/llama-removal"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "operator:1"
