# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The labels that the bench removes from the sandbox's nodes."""

from __future__ import annotations

from unittest.mock import MagicMock

import pytest
from nimops_bench.nodes import SIMULATED, hide_gpus, make_node
from nimops_harness.errors import HarnessError


def test_hide_gpus_of_foreign_nodes() -> None:
    ours = {"metadata": {"name": "gpu-0", "labels": {SIMULATED: "true"}}}
    foreign = {"metadata": {"name": "z", "labels": {}}}
    api = MagicMock(**{"items.return_value": [ours, make_node("mine"), foreign]})
    with pytest.raises(HarnessError, match="the node z is none of the sandbox's"):
        hide_gpus(api)
    api.patch.assert_not_called()
