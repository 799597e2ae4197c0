# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._engine.ownership import (
    belongs_to_namesake,
    ownership_of,
    refuse_foreign,
)

Json = dict[str, t.Any]

CR = {"kind": "Toy", "metadata": {"name": "a", "namespace": "ns", "uid": "u"}}


def owned(kind: str = "Toy", name: str = "a", uid: str = "u", **meta: t.Any) -> Json:
    reference = {"kind": kind, "name": name, "uid": uid, "controller": True}
    return {"metadata": {"ownerReferences": [reference], **meta}}


@pytest.mark.parametrize(
    ("live", "ownership"),
    [
        pytest.param(None, "absent", id="absent"),
        pytest.param(owned(), "ours", id="ours"),
        pytest.param(owned(deletionTimestamp="now"), "leaving", id="deleted"),
        pytest.param(owned(uid="old"), "leaving", id="of a namesake"),
        pytest.param(owned(kind="Other", uid="old"), "foreign", id="of another kind"),
        pytest.param(owned(name="b", uid="x"), "foreign", id="of another resource"),
        pytest.param({"metadata": {}}, "foreign", id="without an owner"),
        pytest.param(
            {"metadata": {"labels": {"app.kubernetes.io/managed-by": "k8s-nim-operator"}}},
            "ours",
            id="without an owner, with the operator's label",
        ),
        pytest.param(
            owned(name="b", uid="x", labels={"app.kubernetes.io/managed-by": "k8s-nim-operator"}),
            "foreign",
            id="of another resource, with the operator's label",
        ),
    ],
)
def test_ownership_of(live: Json | None, ownership: str) -> None:
    assert ownership_of(live, CR) == ownership


@pytest.mark.parametrize("live", [None, owned(), owned(uid="old")])
def test_refuse_foreign_returns_ownership(live: Json | None) -> None:
    assert refuse_foreign(live, CR, "Pod p") == ownership_of(live, CR)


def test_refuse_foreign_raises() -> None:
    with pytest.raises(
        NimError, match=r"^Pod p exists and was not created for this Toy: "
    ) as raised:
        refuse_foreign({"metadata": {}}, CR, "Pod p")
    assert raised.value.reason == "NameTaken"
    assert str(raised.value).endswith("or recreate the Toy under another name")
    with pytest.raises(NimError, match=r"delete or rename it, or set spec\.pvc\.name$"):
        refuse_foreign({"metadata": {}}, CR, "PersistentVolumeClaim p", "spec.pvc.name")


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        (owned(uid="old"), True),
        (owned(), False),
        (owned(name="b", uid="old"), False),
        (owned(kind="Other", uid="old"), False),
        ({"metadata": {"ownerReferences": None}}, False),
    ],
    ids=["same name", "ours", "another name", "another kind", "nobody's"],
)
def test_belongs_to_namesake(live: Json, expected: bool) -> None:
    assert belongs_to_namesake(live, CR) is expected
