# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest


@pytest.mark.parametrize("given", [{}, {"logHandlers": "", "consoleLogLevel": None}])
def test_parse_spec_defaults(nemo: t.Any, given: dict[str, t.Any]) -> None:
    spec = nemo.app("NemoEvaluator", {"evaluationImages": None, **given}).spec
    assert (spec.log_handlers, spec.console_log_level, spec.log_level) == (
        "console",
        "INFO",
        "INFO",
    )
    assert set(spec.images.values()) == {""}
    assert spec.is_validating
    assert spec.telemetry is None
