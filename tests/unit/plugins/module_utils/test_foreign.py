# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Each child in turn already exists with another owner: no object of ours refers to it.

The resources are the samples and some variants, so that each kind of object that we write is among
the children. `nimops_harness.mentions` finds references by a table of its own.
"""

from __future__ import annotations

import copy
import re
import sys
import typing as t
from functools import cache
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._cluster.simulated import SimulatedCluster
from ansible_collections.nimops.nim.plugins.module_utils._commands.gpu.assumed_nodes import (
    assumed_nodes,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.loader import (
    Text,
    custom_resources,
    stored,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.render import simulation
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    KINDS,
    ObjectKey,
    identity,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import is_controlled_by
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import Read
from ansible_collections.nimops.nim.plugins.module_utils._engine.reconcile import reconcile
from ansible_collections.nimops.nim.plugins.module_utils._engine.references import references_of
from ansible_collections.nimops.nim.plugins.module_utils._kinds import (
    assumed_objects,
    kind_names,
    kind_of,
)

Json = dict[str, t.Any]

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tests" / "harness"))

from nimops_harness.mentions import ELSEWHERE, list_texts, mentions  # noqa: E402 the folder is found now

SAMPLES = sorted((ROOT / "config/samples").glob("*_*.yaml"))
TOLD = (ROOT / "tests/golden/facts.yaml", ROOT / "config/samples/nemo-prerequisites.yaml")
NAMESPACE = "nim"
MANAGED_BY = "app.kubernetes.io/managed-by"
IMAGE = {"repository": "registry.example/llm", "tag": "1"}
CLAIM = {"create": True, "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"}
EXPOSE = {"service": {"type": "ClusterIP", "port": 8000, "grpcPort": 8001}}
SERVICE = {"image": IMAGE, "authSecret": "ngc", "storage": {"pvc": CLAIM}, "expose": EXPOSE}
GATEWAY = {"name": "g", "namespace": "gateways"}
SCALE = {"enabled": True, "hpa": {"maxReplicas": 3}}
ROUTER = {
    "hostDomainName": "example.com",
    "ingress": {"ingressClass": "nginx"},
    "gateway": {**GATEWAY, "httpRoutesEnabled": True},
}
VARIANTS: tuple[tuple[str, str, Json], ...] = (
    (
        "NIMService",
        "everything",
        SERVICE
        | {
            "scale": SCALE,
            "metrics": {"enabled": True, "serviceMonitor": {}},
            "expose": {
                **EXPOSE,
                "router": {
                    "hostDomainName": "example.com",
                    "gateway": {**GATEWAY, "httpRoutesEnabled": True, "grpcRoutesEnabled": True},
                },
            },
            "draResources": [{"claimCreationSpec": {"devices": [{"name": "gpu"}]}}],
        },
    ),
    (
        "NIMService",
        "default",
        SERVICE | {"expose": {**EXPOSE, "router": {"hostDomainName": "a.b", "ingress": {"ingressClass": "x"}}}},
    ),
    (
        "NIMService",
        "spread",
        SERVICE
        | {
            "storage": {"pvc": {"name": "models"}},
            "resources": {"limits": {"nvidia.com/gpu": "1"}},
            "multiNode": {
                "backendType": "lws",
                "parallelism": {"pipeline": 2, "tensor": 1},
                "computeDomain": {"create": True},
            },
        },
    ),
)  # fmt: skip


MONITORS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "servicemonitors.monitoring.coreos.com"},
}
"""The cluster has ServiceMonitors, so a ClusterPolicy makes some."""


FEATURE = "feature.node.kubernetes.io"
SYSTEM = {
    f"{FEATURE}/system-os_release.ID": "ubuntu",
    f"{FEATURE}/system-os_release.VERSION_ID": "24.04",
    f"{FEATURE}/kernel-version.full": "6.8.0-60-generic",
    "example.com/driver": "canary",
}


class Recorder(SimulatedCluster):
    """A cluster that keeps all that was read from it and written to it."""

    def __init__(self, base: t.Any) -> None:
        super().__init__(base)
        self.observed: list[Read] = []
        self.wrote: list[Json] = []
        self.ended: list[Json] = []
        self.children: dict[ObjectKey, Json] = {}

    def prefetch(self, reads: t.Sequence[Read]) -> None:
        self.observed += reads

    def write(self, plan: Plan) -> Outcome:
        self.wrote += [*plan.apply, *plan.adopt, *plan.patch]
        self.ended += [*plan.prune, *plan.orphan, *plan.evict]
        return super().write(plan)


class Case(t.NamedTuple):
    """A resource and its dependencies."""

    resource: Json
    around: list[Json]

    def run(self, *others: Json) -> tuple[Recorder, Json]:
        """Passes until nothing moves, and the resource after them."""
        cluster = Recorder(Facts([*self.around, *others], (), assumed_objects(), NAMESPACE).ask)
        cluster.put(self.resource)
        for _number in range(8):
            before = len(cluster.changes)
            resource = cluster.find(identity(self.resource)) or {}
            done = reconcile(kind_of(resource), resource, cluster)
            for child in done.desired.children:
                cluster.children.setdefault(identity(child.manifest), child.manifest)
            if len(cluster.changes) == before:
                break
        return cluster, cluster.find(identity(self.resource)) or {}


@cache
def run_alone(name: str) -> tuple[Recorder, Json]:
    """The passes of a case without foreign objects; no test changes what they leave."""
    return cases()[name].run()


def named_parts() -> t.Iterator[t.Any]:
    """Each case, and the part of its children to test: a ClusterPolicy has seventy."""
    for name in names():
        if name.startswith("ClusterPolicy"):
            yield pytest.param(name, slice(0, None, 4), id=name)
            others = [
                pytest.param(
                    name,
                    slice(first, None, 4),
                    id=f"{name}, part {first}",
                    marks=pytest.mark.nightly,
                )
                for first in (1, 2, 3)
            ]
            yield from others
        else:
            yield pytest.param(name, slice(None), id=name)


def variant(kind: str, name: str, spec: Json) -> Json:
    metadata = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}"}
    return {"apiVersion": KINDS[kind].version, "kind": kind, "metadata": metadata, "spec": spec}


def with_features(service: Json) -> Json:
    """A NeMo service with all that is optional."""
    expose = {**service["spec"]["expose"], "router": ROUTER}
    features = {"expose": expose, "scale": SCALE, "metrics": {"enabled": True}}
    if service["kind"] == "NemoGuardrail":
        features["configStore"] = {"pvc": CLAIM}
    return stored(
        variant(service["kind"], f"full-{service['kind'].lower()}", {**service["spec"], **features})
    )


@cache
def resources() -> list[Json]:
    texts = [Text(file.name, file.read_text()) for file in SAMPLES]
    given = [stored(item) for item in custom_resources(texts, NAMESPACE)]
    given += [stored(variant(*item)) for item in VARIANTS]
    given += [with_features(item) for item in given if item["kind"].startswith("Nemo")]
    return given


def names() -> list[str]:
    """The names of `cases`, whose simulation takes each test process a second: only these tests run it."""
    found = []
    for item in resources():
        name = f"{item['kind']} {item['metadata']['name']}"
        more = {"NIMCache": [f"{name}, not probed"], "NIMBuild": [f"{name}, built"]}
        found += [name, *more.get(item["kind"], [])]
    return sorted(found)


@cache
def cases() -> dict[str, Case]:
    """Each resource, beside the others in their final state."""
    given = resources()
    reported: list[Json] = []
    for file in TOLD:
        for document in yaml.safe_load_all(file.read_text()):
            reported += (document or {}).get("items") or [document]
    reported += [*assumed_nodes(given, reported), MONITORS]
    run = simulation._Simulation(
        SimulatedCluster(Facts(reported, (), assumed_objects(), NAMESPACE).ask)
    )
    for item in given:
        run.add_resource(item)
    while run.run_once() or run.assume():
        pass
    done = [run.cluster.find(identity(item)) or {} for item in given]
    found = {}
    for item in done:
        fresh = {key: value for key, value in item.items() if key != "status"}
        name = f"{item['kind']} {item['metadata']['name']}"
        around = [other for other in (*reported, *done) if identity(other) != identity(item)]
        found[name] = Case(fresh, around)
        if item["kind"] == "NVIDIADriver":
            found[name] = Case(fresh, [hand_over_drivers(other) for other in around])
        if item["kind"] == "NIMCache":
            bare = [other for other in around if not is_controlled_by(other, item)]
            found[f"{name}, not probed"] = Case(fresh, bare)
        if item["kind"] == "NIMBuild":
            built = {"type": "NIM_BUILD_ENGINE_BUILD_POD_COMPLETED", "status": "True"}
            found[f"{name}, built"] = Case(
                fresh | {"status": {"conditions": [{**built, "reason": "x", "message": ""}]}}, [*around, claim_of(item, around)]
            )  # fmt: skip
    return found


def hand_over_drivers(item: Json) -> Json:
    """A ClusterPolicy that leaves drivers to NVIDIADrivers, and has labelled its nodes."""
    if item["kind"] == "Node":
        labels = {**item["metadata"]["labels"], "nvidia.com/gpu.present": "true"}
        return item | {"metadata": item["metadata"] | {"labels": {**SYSTEM, **labels}}}
    if item["kind"] != "ClusterPolicy":
        return item
    spec = item["spec"] | {"driver": item["spec"]["driver"] | {"useNvidiaDriverCRD": True}}
    return item | {"spec": spec}


def claim_of(build: Json, around: list[Json]) -> Json:
    """The volume of a build's cache."""
    wanted = ("NIMCache", build["spec"]["nimCache"]["name"])
    cache = [item for item in around if (item["kind"], item["metadata"]["name"]) == wanted][-1]
    name = (cache["spec"]["storage"]["pvc"].get("name")) or f"{cache['metadata']['name']}-pvc"
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": NAMESPACE},
    }


def foreign(key: ObjectKey, like: Json, **metadata: t.Any) -> Json:
    """A foreign object: with our labels, except the managed-by label."""
    labels = {
        name: text
        for name, text in (like["metadata"].get("labels") or {}).items()
        if name != MANAGED_BY
    }
    space = {"namespace": key.namespace} if key.namespace else {}
    return {
        "apiVersion": KINDS[key.kind].version,
        "kind": key.kind,
        "metadata": {"name": key.name, **space, "uid": "theirs", "labels": labels, **metadata},
    } | {name: copy.deepcopy(like[name]) for name in ("spec", "data") if name in like}


OTHER = [{"apiVersion": "v1", "kind": "Other", "name": "x", "uid": "x", "controller": True}]


def is_given(case: Case, key: ObjectKey) -> bool:
    """Whether the user named this PVC, so that it may be anybody's."""
    texts = list_texts(case.resource["spec"])
    return key.kind == "PersistentVolumeClaim" and any(key.name == text for _path, text, _ in texts)


def test_names_are_those_of_cases() -> None:
    assert names() == sorted(cases())


def test_children_include_all_writes() -> None:
    """Children of every kind that some resource writes."""
    seen: dict[str, set[str]] = {}
    for name, case in cases().items():
        kinds = {key.kind for key in run_alone(name)[0].children}
        seen.setdefault(case.resource["kind"], set()).update(kinds)
    for name in kind_names():
        wanted = {item.kind for item in kind_of({"kind": name}).access if "write" in item.uses}
        assert wanted - seen[name] <= OF_OTHERS.get(name, set()), name


OF_OTHERS = {"NIMBuild": {"ConfigMap"}, "NIMCache": {"ConfigMap"}}
"""Children with data from the log of a pod, which a simulation lacks. A build extends its NIMCache's."""


NAMES = re.compile(
    r"containers\.(name|command|env\.value|args|volumeMounts\.name)$|initContainers\.env\.value$"
    r"|volumes\.name$|subjects\.namespace$|matchExpressions\.values$|^handler$|resources\.claims\.name$"
    r"|labelSelector\.|namespaceSelector\."
)
"""Where children have a name that leads to no object."""


@pytest.mark.parametrize("name", names())
def test_children_references_are_known(name: str) -> None:
    children = run_alone(name)[0].children
    names = {key.name for key in children}
    for key, manifest in children.items():
        known = {re.sub(r"\[\d+\]", "", item.path) for item in references_of(manifest)}
        texts = list_texts({key: manifest[key] for key in manifest if key != "kind"})
        suspects = (path for path, text, _ in texts if text in names)
        found = {path for path in suspects if not (ELSEWHERE.search(path) or NAMES.search(path))}
        assert found <= known, f"{key.kind}: tell _engine/references.py what these are"


@pytest.mark.parametrize("owners", [[], OTHER], ids=["nobody's", "another's"])
@pytest.mark.parametrize(("name", "part"), list(named_parts()))
def test_children_do_not_refer_to_foreign_objects(
    name: str, part: slice, owners: list[Json]
) -> None:
    case = cases()[name]
    for key, child in list(run_alone(name)[0].children.items())[part]:
        theirs = foreign(key, child, ownerReferences=owners)
        cluster, after = case.run(theirs)
        if is_given(case, key):
            continue
        assert cluster.find(key) == theirs, key
        assert [item for item in cluster.wrote if identity(item) == key] == [], key
        found = {
            f"{item['kind']} {item['metadata']['name']}": paths
            for item in cluster.wrote
            if (paths := mentions(item, key.kind, key.name))
        }
        assert found == {}, key
        assert_told(case, key, after)


def assert_told(case: Case, key: ObjectKey, after: Json) -> None:
    """The status is final, and names the owner of the object."""
    conditions = {item["type"]: item for item in after["status"]["conditions"]}
    stalled = conditions["Stalled"]
    assert stalled["status"] == "True", key
    assert f"{key.kind} {key.name}" in stalled["message"].replace('"', "") or key.kind in ("NIMService",), key  # fmt: skip
    assert stalled["reason"] in ("NameTaken", "ForeignJob", "NIMServiceNotOwned"), key
    assert "delete or rename it" in stalled["message"] or key.kind == "NIMService", key
    state = str(after["status"]["state"]).lower()
    assert state in ("failed", "notready", "pending", "error"), key


@pytest.mark.parametrize(("name", "part"), list(named_parts()))
def test_running_workload_stays_if_child_becomes_foreign(name: str, part: slice) -> None:
    """Nothing that refers to it is changed, and nothing is deleted."""
    case = cases()[name]
    cluster, after = run_alone(name)
    made = {key: cluster.find(key) for key in cluster.children}
    changed = copy.deepcopy(case.resource) | {"status": after["status"]}
    spec = changed["spec"]
    for field in ("env", "labels"):
        if isinstance(spec.get(field), (list, dict)):
            spec[field] = {"a": "b"} if field == "labels" else [{"name": "A", "value": "b"}]
    around = [cluster.find(identity(item)) or item for item in case.around]
    for key, child in list(cluster.children.items())[part]:
        if is_given(case, key) or key.kind == "PersistentVolumeClaim":
            continue
        kept = [item for other, item in made.items() if item and other != key]
        later = Case(changed, [*around, *kept])
        again, _status = later.run(foreign(key, child))
        if case.resource["kind"] != "NIMPipeline":
            assert again.ended == [], key
        found = {
            f"{item['kind']} {item['metadata']['name']}": paths
            for item in again.wrote
            if (paths := mentions(item, key.kind, key.name))
        }
        assert found == {}, key


@pytest.mark.parametrize("name", names())
def test_children_outside_cache_read_together(name: str) -> None:
    """The runtime's cache holds what has our label, our kinds and DaemonSets."""
    cluster, _resource = run_alone(name)
    alone = {read.target for read in cluster.observed if read.is_whole and not read.is_past_cache}
    outside = [
        key
        for key, child in cluster.children.items()
        if key in alone
        and (child["metadata"].get("labels") or {}).get(MANAGED_BY) != "k8s-nim-operator"
        and key.kind not in ("DaemonSet", *kind_names())
    ]
    assert len(outside) < 2, "each of these takes a request of its own to the API server"
