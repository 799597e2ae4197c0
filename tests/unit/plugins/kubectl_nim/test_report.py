# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The verb `report`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path

NIM = json.loads((Path(__file__).resolve().parents[3] / "nimservice.json").read_text())


@pytest.fixture
def service(cluster):
    cluster.put(api_path("NIMService", "nim", "llm"), NIM)


def test_file(nim, service, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = nim("report", "-n", "nim", "--no-plan")
    assert (done.code, done.out) == (0, "nim-report.html\n")
    assert done.err == "1 custom resources in nim\n0 nodes, 0 pods\n"
    assert "namespace nim" in (tmp_path / "nim-report.html").read_text()


def test_stdout(nim, service):
    done = nim("report", "-A", "-o", "-")
    assert done.code == 0
    assert done.out.startswith("<!DOCTYPE html>\n")
    assert done.out.endswith("</html>\n")
    assert "all namespaces" in done.out
    assert "planning the next reconcile" in done.err


def test_folder(nim, tmp_path):
    done = nim("report", "-o", str(tmp_path))
    assert (done.code, done.out) == (1, "")
    assert done.err == f"error: --output: {tmp_path}: is a folder; name a file\n"


def test_unreachable(nim, service, monkeypatch, tmp_path):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    done = nim("report", "-o", "-")
    assert (done.code, done.out) == (3, "")


def test_nothing_may_be_listed(nim, monkeypatch):
    from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError

    def refuse(*_arguments, **_query):
        raise ApiError(403, "nimservices is forbidden")

    monkeypatch.setattr(Client, "list_objects", refuse)
    done = nim("report", "-o", "-")
    assert (done.code, done.out) == (1, "")
    assert "nimservices is forbidden: ask an administrator" in done.err
