# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Namespaces, owners and labels of children."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import (
    App,
    invalid_annotation,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import is_controlled_by
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed

HOME = Observed({"operator": {"namespace": "nimops-system", "version_label": "7"}})


def resource(namespace: str | None, **spec: t.Any) -> dict[str, t.Any]:
    where = {} if namespace is None else {"namespace": namespace}
    return {
        "apiVersion": "example.com/v1",
        "kind": "Toy",
        "metadata": {"name": "a", "uid": "u", **where},
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("owner", "kind", "given", "place", "is_referred_to"),
    [
        pytest.param("nim", "Pod", "", "nim", True, id="in its namespace"),
        pytest.param("nim", "Pod", "other", "other", False, id="in another namespace"),
        pytest.param("nim", "Node", "", None, False, id="in none"),
        pytest.param(None, "Pod", "", "nimops-system", True, id="of the cluster: the operator's"),
        pytest.param(None, "Pod", "other", "other", True, id="of the cluster: any"),
        pytest.param(None, "Node", "", None, True, id="of the cluster, in none"),
    ],
)
def test_child_namespace_and_owner(
    owner: str | None, kind: str, given: str, place: str | None, is_referred_to: bool
) -> None:
    cr = resource(owner)
    child = App(cr, HOME).child(kind, {}, namespace=given)
    metadata = child["metadata"]
    assert metadata.get("namespace") == place
    assert ("ownerReferences" in metadata) is is_referred_to
    assert is_controlled_by(child, cr)
    namesake = resource(owner)
    namesake["metadata"]["uid"] = "u2"
    assert not is_controlled_by(child, namesake)
    if not is_referred_to:
        assert metadata["annotations"] == {
            "nimops.nim/owner-uid": "u",
            "operator-sdk/primary-resource": "nim/a",
            "operator-sdk/primary-resource-type": "Toy.example.com",
        }


def test_labels_of_user_are_added() -> None:
    app = App(resource("nim", labels={"team": "a", "app.kubernetes.io/name": "x"}), HOME)
    assert app.labels == {
        "app.kubernetes.io/name": "a",
        "app.kubernetes.io/instance": "a",
        "app.kubernetes.io/operator-version": "7",
        "app.kubernetes.io/managed-by": "k8s-nim-operator",
        "team": "a",
    }
    app.labels["mine"] = "changed"
    assert "mine" not in app.labels


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        pytest.param({}, "", id="none"),
        pytest.param({"annotations": None}, "", id="null"),
        pytest.param({"annotations": {"b": "1"}}, "", id="another"),
        pytest.param({"annotations": {"a": " 1 "}}, " 1 ", id="as given"),
    ],
)
def test_annotation(metadata: dict[str, t.Any], text: str) -> None:
    assert App({"kind": "Toy", "metadata": metadata}).annotation("a") == text


def test_invalid_annotation_is_bounded() -> None:
    error = invalid_annotation("nimops.nim/a", "{{ x }}\n" * 100, "is not a number")
    assert str(error).startswith("metadata.annotations[nimops.nim/a]: '{{ x }}\\n")
    assert str(error).endswith(" is not a number")
    assert len(str(error)) < 120
    assert error.reason == "InvalidAnnotation"
