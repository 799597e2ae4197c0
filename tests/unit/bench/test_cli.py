# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The exit code of the bench."""

from __future__ import annotations

import contextlib
import typing as t
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from nimops_bench import cli
from nimops_bench.figures import FIGURES
from nimops_bench.results import Results
from nimops_harness.errors import HarnessError

STEPS = ("measure_load", "measure_hanging", "measure_loading", "measure_foreign")


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> t.Callable[[t.Sequence[str], t.Mapping[str, Exception]], int]:
    """Run with these arguments; the steps of a scale test raise these errors."""

    def play(arguments: t.Sequence[str], errors: t.Mapping[str, Exception]) -> int:
        scale = MagicMock(**{f"{step}.side_effect": errors.get(step) for step in STEPS})
        for name in ("Api", "Stack", "measure_commands", "refuse_taken_ports", "show"):
            monkeypatch.setattr(cli, name, MagicMock())
        monkeypatch.setattr(cli, "play_models", lambda _path: contextlib.nullcontext())
        monkeypatch.setattr(cli, "Scale", lambda _bench: scale)
        monkeypatch.setattr(cli, "Bench", lambda *given: MagicMock(results=given[2]))
        return cli.run(cli.parse_arguments([*arguments, "--output", str(tmp_path)]))

    return play


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ({}, 0),
        ({"measure_hanging": HarnessError("no answer")}, 1),
        ({"measure_loading": OSError("gone")}, 1),
        ({"measure_foreign": HarnessError("of a part that is not selected")}, 0),
    ],
)
def test_only(run: t.Any, errors: dict[str, Exception], expected: int) -> None:
    assert run(["--only", "hanging,loading"], errors) == expected


@pytest.mark.parametrize("missing", ["", "rss_idle_mib"])
def test_all(run: t.Any, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    def finish(results: Results) -> None:
        values = {figure.name: 1.0 for figure in FIGURES if figure.name != missing}
        results.values |= {**values, "prefork_was_on": True}

    monkeypatch.setattr(Results, "finish", finish)
    assert run([], {}) == (1 if missing else 0)
