# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Every container of every pod runs without root if the operator forbids root."""

from __future__ import annotations

import copy
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._builders.pod_templates import (
    at,
    pod_of,
    templates_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._builders.without_root import without_root
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._cluster.simulated import SimulatedCluster
from ansible_collections.nimops.nim.plugins.module_utils._commands.render.simulation import simulate
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Child
from ansible_collections.nimops.nim.plugins.module_utils._engine.drift import has_wanted
from ansible_collections.nimops.nim.plugins.module_utils._kinds import assumed_objects

Json = dict[str, t.Any]

ROOT = Path(__file__).resolve().parents[5]
CONFORMANCE = ROOT.parent / "shared/conformance"
SAMPLES = sorted((ROOT / "config/samples").glob("*_*.yaml"))
FACTS = [ROOT / "config/samples/nemo-prerequisites.yaml", ROOT / "tests/golden/facts.yaml"]
NO_ROOT: Json = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
}
MAKING_PODS = {
    *("NIMBuild", "NIMCache", "NIMService"),
    *("NemoCustomizer", "NemoDatastore", "NemoEntitystore", "NemoEvaluator", "NemoGuardrail"),
}
SIDES = {"NIMCache": ["initContainers"], "NIMService": ["initContainers", "sidecarContainers"]}
"""Containers of users that each resource gets here, so that every kind of pod has some."""
OURS = {*MAKING_PODS, "NIMPipeline"}


def read(files: t.Iterable[Path]) -> list[Json]:
    found: list[Json] = []
    for file in files:
        for item in yaml.safe_load_all(file.read_text()):
            if item:
                found += item["items"] if item["kind"] == "List" else [item]
    return found


def pods_of(files: t.Iterable[Path], facts: t.Iterable[Path] = ()) -> list[tuple[str, str, Json]]:
    """Kinds of the custom resource and of the object, and pod: of all that is ever written."""
    objects = read(files)
    others = [*read(facts), *(item for item in objects if item["kind"] not in OURS)]
    for item in objects:
        item["metadata"].setdefault("namespace", "nim")
        if item["kind"] in MAKING_PODS:
            item["spec"].pop("proxy", None)  # its certificates need a root container: it is refused
            if item["spec"].get("userID") == 0:
                del item["spec"]["userID"]
        for field in SIDES.get(item["kind"], ()):
            side = {"name": "side", "image": {"repository": "side", "tag": "1"}}
            item["spec"][field] = [*(item["spec"].get(field) or []), side | {"name": field.lower()}]
    ours = [item for item in objects if item["kind"] in OURS]
    written: list[Json] = []
    put = SimulatedCluster.put

    def spy(cluster: SimulatedCluster, manifest: Json) -> None:
        written.append(manifest)
        put(cluster, manifest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SimulatedCluster, "put", spy)
        simulate(ours, Facts(others, assumed=assumed_objects(), namespace="nim").ask)
    return [
        (item["metadata"]["ownerReferences"][0]["kind"], item["kind"], pod_of(at(item, path)))
        for item in written
        for path in templates_of(item)
    ]


def containers_of(pod: Json) -> list[Json]:
    return [*pod.get("initContainers", []), *pod["containers"]]


def risks_of(pod: Json) -> list[str]:
    """Containers that may become root, with their security context."""
    found = []
    for container in containers_of(pod):
        security = container.get("securityContext") or {}
        kept = {key: security.get(key) for key in NO_ROOT}
        if kept != NO_ROOT or security.get("privileged") or security.get("runAsUser") == 0:
            found.append(f"{container['name']}: {security}")
    return found


def test_without_root_covers_all_kinds_with_pods() -> None:
    served = {item["kind"] for item in yaml.safe_load((ROOT / "watches.yaml").read_text())}
    assert served == OURS, "the GPU stack is in another file: its pods are privileged"


def test_without_root_in_all_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    assert any(risks_of(pod) for *_kinds, pod in pods_of(SAMPLES, FACTS)), "by default, some can"
    monkeypatch.setenv("NIMOPS_ROOT_USER", "forbid")
    found = pods_of(SAMPLES, FACTS)
    assert [(*kinds, risks) for *kinds, pod in found if (risks := risks_of(pod))] == []
    kinds = {"Deployment", "InferenceService", "Job", "LeaderWorkerSet", "Pod"}
    assert {kind for _parent, kind, _pod in found} == kinds
    # The sample of a NIMBuild waits for its cache: _nimbuild/test_desired.py has its pods.
    assert {parent for parent, *_rest in found} | {"NIMBuild"} == MAKING_PODS


@pytest.mark.skipif(not CONFORMANCE.is_dir(), reason="needs ../shared/conformance")
@pytest.mark.parametrize(
    "case",
    [file for home in ("", "nemo/") for file in sorted(CONFORMANCE.glob(f"{home}cases/*.yaml"))],
    ids=lambda file: file.stem,
)
def test_without_root_in_all_recordings(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIMOPS_ROOT_USER", "forbid")
    assert [risks for *_kinds, pod in pods_of([case]) if (risks := risks_of(pod))] == []


def deployment(**pod: t.Any) -> Json:
    spec = {"containers": [{"name": "a", "image": "a"}], **pod}
    return {
        "kind": "Deployment",
        "metadata": {"name": "x"},
        "spec": {"replicas": 1, "template": {"metadata": {"labels": {"app": "x"}}, "spec": spec}},
    }


def pod_in(child: Child) -> Json:
    return t.cast(Json, child.manifest["spec"]["template"]["spec"])


def test_without_root_new_pods() -> None:
    given = deployment(initContainers=[{"name": "i", "securityContext": {"runAsUser": 5}}])
    before = copy.deepcopy(given)
    child = without_root(Child(given, applied=given), None)
    first, second = containers_of(pod_in(child))
    assert first["securityContext"] == {"runAsUser": 5, **NO_ROOT}
    assert second["securityContext"] == NO_ROOT
    assert child.applied == child.manifest
    assert given == before


@pytest.mark.parametrize(
    "bad",
    [
        {"privileged": True},
        {"capabilities": {"add": ["SYS_ADMIN"]}},
        {"allowPrivilegeEscalation": True},
        {"runAsNonRoot": False},
        {"procMount": "Unmasked"},
    ],
)
def test_without_root_overrides_spec(bad: Json) -> None:
    given = deployment(containers=[{"name": "a", "securityContext": bad}])
    (container,) = pod_in(without_root(Child(given), None))["containers"]
    assert container["securityContext"] == NO_ROOT


LIVE_CASES = {
    "none of it": {},
    "that of an earlier release": {"securityContext": {"runAsNonRoot": True}},
    "all of it": {"containers": [{"name": "a", "image": "a", "securityContext": NO_ROOT}]},
}


@pytest.mark.parametrize("live", LIVE_CASES.values(), ids=LIVE_CASES.keys())
def test_without_root_keeps_running_pods(live: Json) -> None:
    """Also if only fields change that restart no pod."""
    running = deployment(**live)
    running["spec"]["replicas"] = 7
    child = without_root(Child(deployment()), running)
    template = child.manifest["spec"]["template"]
    assert template == running["spec"]["template"]
    assert has_wanted(running["spec"]["template"], template)


def test_without_root_keeps_pods_with_other_env_order() -> None:
    """A takeover from some releases of the reference operator has this order."""

    def with_env(*names: str) -> Json:
        env = [{"name": name, "value": "x"} for name in names]
        return deployment(containers=[{"name": "a", "image": "a", "env": env}])

    wanted = with_env("A", "B")
    assert without_root(Child(wanted), with_env("B", "A")).manifest == wanted
    assert without_root(Child(wanted), with_env("B", "C")).manifest != wanted


@pytest.mark.parametrize("live", LIVE_CASES.values(), ids=LIVE_CASES.keys())
@pytest.mark.parametrize("change", ["image", "label"])
def test_without_root_with_other_change(live: Json, change: str) -> None:
    wanted = deployment()
    if change == "image":
        wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "b"
    else:
        wanted["spec"]["template"]["metadata"]["labels"]["app"] = "y"
    assert risks_of(pod_in(without_root(Child(wanted), deployment(**live)))) == []


def test_without_root_ignores_predictor_replicas() -> None:
    def inference(replicas: int) -> Json:
        predictor = {"containers": [{"name": "a"}], "minReplicas": replicas}
        return {
            "kind": "InferenceService",
            "metadata": {"name": "x"},
            "spec": {"predictor": predictor},
        }

    assert without_root(Child(inference(2)), inference(1)).manifest == inference(2)


def test_without_root_objects_without_pods() -> None:
    child = Child({"kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"containers": "a"}})
    assert without_root(child, None) == child
