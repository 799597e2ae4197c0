# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Desired
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import owner_reference
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import compare
from ansible_collections.nimops.nim.plugins.module_utils._nim.dra.applied import (
    workload_child,
)

CR = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMService",
    "metadata": {"name": "llm", "namespace": "nim", "uid": "1"},
}
ONE, TWO = {"name": "c", "request": "one"}, {"name": "c", "request": "two"}
OTHER = {"name": "d", "request": "two"}


def deployment(*claims, image="i", **spec):
    container = {"name": "nim", "image": image}
    side = {"name": "side", "resources": {"limits": {"cpu": "1"}}}
    if claims:
        container["resources"] = {"claims": list(claims)}
        side["resources"]["claims"] = list(claims)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "llm", "namespace": "nim", "ownerReferences": [owner_reference(CR)]},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [container, side]}}} | spec,
    }


def fields(manifest):
    """The fields of a value, in the format of managedFields."""
    if isinstance(manifest, dict):
        return {f"f:{key}": fields(value) for key, value in manifest.items()}
    if isinstance(manifest, list) and manifest and isinstance(manifest[0], dict):
        return {
            f'k:{{"name":"{item["name"]}"}}': {".": {}, **fields(item)}
            if "request" not in item
            else {}
            for item in manifest
        }
    return {}


def live(manifest, *entries, **metadata):
    managed = [
        {"manager": manager, "operation": operation, "fieldsV1": {"f:spec": fields(spec["spec"])}}
        for manager, operation, spec in entries
    ]
    meta = manifest["metadata"] | {"resourceVersion": "7", "managedFields": managed} | metadata
    return manifest | {"metadata": meta}


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param((), id="none"),
        pytest.param(({"name": "c"}, {"name": "d"}), id="whole claims"),
        pytest.param((ONE, OTHER), id="a request of each"),
    ],
)
def test_workload_child_unique_claims(claims):
    child = workload_child(deployment(*claims), None)
    assert (child.applied, child.to_apply) == (None, deployment(*claims))


@pytest.mark.parametrize(
    ("found", "is_paused"),
    [
        pytest.param(None, True, id="absent"),
        pytest.param(deployment(), True, id="without its claims"),
        pytest.param(deployment(ONE), True, id="with other claims"),
        pytest.param(deployment(ONE, TWO, paused=True), False, id="with its claims"),
    ],
)
def test_workload_child_repeated_claims(found, is_paused):
    whole = deployment(ONE, TWO)
    before = copy.deepcopy(whole)
    child = workload_child(whole, found)
    assert child.manifest == whole == before
    bare = deployment(paused=True) if is_paused else deployment()
    assert child.to_apply == bare


def plan(wanted, found):
    child = workload_child(wanted, found)
    return compare(CR, Desired([child]), Observed({"Deployment/nim/llm": found}))


def to_make(item):
    return item | {"metadata": item["metadata"] | {"resourceVersion": "1"}}


def test_workload_child_created_paused():
    wanted, paused = deployment(ONE, TWO), deployment(paused=True)

    made = plan(wanted, None)
    assert (made.apply, made.adopt) == ([to_make(paused)], [])

    applied = ("nimops.nim", "Apply", paused)
    patched = plan(wanted, live(paused, applied))
    assert patched.apply == []
    assert [item["spec"] for item in patched.adopt] == [wanted["spec"]]
    assert set(patched.adopt[0]["metadata"]) == {"name", "namespace"}

    claims = ("python", "Update", wanted)
    released = plan(wanted, live(deployment(ONE, TWO, paused=True), applied, claims))
    assert (released.apply, released.adopt) == ([deployment()], [])

    settled = plan(wanted, live(wanted, ("nimops.nim", "Apply", deployment()), claims))
    assert (settled.apply, settled.adopt, settled.refusals) == ([], [], [])


def test_workload_child_changed_spec():
    wanted = deployment(ONE, TWO, image="new")
    found = live(deployment(ONE, TWO), ("nimops.nim", "Apply", deployment()))
    made = plan(wanted, found)
    assert made.apply == [deployment(image="new")]
    assert [item["spec"] for item in made.adopt] == [wanted["spec"]]


def test_workload_child_takeover():
    """If we owned the claims, server-side apply would remove them."""
    wanted = deployment(ONE, TWO)
    found = live(wanted, ("manager", "Update", wanted))
    found["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"] = {
        "f:labels": {"f:app.kubernetes.io/managed-by": {}}
    }
    (patch,) = plan(wanted, found).adopt
    assert "spec" not in patch
    theirs, ours = patch["metadata"]["managedFields"]
    assert (theirs["manager"], ours["manager"]) == ("manager", "nimops.nim")
    assert "f:claims" in str(theirs)
    assert "f:image" not in str(theirs)
    assert "f:claims" not in str(ours)
    assert "f:image" in str(ours)
    assert "f:limits" in str(ours)
