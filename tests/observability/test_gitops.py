# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Argo CD and Flux apply an application with every kind, judge its health, and compare it.

With RECORD=1, what the operator writes becomes the testdata of the health checks, and its metrics
the scrape of the tests of dashboards.
"""

from __future__ import annotations

import copy
import functools
import json
import os
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml
from nimops_gitops import argo, flux
from nimops_harness.cluster import kubectl
from nimops_harness.workload import create_namespace

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "config/samples"
FLEET = ROOT / "tests/observability/nimops_gitops/fleet.yaml"
SCRAPE = ROOT / "tests/observability/scrapes/operator.prom"
NAMESPACE, APPLICATION = "gitops", "llm"
SECONDS = 300
ARGO = "argocd-controller"
NEMO = ("NemoCustomizer", "NemoDatastore", "NemoEntitystore", "NemoEvaluator", "NemoGuardrail")
NAMED = {kind: f"nemo-{kind[4:].lower()}" for kind in NEMO} | {"NemoGuardrail": "nemo-guardrails"}
HEALTHY, PROGRESSING, DEGRADED, SUSPENDED = argo.STATUSES
FLUX = {HEALTHY: flux.CURRENT, PROGRESSING: flux.IN_PROGRESS, DEGRADED: flux.FAILED}

FIRST = {
    "NIMCache/models": ("ready", HEALTHY, "Ready"),
    "NIMCache/hold-models": ("waiting", PROGRESSING, "to run"),
    "NIMCache/failing": ("retrying", PROGRESSING, "attempts failed"),
    "NIMCache/lost": ("claim-missing", DEGRADED, "nowhere"),
    "NIMService/llm": ("ready", HEALTHY, "successfully rolled out"),
    "NIMService/scaling": ("autoscaled", HEALTHY, "successfully rolled out"),
    "NIMService/unready-llm": ("rollout", PROGRESSING, "are available"),
    "NIMService/cacheless": ("cache-missing", DEGRADED, "NIMCache absent not found"),
    "NIMService/idle": ("scaled-to-zero", HEALTHY, "scaled|replicas"),
    "NIMPipeline/rag": ("ready", HEALTHY, ""),
    "NIMPipeline/starting": ("waiting", PROGRESSING, "waiting for NIMService unready-rag"),
    "NIMPipeline/broken": ("not-owned", DEGRADED, "not owned by the NIMPipeline"),
    "NIMPipeline/resting": ("scaled-to-zero", HEALTHY, ""),
    "NIMBuild/engine": ("ready", HEALTHY, ""),
    "NIMBuild/unready-engine": ("building", PROGRESSING, "unready-engine"),
    "NIMBuild/cacheless": ("cache-missing", DEGRADED, "NIMCache absent not found"),
    "ClusterPolicy/cluster-policy": ("ready", HEALTHY, "successfully reconciled"),
    "NVIDIADriver/default": ("ready", HEALTHY, "successfully reconciled"),
    "NVIDIADriver/incomplete": ("invalid", DEGRADED, "invalid image specification"),
} | {
    f"{kind}/{name}": case
    for kind in NEMO
    for name, case in (
        (NAMED[kind], ("ready", HEALTHY, "successfully rolled out")),
        (f"unready-{kind.lower()}", ("rollout", PROGRESSING, "are available")),
        (f"taken-{kind.lower()}", ("name-taken", DEGRADED, "taken-")),
    )
}
"""Resource → the name of its recording, its health and what the message contains."""

READY = {reference: case for reference, case in FIRST.items() if case[0] == "ready"}
"""One resource of each kind."""


NOT_INSTALLED = ("Deployment", "Namespace", "Service", "NetworkPolicy", "PodDisruptionBudget")
"""Kinds that hack/operator.sh does not apply: its operator is a process."""


@functools.cache
def fleet() -> list[Json]:
    """The manifests in Git."""
    items = yaml.safe_load(FLEET.read_text())["items"]
    files = [SAMPLES / "nemo-prerequisites.yaml", *sorted(SAMPLES.glob("nemo_*.yaml"))]
    samples = [item for file in files for item in yaml.safe_load_all(file.read_text()) if item]
    for sample in [item for item in samples if item["kind"] in NEMO]:
        for prefix in ("unready", "taken"):
            name = f"{prefix}-{sample['kind'].lower()}"
            items.append({**sample, "metadata": {"name": name}})
            if prefix == "taken":
                items.append(
                    {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
                )
    for item in [*items, *samples]:
        if item["kind"] not in ("ClusterPolicy", "NVIDIADriver"):
            item["metadata"]["namespace"] = NAMESPACE
    return [argo.track(item, APPLICATION) for item in [*items, *samples]]


def send(verb: str, *arguments: str, items: list[Json]) -> str:
    text = "\n---\n".join(map(json.dumps, items))  # kubectl validates a List by itself
    return kubectl(verb, *arguments, "--filename", "-", stdin=text)


def read(reference: str) -> Json:
    found: Json = json.loads(
        kubectl("--namespace", NAMESPACE, "get", reference, "--output", "json")
    )
    return found


def judge(live: Json) -> argo.Health:
    """The health; Argo CD's and Flux's agree. A paused resource has no state of its own in Flux."""
    group = live["apiVersion"].rpartition("/")[0]
    health = argo.judge(argo.find_script(group, live["kind"]), live)
    status = flux.judge(flux.read_checks()[live["apiVersion"], live["kind"]], live)
    if health.status != SUSPENDED:
        assert status == FLUX[health.status], (live, health)
    return health


def await_health(expected: dict[str, tuple[str, str]]) -> dict[str, Json]:
    """The resources, once all have the expected status and a message with one of the words."""
    end, live = time.monotonic() + SECONDS, dict[str, Json]()
    while missing := [reference for reference in expected if reference not in live]:
        found = {reference: read(reference) for reference in missing}
        healths = {reference: judge(item) for reference, item in found.items()}
        live |= {
            name: item for name, item in found.items() if is_as(healths[name], *expected[name])
        }
        wrong = {
            name: [*healths[name], item.get("status")]
            for name, item in found.items()
            if name not in live
        }
        assert not wrong or time.monotonic() < end, json.dumps(wrong, indent=1)
        time.sleep(0.5)
    return live


def is_as(health: argo.Health, status: str, words: str) -> bool:
    return health.status == status and any(word in health.message for word in words.split("|"))


def record(live: Json, name: str) -> None:
    """Write the resource into testdata of its kind."""
    if not os.environ.get("RECORD"):
        return
    group = live["apiVersion"].rpartition("/")[0]
    folder = argo.CHECKS / group / live["kind"]
    metadata = {
        key: value
        for key, value in live["metadata"].items()
        if key not in ("labels", "managedFields", "resourceVersion", "uid")
    }
    for key in (argo.LAST_APPLIED, argo.TRACKING_ANNOTATION):
        (metadata.get("annotations") or {}).pop(key, None)
    if not metadata.get("annotations"):
        metadata.pop("annotations", None)
    file = folder / "testdata" / f"{name}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump({**live, "metadata": metadata}, sort_keys=False, width=110)
    file.write_text(text)
    index = folder / "health_test.yaml"
    tests = yaml.safe_load(index.read_text())["tests"] if index.exists() else []
    tests.append({"healthStatus": judge(live)._asdict(), "inputPath": f"testdata/{name}.yaml"})
    index.write_text(yaml.safe_dump({"tests": tests}, sort_keys=False, width=110))


def record_metrics(port: int) -> None:
    if os.environ.get("RECORD"):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
            SCRAPE.write_bytes(answer.read())


@pytest.fixture(scope="module")
def application(sandbox: Any, operator: Any) -> list[Json]:
    """The manifests, applied, once all resources have their health."""
    if os.environ.get("RECORD"):
        for path in argo.CHECKS.rglob("health_test.yaml"):
            path.unlink()
            shutil.rmtree(path.parent / "testdata")
    create_namespace(sandbox.api, NAMESPACE)
    logs = {"models-pod": "manifest-v2", "engine-local-manifest-pod": "manifest-local"}
    send(
        "apply",
        items=[
            make_log(pod, sandbox.directory / f"pod-logs/{name}.log") for pod, name in logs.items()
        ],
    )
    send("apply", items=fleet())
    found = await_health({name: case[1:] for name, case in FIRST.items()})
    for reference, live in found.items():
        record(live, FIRST[reference][0])
    record_metrics(operator.metrics.port)
    return fleet()


def make_log(pod: str, file: Path) -> Json:
    """The log of a pod on the sandbox, such as that of an image with a profile to build for."""
    metadata = {"name": pod, "namespace": NAMESPACE}
    spec = {"logs": [{"logsFile": str(file)}]}
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Logs",
        "metadata": metadata,
        "spec": spec,
    }


def compare(items: list[Json]) -> str:
    """The server-side comparison of Argo CD; empty without a difference."""
    command = ["kubectl", "diff", "--server-side", "--force-conflicts", f"--field-manager={ARGO}"]
    text = "\n---\n".join(map(json.dumps, items))
    done = subprocess.run(
        [*command, "--filename", "-"], input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    assert done.returncode == bool(done.stdout)
    return done.stdout


def find_all() -> list[Json]:
    """All objects of the cluster but events, and Endpoints, which Argo CD takes for a Service's."""
    names = kubectl("api-resources", "--verbs=list,patch", "--output=name").split()
    kinds = [name for name in names if not name.startswith(("endpoints", "events"))]
    found = kubectl("get", ",".join(kinds), "--all-namespaces", "--output", "json")
    items: list[Json] = json.loads(found)["items"]
    return items


def test_health_of_all(application: list[Json]) -> None:
    """All kinds are among the resources, and a difference would be found."""
    assert {name.partition("/")[0] for name in READY} == {
        kind for _version, kind in flux.read_checks()
    }
    changed = copy.deepcopy(
        next(item for item in application if item["metadata"]["name"] == "scaling")
    )
    changed["spec"]["scale"]["hpa"]["maxReplicas"] = 3
    assert "maxReplicas: 3" in compare([changed])
    assert argo.find_drift(changed, read("NIMService/scaling")) == {
        "spec.scale.hpa.maxReplicas": [2, 3]
    }


def test_drift_of_installation(application: list[Json]) -> None:
    """The CRDs, policies and permissions of the operator, as Argo CD installs them."""
    items = list(yaml.safe_load_all(kubectl("kustomize", str(ROOT / "config/overlays/gpu"))))
    installed = [item for item in items if item["kind"] not in NOT_INSTALLED]
    for item in installed:
        if item["kind"].startswith("ValidatingAdmissionPolicy"):
            item["metadata"].pop("namespace", None)
        where = ["--namespace", item["metadata"].get("namespace", "default")]
        live = json.loads(
            kubectl(*where, "get", item["kind"], item["metadata"]["name"], "--output", "json")
        )
        assert argo.find_drift(item, live) == {}, (item["kind"], item["metadata"]["name"])
    assert len(installed) > 40
    assert compare(installed) == ""


def test_drift_client_side(application: list[Json]) -> None:
    for item in application:
        if "nvidia.com" in item["apiVersion"]:
            live = read(f"{item['kind']}/{item['metadata']['name']}")
            assert argo.LAST_APPLIED in live["metadata"]["annotations"]
            assert argo.find_drift(item, live) == {}, (item["kind"], item["metadata"]["name"])


def test_drift_server_side(application: list[Json]) -> None:
    assert compare(application) == ""


def test_drift_applied_server_side(application: list[Json]) -> None:
    """The option ServerSideApply of Argo CD; nothing is reconciled again."""
    before = {name: read(name)["metadata"]["generation"] for name in FIRST}
    send(
        "apply", "--server-side", "--force-conflicts", f"--field-manager={ARGO}", items=application
    )
    assert compare(application) == ""
    assert {name: read(name)["metadata"]["generation"] for name in FIRST} == before


def test_children_are_not_pruned(application: list[Json]) -> None:
    """Argo CD counts none as one of the application, although a NIMService has its name."""
    wanted = {(item["kind"], item["metadata"]["name"]) for item in application}
    others = [item for item in find_all() if (item["kind"], item["metadata"]["name"]) not in wanted]
    labels = [(item["metadata"].get("labels") or {}).get(argo.TRACKING_LABEL) for item in others]
    assert labels.count(APPLICATION) > 5
    names = [
        f"{item['kind']}/{item['metadata']['name']}"
        for item in others
        if argo.is_adopted(item, APPLICATION)
    ]
    assert names == []
    marked = [
        item
        for item in others
        if argo.TRACKING_ANNOTATION in (item["metadata"].get("annotations") or {})
    ]
    assert marked == []


def test_health_paused(application: list[Json]) -> None:
    for reference in READY:
        kubectl("--namespace", NAMESPACE, "annotate", reference, "nimops.nim/paused=true")
    found = await_health(dict.fromkeys(READY, (SUSPENDED, "neither reads nor writes")))
    for live in found.values():
        record(live, "paused")
    for reference in READY:
        kubectl("--namespace", NAMESPACE, "annotate", reference, "nimops.nim/paused-")
    await_health({name: case[1:] for name, case in READY.items()})
    assert compare(application) == ""


def test_health_job_failed(application: list[Json]) -> None:
    patch = '{"spec": {"activeDeadlineSeconds": 1}}'
    kubectl(
        "--namespace",
        NAMESPACE,
        "patch",
        "job/failing-job",
        "--type=merge",
        f"--patch={patch}",
    )
    reference = "NIMCache/failing"
    record(await_health({reference: (DEGRADED, "failed")})[reference], "job-failed")


def test_health_of_nodes(application: list[Json]) -> None:
    kubectl("label", "node/gpu-0", "example.com/driver=canary")
    patch = json.dumps({"spec": {"gfd": {"env": [{"name": "SANDBOX_BEHAVE", "value": "hold"}]}}})
    kubectl("patch", "clusterpolicy/cluster-policy", "--type=merge", f"--patch={patch}")
    driver = copy.deepcopy(
        next(item for item in application if item["metadata"]["name"] == "default")
    )
    driver["metadata"] = {"name": "canary"}
    behavior = [{"name": "SANDBOX_BEHAVE", "value": "hold"}]
    driver["spec"] |= {
        "default": False,
        "nodeSelector": {"example.com/driver": "canary"},
        "env": behavior,
    }
    send("apply", items=[driver])
    expected = {
        "NVIDIADriver/canary": (PROGRESSING, "0 of 1 pods"),
        "ClusterPolicy/cluster-policy": (PROGRESSING, "feature-discovery"),
    }
    for live in await_health(expected).values():
        record(live, "waiting")


def test_health_switched_off(application: list[Json]) -> None:
    policy = copy.deepcopy(next(item for item in application if item["kind"] == "ClusterPolicy"))
    policy["metadata"] = {"name": "second"}
    send("apply", items=[policy])
    patch = '{"spec": {"driver": {"useNvidiaDriverCRD": false}}}'
    kubectl("patch", "clusterpolicy/cluster-policy", "--type=merge", f"--patch={patch}")
    expected = {
        "NVIDIADriver/default": (SUSPENDED, "useNvidiaDriverCRD is not enabled"),
        "ClusterPolicy/second": (DEGRADED, "is older"),
    }
    found = await_health(expected)
    record(found["NVIDIADriver/default"], "disabled")
    record(found["ClusterPolicy/second"], "ignored")


def change(live: Json) -> Json:
    """A patch of the spec."""
    if live["kind"] == "NIMPipeline":
        return {"services": [{**item, "enabled": False} for item in live["spec"]["services"]]}
    if live["kind"] == "ClusterPolicy":
        return {"gfd": {"enabled": False}}
    return {"env": [{"name": "A", "value": "b"}]}


def test_health_without_operator(application: list[Json], operator: Any) -> None:
    """The health before the first pass, after a change, and during a deletion."""
    operator.stop()
    for reference in READY:
        live = read(reference)
        new = copy.deepcopy(live)
        new["metadata"] = {"name": "new", "namespace": live["metadata"].get("namespace")}
        send(
            "create", items=[{key: new[key] for key in ("apiVersion", "kind", "metadata", "spec")}]
        )
        new = read(f"{live['kind']}/new")
        assert is_as(judge(new), PROGRESSING, "has not reconciled it yet")
        record(new, "new")
        patch = json.dumps({"spec": change(live)})
        kubectl("--namespace", NAMESPACE, "patch", reference, "--type=merge", f"--patch={patch}")
        stale = read(reference)
        assert is_as(judge(stale), PROGRESSING, "has not reconciled its current spec yet")
        record(stale, "stale")
        if live["metadata"].get("finalizers"):
            kubectl("--namespace", NAMESPACE, "delete", reference, "--wait=false")
            deleted = read(reference)
            assert is_as(judge(deleted), PROGRESSING, "it is being deleted")
            record(deleted, "deleted")
