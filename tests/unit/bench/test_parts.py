# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Parts that fail, objects of a plain client, and nodes of others."""

from __future__ import annotations

from unittest.mock import MagicMock

import pytest
from nimops_bench import cli
from nimops_bench.bulk import PLAIN, make_plain
from nimops_bench.stack import SIMULATED, hide_gpus, make_node
from nimops_harness.errors import HarnessError


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ({}, True),
        ({"measure_hanging": HarnessError("no answer")}, False),
        ({"measure_foreign": OSError("gone")}, False),
        ({"measure_load": HarnessError("of a part that is not selected")}, True),
    ],
)
def test_measure_all(errors: dict[str, Exception], expected: bool) -> None:
    scale = MagicMock(**{f"{step}.side_effect": error for step, error in errors.items()})
    assert cli.measure_all(MagicMock(), scale, ("hanging", "foreign")) is expected
    scale.measure_foreign.assert_called_once()


def test_make_plain() -> None:
    metadata = {"name": "nim-0", "uid": "v", "ownerReferences": [{"uid": "u"}], "labels": {"app": "nim-0"}}  # fmt: skip
    pod = {"serviceAccountName": "nim-0", "containers": [{"name": "nim-0-ctr"}]}
    spec = {"selector": {"app": "nim-0"}, "clusterIP": "10.0.0.1", "template": {"spec": pod}}
    made = make_plain("Service", {"metadata": metadata, "spec": spec, "status": {}}, "plain-0")
    assert made == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "plain-0", "labels": {"app": "plain-0", PLAIN: "true"}},
        "spec": {
            "selector": {"app": "plain-0"},
            "template": {"spec": {"containers": [{"name": "plain-0-ctr"}]}},
        },
    }


def test_hide_gpus_of_foreign_nodes() -> None:
    ours = {"metadata": {"name": "gpu-0", "labels": {SIMULATED: "true"}}}
    foreign = {"metadata": {"name": "z", "labels": {}}}
    api = MagicMock(**{"items.return_value": [ours, make_node("mine"), foreign]})
    with pytest.raises(HarnessError, match="the node z is none of the sandbox's"):
        hide_gpus(api)
    api.patch.assert_not_called()
