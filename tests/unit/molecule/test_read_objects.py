# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The objects of a namespace, as scenarios read them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "molecule/shared"))

from read_objects import by_key

WRITTEN = {"manager": "kubectl", "operation": "Update"}


def make_pod(name: str, **entry: object) -> dict[str, object]:
    return {"kind": "Pod", "metadata": {"name": name, "managedFields": [{**WRITTEN, **entry}]}}


@pytest.mark.parametrize(
    ("with_fields", "entry"),
    [(False, WRITTEN), (True, {**WRITTEN, "fieldsV1": {"f:spec": {}}})],
    ids=["without fields", "with fields"],
)
def test_by_key_fields(with_fields: bool, entry: dict[str, object]) -> None:
    items = [make_pod("second", fieldsV1={"f:spec": {}}), make_pod("first")]
    found = by_key(json.dumps({"kind": "List", "items": items}), with_fields)
    assert list(found) == ["Pod/second", "Pod/first"]
    assert found["Pod/second"]["metadata"]["managedFields"] == [entry]


def test_by_key_empty() -> None:
    assert by_key('{"kind": "List", "items": []}', False) == {}
