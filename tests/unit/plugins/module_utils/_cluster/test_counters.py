# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
import multiprocessing
import sys
import types

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.counters import (
    FILE_VARIABLE,
    count_pass,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome

READY = {"state": "Ready", "observedGeneration": 2, "operatorVersion": "1"}
OUTCOME = Outcome(written={"a": {}, "b": {}}, deleted=["c"])


def resource(status, kind="NIMService"):
    return {"kind": kind, "metadata": {"name": "a", "generation": 2}, "status": status}


@pytest.fixture
def file(tmp_path, monkeypatch):
    path = tmp_path / "counters.json"
    monkeypatch.setenv(FILE_VARIABLE, str(path))
    monkeypatch.delitem(sys.modules, "ansible_prefork", raising=False)  # imported by other tests
    return path


def read(file):
    return json.loads(file.read_text())


def test_count_pass(file):
    count_pass(resource({}), {"state": "NotReady"}, OUTCOME, "1")
    count_pass(resource(READY), READY, Outcome(), "1")
    count_pass(resource({}, "NIMCache"), {}, Outcome(), "1")
    found = read(file)
    assert found["NIMService"].pop("last_success") > 1.7e9
    assert found == {
        "NIMService": {"passes": 2, "unready": 1, "writes": 3, "drift": 0, "forked": 0},
        "NIMCache": {"passes": 1, "unready": 1, "writes": 0, "drift": 0, "forked": 0},
    }
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("status", "drift"),
    [
        pytest.param(READY, 2, id="settled"),
        pytest.param({**READY, "state": "ready"}, 2, id="as ClusterPolicies"),
        pytest.param({**READY, "state": "NotReady"}, 0, id="not ready"),
        pytest.param({**READY, "observedGeneration": 1}, 0, id="new spec"),
        pytest.param({**READY, "operatorVersion": "0"}, 0, id="new operator"),
        pytest.param(None, 0, id="new"),
    ],
)
def test_count_pass_drift(file, status, drift):
    count_pass(resource(status), READY, OUTCOME, "1")
    assert read(file)["NIMService"]["drift"] == drift


def test_count_pass_gauges(file):
    count_pass(resource({}), {}, Outcome(), "1", {"upgrades_available": 3})
    count_pass(resource({}), {}, Outcome(), "1", {"upgrades_available": 0})
    assert read(file)["NIMService"]["upgrades_available"] == 0
    count_pass(resource({}), {}, Outcome(), "1")
    assert read(file)["NIMService"]["upgrades_available"] == 0


def test_count_pass_forked(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "ansible_prefork", types.ModuleType("ansible_prefork"))
    count_pass(resource({}), {}, OUTCOME, "1")
    assert read(file)["NIMService"]["forked"] == 1


def test_count_pass_outside_operator(monkeypatch, tmp_path):
    monkeypatch.delenv(FILE_VARIABLE, raising=False)
    count_pass(resource({}), {}, OUTCOME, "1")
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "missing/counters.json"))
    count_pass(resource({}), {}, OUTCOME, "1")


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 20_000, '{"NIMService": 1}', "7" * 70_000])
def test_count_pass_unusable_file(file, text):
    file.write_text(text)
    count_pass(resource({}), {}, OUTCOME, "1")
    assert read(file)["NIMService"]["passes"] == 1


def _count_many():
    for _number in range(50):
        count_pass(resource({}), {}, OUTCOME, "1")


def test_count_pass_parallel(file):
    workers = [multiprocessing.get_context("fork").Process(target=_count_many) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert read(file)["NIMService"]["passes"] == 200
