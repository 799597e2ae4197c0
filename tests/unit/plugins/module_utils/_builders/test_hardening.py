# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Every container of every pod runs without root, or passes Pod Security, if the operator demands it."""

from __future__ import annotations

import copy
import typing as t
from functools import cache
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._builders.certificates import (
    ca_init_container,
    ca_init_mounts,
)
from ansible_collections.nimops.nim.plugins.module_utils._builders.hardening import (
    harden,
    is_hardened,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight import pod_security
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Child
from ansible_collections.nimops.nim.plugins.module_utils._engine.drift import has_wanted
from nimops_sample_pods import FACTS, MAKING_PODS, OURS, ROOT, SAMPLES, pods_of

Json = dict[str, t.Any]

CONFORMANCE = ROOT.parent / "shared/conformance"
NO_ROOT: Json = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
}


def violations_of(pod: Json) -> list[str]:
    """The violations of the Pod Security Standard `restricted`, as preflight predicts them."""
    return pod_security.violations(pod, pod_security.RESTRICTED)


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


def test_harden_covers_all_kinds_with_pods() -> None:
    served = {item["kind"] for item in yaml.safe_load((ROOT / "watches.yaml").read_text())}
    assert served == OURS, "the GPU stack is in another file: its pods are privileged"


@cache
def usual_pods() -> list[tuple[str, str, Json]]:
    """The pods of the samples, by default."""
    return pods_of(SAMPLES, FACTS)


LEVELS: dict[str, tuple[Json, t.Callable[[Json], list[str]]]] = {
    "no root": ({"NIMOPS_ROOT_USER": "forbid"}, risks_of),
    "restricted": ({"NIMOPS_POD_SECURITY": "restricted"}, violations_of),
}


@pytest.mark.parametrize("level", LEVELS)
def test_harden_in_all_samples(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    switches, check = LEVELS[level]
    assert any(check(pod) for *_kinds, pod in usual_pods()), "by default, some can"
    for name, value in switches.items():
        monkeypatch.setenv(name, value)
    found = pods_of(SAMPLES, FACTS)
    assert [(*kinds, risks) for *kinds, pod in found if (risks := check(pod))] == []
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
def test_harden_in_all_recordings(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIMOPS_POD_SECURITY", "restricted")
    assert [risks for *_kinds, pod in pods_of([case]) if (risks := violations_of(pod))] == []


def deployment(**pod: t.Any) -> Json:
    spec = {"containers": [{"name": "a", "image": "a"}], **pod}
    return {
        "kind": "Deployment",
        "metadata": {"name": "x"},
        "spec": {"replicas": 1, "template": {"metadata": {"labels": {"app": "x"}}, "spec": spec}},
    }


def pod_in(child: Child) -> Json:
    return t.cast(Json, child.manifest["spec"]["template"]["spec"])


def test_harden_new_pods() -> None:
    given = deployment(initContainers=[{"name": "i", "securityContext": {"runAsUser": 5}}])
    before = copy.deepcopy(given)
    child = harden(Child(given, applied=given), None)
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
def test_harden_overrides_spec(bad: Json) -> None:
    given = deployment(containers=[{"name": "a", "securityContext": bad}])
    (container,) = pod_in(harden(Child(given), None))["containers"]
    assert container["securityContext"] == NO_ROOT


def test_harden_restricted() -> None:
    local = {"type": "Localhost", "localhostProfile": "a.json"}
    given = deployment(
        containers=[
            {"name": "a", "securityContext": {"seccompProfile": {"type": "Unconfined"}}},
            {"name": "b", "securityContext": {"seccompProfile": local}},
        ]
    )
    pod = pod_in(harden(Child(given), None, is_restricted=True))
    profiles = [item["securityContext"]["seccompProfile"] for item in pod["containers"]]
    assert profiles == [{"type": "RuntimeDefault"}, local]
    assert violations_of(pod) == []


def live(manifest: Json, **status: t.Any) -> Json:
    """The live object, by default with a pod."""
    return manifest | {"status": {"replicas": 1} | status}


def with_certificates() -> Json:
    return deployment(initContainers=[ca_init_container("a", [], ca_init_mounts())])


def test_harden_certificates() -> None:
    """Running pods keep the container that runs as root."""
    as_root = with_certificates()
    rootless = harden(Child(as_root), None).manifest
    (container,) = rootless["spec"]["template"]["spec"]["initContainers"]
    assert container["securityContext"] == NO_ROOT
    assert "update-ca-certificates;" not in container["command"][-1]
    assert harden(Child(as_root), live(as_root)).manifest == as_root
    assert harden(Child(as_root), live(rootless)).manifest == rootless


LIVE_CASES = {
    "none of it": {},
    "that of an earlier release": {"securityContext": {"runAsNonRoot": True}},
    "all of it": {"containers": [{"name": "a", "image": "a", "securityContext": NO_ROOT}]},
}


@pytest.mark.parametrize("pod", LIVE_CASES.values(), ids=LIVE_CASES.keys())
def test_harden_keeps_running_pods(pod: Json) -> None:
    """Also if only fields change that restart no pod."""
    running = live(deployment(**pod))
    running["spec"]["replicas"] = 7
    child = harden(Child(deployment()), running)
    template = child.manifest["spec"]["template"]
    assert template == running["spec"]["template"]
    assert has_wanted(running["spec"]["template"], template)


def test_harden_keeps_pods_with_other_env_order() -> None:
    """A takeover from some releases of the reference operator has this order."""

    def with_env(*names: str) -> Json:
        env = [{"name": name, "value": "x"} for name in names]
        return deployment(containers=[{"name": "a", "image": "a", "env": env}])

    wanted = with_env("A", "B")
    assert harden(Child(wanted), live(with_env("B", "A"))).manifest == wanted
    assert harden(Child(wanted), live(with_env("B", "C"))).manifest != wanted


REFUSED = {
    "type": "ReplicaFailure",
    "status": "True",
    "reason": "FailedCreate",
    "message": 'pods "x-1-" is forbidden: violates PodSecurity "restricted:latest": …',
}
QUOTA = REFUSED | {"message": 'pods "x-1-" is forbidden: exceeded quota: tenant'}


@pytest.mark.parametrize(
    ("status", "is_hardened_now"),
    [
        pytest.param({"replicas": 0}, True, id="no pod"),
        pytest.param({"replicas": 1, "conditions": [REFUSED]}, True, id="new pods are refused"),
        pytest.param({"replicas": 1, "conditions": [QUOTA]}, False, id="a quota refuses more pods"),
        pytest.param(
            {"replicas": 1, "conditions": [REFUSED | {"status": "False"}]}, False, id="past refusal"
        ),
    ],
)
@pytest.mark.parametrize("kind", ["Deployment", "LeaderWorkerSet"])
def test_harden_without_pods(kind: str, status: Json, is_hardened_now: bool) -> None:
    """The annotation that the status advises must have an effect: the API server refuses the pods."""
    template = deployment()["spec"]["template"]
    spec = (
        {"template": template}
        if kind == "Deployment"
        else {"leaderWorkerTemplate": {"workerTemplate": template}}
    )
    wanted: Json = {"kind": kind, "metadata": {"name": "x"}, "spec": spec}
    found = harden(Child(wanted), live(wanted, **status), is_restricted=True).manifest
    assert (found != wanted) is is_hardened_now
    assert is_hardened(found, is_restricted=True) is is_hardened_now
    assert harden(Child(wanted), live(found, **status), is_restricted=True).manifest == found


@pytest.mark.parametrize("pod", LIVE_CASES.values(), ids=LIVE_CASES.keys())
@pytest.mark.parametrize("change", ["image", "label"])
def test_harden_with_other_change(pod: Json, change: str) -> None:
    wanted = deployment()
    if change == "image":
        wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "b"
    else:
        wanted["spec"]["template"]["metadata"]["labels"]["app"] = "y"
    assert risks_of(pod_in(harden(Child(wanted), live(deployment(**pod))))) == []


def test_harden_ignores_predictor_replicas() -> None:
    def inference(replicas: int) -> Json:
        predictor = {"containers": [{"name": "a"}], "minReplicas": replicas}
        return {
            "kind": "InferenceService",
            "metadata": {"name": "x"},
            "spec": {"predictor": predictor},
        }

    assert harden(Child(inference(2)), inference(1)).manifest == inference(2)


def test_harden_objects_without_pods() -> None:
    child = Child({"kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"containers": "a"}})
    assert harden(child, None) == child
