# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""In CI a test may be skipped only for want of what this machine cannot have."""

from __future__ import annotations

import functools
import gc
import importlib.util
import marshal
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

SHARED = Path(__file__).resolve().parents[2] / "shared"
_skipped: list[str] = []

# safe_load of tests and of what they import parses in C: of the CRDs alone, PyYAML's own parser reads
# a megabyte and a half in 1.5 s of CPU, libyaml's in 0.3 s, and each test process reads them often.
yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_safe_load, _safe_load_all = yaml.safe_load, yaml.safe_load_all
_parsed: dict[tuple[str, bool], bytes] = {}


def _parse_once(stream: Any, parse: Callable[[Any], Any], *, is_whole: bool) -> Any:
    """A copy of what a long text has: forty files of tests read the CRDs, the samples or the golden files."""
    if not isinstance(stream, str) or len(stream) < 1000:
        return parse(stream)
    key = (stream, is_whole)
    if key not in _parsed:
        found = parse(stream)
        try:
            _parsed[key] = marshal.dumps(found)
        except ValueError:  # for example, a date
            return found
    return marshal.loads(_parsed[key])


def _load_all(stream: Any) -> Iterator[Any]:
    yield from _parse_once(stream, lambda text: list(_safe_load_all(text)), is_whole=False)


yaml.safe_load = functools.partial(_parse_once, parse=_safe_load, is_whole=True)
yaml.safe_load_all = _load_all

# Fourteen thousand collected items stay until the end. Without this, the collector walks them again and
# again, which takes more than half of the time of the collection and a part of each test.
gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def load_module() -> Callable[[Path], ModuleType]:
    """Import a file that is in no package: a script, or the fixtures of other tests."""

    def load(path: Path) -> ModuleType:
        name = f"loaded_{path.parent.name}_{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec
        assert spec.loader
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def _is_excused(line: str) -> bool:
    """Missing packages do not excuse a test of the real node: CI installs them."""
    if "../shared" in line:
        return not SHARED.is_dir()
    return "a real node needs root" in line or "a real node needs the right" in line


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        _skipped.append(f"{report.nodeid}: {reason}")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _skipped.append(f"{report.nodeid}: {report.longrepr}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if not os.environ.get("CI") or hasattr(session.config, "workerinput"):
        return
    wrong = [line for line in _skipped if not _is_excused(line)]
    if wrong and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        for line in wrong:
            print(f"skipped in CI: {line}")
