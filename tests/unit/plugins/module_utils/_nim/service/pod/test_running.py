# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Workloads whose pods have the form of earlier releases."""

from __future__ import annotations

import json
import re

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.pod_templates import (
    at,
    pod_of,
    templates_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.deployment import (
    build_deployment,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.kserve.predictor import (
    build_inference_service,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_store import (
    Store,
    select_store,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.multi_node.leader_worker_set import (
    build_groups,
)

STORE = Store({"emptyDir": {}})
SIDE = {"name": "side", "image": {"repository": "r/side", "tag": "1"}, "env": [{"name": "A"}]}
KSERVE = {"inferencePlatform": "kserve"}
WORKLOADS = {
    "Deployment": ({}, build_deployment),
    "LeaderWorkerSet": ({"multiNode": {"parallelism": {"pipeline": 2}}}, build_groups),
    "KServe": (KSERVE, lambda app, store: build_inference_service(app, store, "Standard")),
    "Knative": (KSERVE, lambda app, store: build_inference_service(app, store, "Knative")),
}
OPTIONAL = '"key": "NGC_API_KEY", "optional": true'


def without_optional(item):
    return json.loads(json.dumps(item).replace(OPTIONAL, '"key": "NGC_API_KEY"'))


DRAIN = "nimops.nim/drain-seconds"
DEFAULT = "nimops.nim/default-drain-seconds"


@pytest.mark.parametrize(
    ("first", "then", "change", "seconds"),
    [
        pytest.param({}, {"setting": "120"}, {}, None, id="existing pods"),
        pytest.param({}, {"setting": "120"}, {"replicas": 3}, None, id="scaled"),
        pytest.param({}, {"setting": "120"}, {"authSecret": "b"}, 125, id="replaced"),
        pytest.param({"setting": "120"}, {"setting": "120"}, {}, 125, id="new pods"),
        pytest.param({"setting": "120"}, {"setting": "60"}, {}, 125, id="another default"),
        pytest.param({"setting": "120"}, {}, {}, 125, id="no default any more"),
        pytest.param({"setting": "120"}, {}, {"authSecret": "b"}, None, id="replaced without"),
        pytest.param({"setting": "120"}, {DRAIN: "9"}, {}, 14, id="annotated"),
        pytest.param({DRAIN: "9"}, {DRAIN: "9", "setting": "120"}, {}, 14, id="stays annotated"),
        pytest.param({DRAIN: "9"}, {"setting": "120"}, {}, 125, id="annotation removed"),
        pytest.param({DRAIN: "9"}, {}, {}, None, id="annotation removed, without default"),
    ],
)
@pytest.mark.parametrize("workload", ["Deployment", "LeaderWorkerSet", "KServe"])
def test_keep_running_default_drain(make, workload, first, then, change, seconds):
    spec, build = WORKLOADS[workload]

    def run(given, more, *live):
        annotations = {DRAIN: given[DRAIN]} if DRAIN in given else {}
        settings = {"drain_seconds": given.get("setting", "")}
        cr = make.cr(spec | more, annotations=annotations)
        return build(make.app(cr, *live, operator=settings), STORE)

    made = run(then, change, run(first, {}))
    pods = [at(made, path) for path in templates_of(made)]
    assert pods
    for pod in map(pod_of, pods):
        assert pod.get("terminationGracePeriodSeconds") == seconds
        assert ("lifecycle" in pod["containers"][0]) == (seconds is not None)
    recorded = made["metadata"].get("annotations", {}).get(DEFAULT)
    assert recorded == (str(seconds - 5) if seconds == 125 else None)


@pytest.mark.parametrize("text", ["0", "x", "9" * 5000, "-1"])
def test_keep_running_foreign_record(make, text):
    live = build_deployment(make.app(), STORE)
    live["metadata"].setdefault("annotations", {})[DEFAULT] = text
    made = build_deployment(make.app({}, live), STORE)
    assert made["spec"] == live["spec"]
    assert DEFAULT not in made["metadata"].get("annotations", {})


@pytest.fixture(params=WORKLOADS.values(), ids=WORKLOADS)
def rebuild(make, request):
    """Builds a workload for a change of the spec; the live one may be given."""
    spec, build = request.param
    spec = spec | {"sidecarContainers": [SIDE], "initContainers": [SIDE]}

    def run(change=None, *live):
        return build(make.app(spec | (change or {}), *live), STORE)

    return run


CHANGES = {
    "nothing": ({}, True),
    "replicas": ({"replicas": 3}, True),
    "image": ({"image": {"repository": "r", "tag": "2"}}, False),
    "env": ({"env": [{"name": "A", "value": "1"}]}, False),
    "another Secret": ({"authSecret": "other"}, False),
    "the user's own reference": (
        {
            "env": [
                {
                    "name": "NGC_API_KEY",
                    "valueFrom": {
                        "secretKeyRef": {"name": "ngc", "key": "NGC_API_KEY", "optional": True}
                    },
                }
            ]
        },
        False,
    ),
}


@pytest.mark.parametrize(("change", "is_kept"), CHANGES.values(), ids=CHANGES)
def test_keep_running_former_release(rebuild, change, is_kept):
    live = without_optional(rebuild())
    made = rebuild(change, live)
    wanted = rebuild(change)
    assert OPTIONAL in json.dumps(wanted)
    assert made["spec"] == (without_optional(wanted) if is_kept else wanted)["spec"]


@pytest.mark.parametrize("change", [{}, {"image": {"repository": "r", "tag": "2"}}])
def test_keep_running_optional_stays(rebuild, change):
    assert rebuild(change, rebuild())["spec"] == rebuild(change)["spec"]


def test_keep_running_without_secret(rebuild):
    """Without a Secret in the spec, pods do not have the variable."""
    live = without_optional(rebuild())
    assert "NGC_API_KEY" not in json.dumps(rebuild({"authSecret": None}, live))


IMAGE = "registry.example/nim:1.0"


def cache_store(make, *profiles, puller=IMAGE, profile="", **source):
    status = {"state": "Ready", "profiles": [{"name": name} for name in profiles]}
    cache = make.cache({"ngc": {"modelPuller": puller, **source}}, status)
    return Store({"emptyDir": {}}, cache=cache, profile=profile)


@pytest.fixture(params=WORKLOADS.values(), ids=WORKLOADS)
def profiles_of(make, request):
    """Builds a workload on a cache with some profiles; returns it, and the profiles of its pods."""
    spec, build = request.param

    def run(store, *live, **change):
        made = build(make.app(spec | change, *live), store)
        pods = json.dumps(made["spec"])
        names = re.findall(r'"name": "NIM_MODEL_PROFILE", "value": "([^"]*)"', pods)
        assert len(set(names)) <= 1
        return made, names[0] if names else ""

    return run


ONLY_PROFILE_CASES = {
    "one": ({"profiles": ["a"]}, {}, "a"),
    "none": ({"profiles": []}, {}, ""),
    "several": ({"profiles": ["a", "b"]}, {}, ""),
    "named": ({"profiles": ["a"], "profile": "b"}, {}, "b"),
    "another image": ({"profiles": ["a"], "puller": "registry.example/nim:2.0"}, {}, ""),
    "a universal model": ({"profiles": ["a"], "modelEndpoint": "https://e"}, {}, ""),
    "the user's": (
        {"profiles": ["a"]}, {"env": [{"name": "NIM_MODEL_PROFILE", "value": "c"}]}, "c",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("cache", "change", "profile"), ONLY_PROFILE_CASES.values(), ids=ONLY_PROFILE_CASES
)
def test_keep_running_only_profile(make, profiles_of, cache, change, profile):
    """R07: the NIM would choose another profile, and download it."""
    store = cache_store(make, *cache["profiles"], **{k: cache[k] for k in cache if k != "profiles"})
    assert profiles_of(store, **change)[1] == profile


def test_keep_running_pods_without_profile(make, profiles_of):
    """Pods of the reference or of a former release do not restart for the profile."""
    live, _profile = profiles_of(cache_store(make))
    store = cache_store(make, "a")
    assert profiles_of(store, live)[1] == ""
    assert profiles_of(store, live, replicas=2)[1] == ""
    assert profiles_of(store, live, env=[{"name": "A", "value": "1"}])[1] == "a"


def test_keep_running_pods_with_profile(make, profiles_of):
    """A profile that a NIMBuild adds does not restart the pods."""
    live, _profile = profiles_of(cache_store(make, "a"))
    assert live["metadata"]["annotations"]["nimops.nim/profile"] == "a"
    built = cache_store(make, "a", "b")
    assert profiles_of(built, live) == (live, "a")
    assert profiles_of(built, live, env=[{"name": "A", "value": "1"}])[1] == ""


def test_keep_running_profile_no_longer_named(make, profiles_of):
    live, profile = profiles_of(cache_store(make, "a", "b", profile="b"))
    assert (profile, "nimops.nim/profile" in live["metadata"]["annotations"]) == ("b", False)
    assert profiles_of(cache_store(make, "a", "b"), live)[1] == ""


@pytest.mark.parametrize("workload", WORKLOADS)
def test_workload_has_labels_of_queue(make, workload):
    """Kueue reads a label of the object that runs the pods."""
    spec, build = WORKLOADS[workload]
    queue = {"kueue.x-k8s.io/queue-name": "team-a"}
    made = build(make.app(spec | {"labels": queue}), STORE)
    assert made["metadata"]["labels"].items() >= queue.items()


VERSION = "nimops.nim/cache-store"


@pytest.mark.parametrize(("overrides", "build"), WORKLOADS.values(), ids=WORKLOADS)
def test_workload_names_a_renewed_version(make, overrides, build):
    """The pods of the first version have no record, so that nothing changes without a renewal."""
    served = {"id": "bb", "folder": ".nimops/bb", "source": {"kind": "ngc", "modelPuller": "x"}}
    for version in ("", "bb"):
        status = {"state": "Ready", "pvc": "p"} | ({"served": served} if version else {})
        spec = {"storage": {"nimCache": {"name": "cache"}}} | overrides
        app = make.app(make.cr(spec), make.cache(status=status))
        store = select_store(app)
        made = build(app, store)
        assert (made["metadata"].get("annotations") or {}).get(VERSION, "") == version
        paths = [
            mount.get("subPath", "")
            for template in templates_of(made)
            for item in pod_of(at(made, template))["containers"]
            for mount in item["volumeMounts"]
            if mount["name"] == "model-store"
        ]
        assert set(paths) == {f".nimops/{version}" if version else ""}
