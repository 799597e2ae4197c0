# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Resources that were stored before our checks existed stay updatable and deletable.

Our CRDs are applied twice under a separate group: first without rules and bounds, to store invalid
resources, and then unchanged, with the policies.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.runtime_annotations import PREFIX
from nimops_harness.cluster import kubectl

ROOT = Path(__file__).resolve().parents[2]
GROUP = "takeover.nimops.example"
BOUNDS = {
    "x-kubernetes-validations",
    "enum",
    "pattern",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "maxProperties",
    "minimum",
}

Manifest = dict[str, Any]

IMAGE = {"repository": "nvcr.io/nim/meta/llama-3.2-1b-instruct", "tag": "1.12.0"}
KEYS = {"__ansible_unsafe": "{{ a }}", "team": "a"}
TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": KEYS}}
AFFINITY = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}
ANNOTATIONS = {
    f"{PREFIX}verbosity": "9000000000000000000",
    f"{PREFIX}max-runner-artifacts": "0",
    f"{PREFIX}reconcile-period": "often",
}
METADATA = {"name": "old", "finalizers": ["nimops.example/test"], "annotations": ANNOTATIONS}
SERVICE: Manifest = {
    "kind": "NIMService",
    "metadata": METADATA,
    "spec": {
        "image": IMAGE,
        "storage": {"emptyDir": {}, "pvc": {"size": "ten"}, "sharedMemorySizeLimit": 0},
        "expose": {"router": {"gateway": {"name": "g", "namespace": "gw"}}},
        "metrics": {"enabled": True},
        "initContainers": [{"name": "a", "image": {"repository": "a", "tag": ""}}],
        "nodeSelector": KEYS,
        "affinity": AFFINITY,
    },
}
PIPELINE: Manifest = {
    "kind": "NIMPipeline",
    "metadata": METADATA,
    "spec": {"services": [{"name": "old", "enabled": True, "spec": SERVICE["spec"]}]},
}
CACHE: Manifest = {
    "kind": "NIMCache",
    "metadata": METADATA,
    "spec": {
        "source": {
            "ngc": {"authSecret": "s", "modelPuller": "i", "model": {"profiles": ["all", "a"]}}
        },
        "storage": {"pvc": {"name": "p"}, "hostPath": "/models"},
        "proxy": {"noProxy": "*"},
        "nodeSelector": KEYS,
    },
}
BUILD: Manifest = {
    "kind": "NIMBuild",
    "metadata": METADATA,
    "spec": {"nimCache": {"name": ""}, "image": {**IMAGE, "tag": ""}, "labels": KEYS},
}
STORAGE: Manifest = {"emptyDir": {}}
MANY: Manifest = {
    "kind": "NIMService",
    "metadata": {**METADATA, "name": "many"},
    "spec": {
        "image": IMAGE,
        "storage": STORAGE,
        "env": [{"name": f"A{number}"} for number in range(600)],
    },
}
LARGE: Manifest = {
    "kind": "NIMService",
    "metadata": {**METADATA, "name": "large"},
    "spec": {"image": IMAGE, "storage": STORAGE, "args": ["a" * 1000] * 110},
}
LEAST_NEMO = yaml.safe_load((Path(__file__).parent / "nemo.yaml").read_text())
NEMO: list[Manifest] = [
    {
        "kind": kind,
        "metadata": METADATA,
        "spec": {
            **spec,
            "image": {**IMAGE, "tag": ""},
            "replicas": 0,
            "expose": {"router": {"gateway": {"name": "g", "namespace": "gw"}}},
            "nodeSelector": KEYS,
            "affinity": AFFINITY,
        },
    }
    for kind, spec in LEAST_NEMO.items()
]
OLD = [SERVICE, MANY, LARGE, PIPELINE, CACHE, BUILD, *NEMO]
KINDS = [f"{manifest['kind']}-{manifest['metadata']['name']}" for manifest in OLD]


def without_bounds(schema: Any) -> Any:
    if isinstance(schema, list):
        return [without_bounds(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    properties = {
        name: without_bounds(child) for name, child in schema.get("properties", {}).items()
    }
    kept = {
        key: without_bounds(value)
        for key, value in schema.items()
        if key not in {*BOUNDS, "properties"}
    }
    return {**kept, "properties": properties} if properties else kept


def crds(*, bounded: bool) -> list[Manifest]:
    result = []
    for path in sorted((ROOT / "config/crd/bases").glob("*.yaml")):
        crd = yaml.safe_load(path.read_text())
        crd["metadata"]["name"] = f"{crd['spec']['names']['plural']}.{GROUP}"
        crd["spec"]["group"] = GROUP
        version = crd["spec"]["versions"][0]
        version["schema"] = version["schema"] if bounded else without_bounds(version["schema"])
        result.append(crd)
    return result


@pytest.fixture(scope="module")
def old(cluster: Any) -> Iterator[Any]:
    """Resources that break our rules, stored before the rules existed."""
    found = cluster.in_group(GROUP)
    found.apply_crds(*crds(bounded=False))
    for manifest in OLD:
        assert found.create(manifest, dry_run=False) is None
    assert found.patch_status(CACHE, {"profiles": [{"name": "a", "config": KEYS}]}) is None
    found.apply_crds(*crds(bounded=True))
    deadline = time.monotonic() + 20
    while not all(found.create(named(manifest, "new")) for manifest in OLD):
        assert time.monotonic() < deadline, "the rules do not take effect"
        time.sleep(0.1)
    found.apply_policies()
    yield found
    found.remove_all()
    found.delete_policies()
    found.delete_crds(*(crd["metadata"]["name"] for crd in crds(bounded=True)))


def named(manifest: Manifest, name: str) -> Manifest:
    return {**manifest, "metadata": {"name": name}}


@pytest.mark.parametrize("manifest", OLD, ids=KINDS)
def test_leftover_create_refused(old: Any, manifest: Manifest) -> None:
    assert old.create(named(manifest, "new"))


@pytest.mark.parametrize("manifest", OLD, ids=KINDS)
def test_leftover_update_metadata(old: Any, manifest: Manifest) -> None:
    assert old.patch_metadata(manifest, {"labels": {"a": "b"}}) is None


def test_leftover_update_status(old: Any) -> None:
    if "1.30" in kubectl("version"):
        pytest.skip("Kubernetes 1.30 checks unchanged fields at writes of the status")
    for manifest in OLD:
        assert old.patch_status(manifest, {"state": "Failed", "observedGeneration": 1}) is None


def test_leftover_runtime_annotations(old: Any) -> None:
    name = f"{PREFIX}verbosity"
    for manifest in OLD:
        assert old.patch_metadata(manifest, {"annotations": {"example.com/a": "b"}}) is None
        refusal = old.patch_metadata(manifest, {"annotations": {name: "9"}})
        assert f"metadata.annotations[{name}]" in refusal.message
        assert old.patch_metadata(manifest, {"annotations": {name: None}}) is None
        assert old.patch_metadata(manifest, {"annotations": {name: "9000000000000000000"}})
        assert old.patch_metadata(manifest, {"annotations": {name: "3"}}) is None


def entry(**fields: Any) -> Manifest:
    """The entry of the pipeline, whose only errors are its keys."""
    spec = {name: value for name, value in SERVICE["spec"].items() if name != "initContainers"}
    return {"name": "old", "enabled": True, "spec": {**spec, **fields}}


def affinity(**keys: str) -> Manifest:
    terms = [{**TERM, "labelSelector": {"matchLabels": keys}}]
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


@pytest.mark.parametrize(
    ("manifest", "patch"),
    [
        pytest.param(SERVICE, {"spec.nodeSelector": {"team": "a"}}, id="the key goes"),
        pytest.param(SERVICE, {"spec.affinity": affinity(team="a")}, id="the key goes from a list"),
        pytest.param(PIPELINE, {"spec.services": []}, id="the entry goes"),
    ],
)
def test_leftover_reserved_key_other_changes(old: Any, manifest: Manifest, patch: Manifest) -> None:
    assert old.replace(manifest, patch) is None


@pytest.mark.parametrize(
    ("manifest", "patch", "field"),
    [
        pytest.param(
            SERVICE,
            {"spec.nodeSelector": {**KEYS, "__ansible_vault": ""}},
            "spec.nodeSelector",
            id="another key",
        ),
        pytest.param(
            SERVICE,
            {"spec.nodeSelector": {**KEYS, "team": "b"}},
            "spec.nodeSelector",
            id="the map that has it",
        ),
        pytest.param(
            SERVICE,
            {"spec.affinity": affinity(__ansible_vault="")},
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchLabels",
            id="another key in a list",
        ),
        pytest.param(
            SERVICE,
            {"spec.affinity": affinity(**KEYS, b="")},
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchLabels",
            id="the list that has it",
        ),
        pytest.param(
            PIPELINE,
            {"spec.services": [entry(replicas=2)]},
            "spec.services[0].spec.nodeSelector",
            id="the entry that has it",
        ),
        pytest.param(
            PIPELINE,
            {"spec.services": [entry(labels=KEYS)]},
            "spec.services[0].spec.labels",
            id="another map of an entry",
        ),
    ],
)
def test_leftover_reserved_key_added(
    old: Any, manifest: Manifest, patch: Manifest, field: str
) -> None:
    refusal = old.replace(manifest, patch)
    assert refusal
    assert f"{field}: " in refusal.message
    assert "keys that begin with __ansible" in refusal.message


@pytest.mark.parametrize(
    "patch",
    [{"spec.image.tag": "1.13.0"}, {"spec.replicas": 2}, {"spec.storage.readOnly": True}],
    ids=["image", "replicas", "beside a bad value"],
)
def test_leftover_other_fields(old: Any, patch: Manifest) -> None:
    assert old.replace(SERVICE, patch) is None


def test_leftover_too_large_other_changes(old: Any) -> None:
    env = MANY["spec"]["env"]
    assert old.replace(MANY, {"spec.replicas": 2}) is None
    assert old.replace(MANY, {"spec.env": env[:500]}) is None
    assert old.replace(MANY, {"spec.env": env[:599]}).names("spec.env", "at most 512 items")


def test_leftover_too_large_must_shrink(old: Any) -> None:
    assert old.replace(LARGE, {"spec.args": ["a" * 1000] * 90, "spec.replicas": 2}) is None
    refusal = old.replace(LARGE, {"spec.replicas": 2})
    assert refusal.names("spec", "must be at most 98304 bytes long")


@pytest.mark.parametrize("manifest", NEMO, ids=LEAST_NEMO)
def test_leftover_nemo_other_fields(old: Any, manifest: Manifest) -> None:
    assert old.replace(manifest, {"spec.userID": 1, "spec.image.tag": "1"}) is None
    assert old.replace(manifest, {"spec.replicas": -1}).names("spec.replicas", "1")


def test_leftover_bad_value_replaced(old: Any) -> None:
    refusal = old.replace(SERVICE, {"spec.storage.sharedMemorySizeLimit": -1})
    assert refusal.names("spec.storage.sharedMemorySizeLimit", "must not be negative")


@pytest.mark.parametrize("manifest", OLD, ids=KINDS)
def test_leftover_deletion(old: Any, manifest: Manifest) -> None:
    old.delete(manifest)
    assert old.read(manifest)["metadata"]["deletionTimestamp"]
    assert old.patch_metadata(manifest, {"finalizers": None}) is None
    assert old.is_gone(manifest)
