# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.endpoint_picker.logged_error import (
    logged_error,
)


def pod(log: str | None, created: str = "2026-01-01T00:00:00Z", state: str = "state") -> t.Any:
    ended = {} if log is None else {state: {"terminated": {"message": log}}}
    status = {"containerStatuses": [{"name": "epp", **ended}]}
    return {"metadata": {"name": "a", "creationTimestamp": created}, "status": status}


def line(**fields: t.Any) -> str:
    return json.dumps(fields)


@pytest.mark.parametrize(
    ("pods", "error"),
    [
        pytest.param([], "", id="no pod"),
        pytest.param([{"metadata": {"name": "a"}}], "", id="no status"),
        pytest.param([pod(None)], "", id="running"),
        pytest.param([pod("panic: at 12:00")], "", id="other output"),
        pytest.param([pod(line(msg="started"))], "", id="no error"),
        pytest.param([pod(f"{line(error='first')}\n{line(error='last')}\nexit")], "last", id="last"),
        pytest.param([pod(line(error="bad  plugin\nx"), state="lastState")], "bad plugin x", id="crash"),
        pytest.param([pod("[1]\n7\n{"), pod(line(error="b"))], "b", id="unusual lines"),
        pytest.param(
            [pod(line(error="old")), pod(line(error="new"), "2026-01-02T00:00:00Z")], "new", id="newest",
        ),
    ],
)  # fmt: skip
def test_logged_error(pods: list[t.Any], error: str) -> None:
    assert logged_error(pods) == error


def test_logged_error_printable() -> None:
    found = logged_error([pod(line(error="a\x1b[31m" + "x" * 5000))])
    assert "\x1b" not in found
    assert len(found) < 400
