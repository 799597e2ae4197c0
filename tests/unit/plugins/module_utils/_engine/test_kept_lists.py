# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Child
from ansible_collections.nimops.nim.plugins.module_utils._engine.kept_lists import (
    has_equivalent,
    keep_lists,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import FIELD_MANAGER

A, A2, B = ({"name": "A", "value": "1"}, {"name": "A", "value": "2"}, {"name": "B", "value": "3"})
SECRET = {"name": "pull"}


def deployment(env, secrets=(SECRET,)):
    pod = {"imagePullSecrets": list(secrets), "containers": [{"name": "ctr", "image": "i"}]}
    if env is not None:
        pod["containers"][0]["env"] = list(env)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "llm", "namespace": "nim"},
        "spec": {"template": {"spec": pod}},
    }


def pod_of(manifest):
    return manifest["spec"]["template"]["spec"]


def owning(live, fields):
    path = {"f:spec": {"f:template": {"f:spec": fields}}}
    entry = {"manager": FIELD_MANAGER, "operation": "Apply", "fieldsV1": path}
    live["metadata"]["managedFields"] = [entry]
    return live


@pytest.mark.parametrize("env", [[A, A, B], [B, A, A], [A2, B, A]])
def test_keep_lists_equivalent_list(env):
    live = deployment(env)
    want = deployment([A, B])
    before = copy.deepcopy(want)
    kept = keep_lists(Child(want), live)
    assert pod_of(kept.manifest)["containers"][0]["env"] == env
    assert pod_of(kept.to_apply)["containers"] == [{"name": "ctr", "image": "i"}]
    assert pod_of(kept.to_apply)["imagePullSecrets"] == [SECRET]
    assert want == before


def test_keep_lists_several_lists():
    live = deployment([A, A], [SECRET, SECRET])
    kept = keep_lists(Child(deployment([A])), live)
    assert kept.manifest == live
    assert "imagePullSecrets" not in pod_of(kept.to_apply)
    assert "env" not in pod_of(kept.to_apply)["containers"][0]


@pytest.mark.parametrize(
    ("live", "want"),
    [
        pytest.param([A, B], [A, B], id="no duplicates"),
        pytest.param([A, A2], [A], id="another value"),
        pytest.param([A, A, B], [A], id="one too many"),
        pytest.param([A, A], [A, B], id="one missing"),
        pytest.param([A, A], [A, A], id="wanted duplicates"),
        pytest.param(["x", "x"], ["x"], id="no names"),
        pytest.param([A, A], None, id="none wanted"),
        pytest.param(None, [A], id="none"),
        pytest.param([{"name": {}}] * 2, [{"name": {}}], id="names that are maps"),
    ],
)
def test_keep_lists_different_lists(live, want):
    child = Child(deployment(want))
    assert keep_lists(child, deployment(live)) is child


def test_keep_lists_other_order():
    kept = keep_lists(Child(deployment([A, B])), owning(deployment([B, A]), {}))
    assert pod_of(kept.to_apply)["containers"][0]["env"] == [B, A]
    served = deployment([A, B]) | {"apiVersion": "apps.nvidia.com/v1alpha1", "kind": "NIMService"}
    child = Child(served)
    assert keep_lists(child, deployment([B, A])) is child


@pytest.mark.parametrize(
    ("live", "same"),
    [([A, B], True), ([B, A], True), ([B, A, A], True), ([A2, B], False), ([A], False)],
)
def test_has_equivalent(live, same):
    want = deployment([A, B])
    before = copy.deepcopy(want)
    assert has_equivalent(deployment(live), want) is same
    assert want == before


def test_keep_lists_applied_before():
    """Else server-side apply would remove the whole list, which is ours."""
    child = Child(deployment([A]))
    of_env = {"f:containers": {'k:{"name":"ctr"}': {"f:env": {'k:{"name":"A"}': {"f:name": {}}}}}}
    assert keep_lists(child, owning(deployment([A, A]), of_env)) is child
    of_secrets = {"f:imagePullSecrets": {'k:{"name":"pull"}': {"f:name": {}}}}
    assert keep_lists(child, owning(deployment([A, A]), of_secrets)) is not child


def test_keep_lists_partly_applied_child():
    child = Child(deployment([A]), applied=deployment(None))
    assert keep_lists(child, deployment([A, A])) is child
