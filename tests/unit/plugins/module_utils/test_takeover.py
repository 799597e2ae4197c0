# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Changes that our operator would make to the recorded objects of the reference operator.

The recordings omit managedFields and annotations with hashes; the tests add them like the reference
operator: one update by `manager` over all fields.
"""

from __future__ import annotations

import copy
import json
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._commands.plan.diff import find_changes
from ansible_collections.nimops.nim.plugins.module_utils._commands.render.simulation import simulate
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import is_served

Json = dict[str, t.Any]

CONFORMANCE = Path(__file__).parents[5] / "shared" / "conformance"
CASES = sorted(
    f"{home}{file.stem}"
    for home in ("", "nemo/")
    for file in CONFORMANCE.glob(f"{home}expected/*.json")
    if "nemocustomizer" not in file.stem  # needs ConfigMaps: _nemocustomizer/test_conformance.py
)
KEYS = {
    "containers": ("name",),
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "ports": ("containerPort", "protocol"),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
"""Lists of pods whose items have keys, as far as the recordings have them."""
RELEASES = sorted(CONFORMANCE.glob("takeover/*.json"))
RESTARTED = {"tolerating": "O-11: the reference drops tolerationSeconds"}
"""Deployments of the releases' objects whose pods lacked something in the spec, and what."""
HASHES = {"nvidia.com/last-applied-hash": "7f4d85b6c9", "nvidia.com/parent-spec-hash": "55c98df6f5"}
CHANGED = {
    "ConfigMap": "O-25, O-28: the picker's configuration, annotations of the hostfiles",
    "Role": "the picker may list InferenceModelRewrites, without which it never becomes ready",
    "Secret": "O-25: annotations",
    "ServiceMonitor": "O-61: the selector",
    "LeaderWorkerSet": "O-16: only what restarts no pods",
    "NIMService": "O-02: zero values, of a pipeline",
}
"""Kinds that a takeover changes, and why."""


def fields_of(value: t.Any, name: str = "") -> Json:
    """The FieldsV1 set of a value."""
    if isinstance(value, dict):
        return {f"f:{key}": fields_of(item, key) for key, item in value.items()}
    if isinstance(value, list) and name in KEYS:
        found: Json = {}
        for item in value:
            keys = {
                key: item.get(key, "TCP") for key in KEYS[name] if key in item or key == "protocol"
            }
            if "port" in item:  # of a Service
                keys = {"port": item["port"], "protocol": item.get("protocol", "TCP")}
            found[f"k:{json.dumps(keys, separators=(',', ':'))}"] = {".": {}, **fields_of(item)}
        return found
    return {}


def as_left_behind(item: Json, uids: dict[tuple[str, str], str]) -> Json:
    """An object as the API server has it after the reference wrote it."""
    made = copy.deepcopy(item)
    metadata = made["metadata"]
    metadata |= {"uid": uids[item["kind"], metadata["name"]], "resourceVersion": "1"}
    metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
    if is_served(item) and not metadata.get("ownerReferences"):
        return made
    for owner in metadata.get("ownerReferences") or []:
        owner["uid"] = uids.get((owner["kind"], owner["name"]), "unknown")
    metadata["annotations"] = {**metadata.get("annotations", {}), **HASHES}
    owned = {key: made[key] for key in made if key not in ("apiVersion", "kind", "status")}
    owned["metadata"] = {
        key: metadata[key]
        for key in ("labels", "annotations", "ownerReferences")
        if key in metadata
    }
    metadata["managedFields"] = [
        {
            "manager": "manager",
            "operation": "Update",
            "apiVersion": item["apiVersion"],
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": fields_of(owned),
        }
    ]
    return made


def load(case: str) -> list[Json]:
    """The recorded objects of a case, with the whole custom resources."""
    home, name = (CONFORMANCE / case).parent, (CONFORMANCE / case).name
    recorded = json.loads((home / "expected" / f"{name}.json").read_text())["objects"]
    documents = yaml.safe_load_all((home / "cases" / f"{name}.yaml").read_text())
    given = {(item["kind"], item["metadata"]["name"]): item for item in documents if item}
    items = [item for item in recorded.values() if item["kind"] not in ("Pod", "ReplicaSet")]
    uids = {
        (item["kind"], item["metadata"]["name"]): f"uid-{index}" for index, item in enumerate(items)
    }
    left = []
    for item in unveil(items, given.values()):
        source = given.get((item["kind"], item["metadata"]["name"]))
        whole = {"metadata": {}, **item} | ({"spec": source["spec"]} if source else {})
        left.append(as_left_behind(whole, uids))
    return left


def unveil(items: list[Json], resources: t.Iterable[Json]) -> list[Json]:
    """The objects with the script that waits for a database, which the recordings veil."""
    for cr in resources:
        if database := cr["spec"].get("databaseConfig"):
            end = ";" if cr["kind"] == "NemoEntitystore" else ""
            loop = f"until nc -z {database['host']} {database['port']}; do"
            loop += f' echo "Waiting for Postgres to start "; sleep 5; done{end}'
            text = json.dumps(items).replace(
                '["sh", "-c", "<script>"]', json.dumps(["sh", "-c", loop])
            )
            items = json.loads(text)
    return items


@pytest.mark.skipif(not CASES, reason="the recordings of the reference, ../shared, are not here")
@pytest.mark.parametrize("case", CASES or [""])
def test_takeover_restarts_no_pods(case: str) -> None:
    items = load(case)
    resources = [item for item in items if is_served(item)]
    facts = Facts(items)
    changes = find_changes(simulate(resources, facts.ask), {}, facts.ask)
    assert changes, "nothing was taken over"
    assert [change.diff() for change in changes if change.restarts] == []
    assert {change.key.kind for change in changes if change.action == "change"} <= set(CHANGED)
    assert [change.key for change in changes if change.action in ("create", "delete")] == []


@pytest.mark.skipif(not RELEASES, reason="the releases' objects, ../shared, are not here")
@pytest.mark.parametrize("root_user", ["allow", "forbid"])
@pytest.mark.parametrize("release", RELEASES or [Path()], ids=lambda path: path.stem)
def test_takeover_from_release_replaces_incomplete_pods(
    release: Path, root_user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NIMOPS_ROOT_USER", root_user)
    items = json.loads(release.read_text())
    facts = Facts(items)
    simulated = simulate([item for item in items if is_served(item)], facts.ask)
    changes = find_changes(simulated, {}, facts.ask)
    restarted = {change.key.name for change in changes if change.restarts}
    assert restarted <= set(RESTARTED)
    assert [change.key for change in changes if change.action in ("create", "delete")] == []
    assert not any("deployment.kubernetes.io" in change.diff() for change in changes)
