# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The command, on a simulated API server."""

from __future__ import annotations

import stat

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError, NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.gather.redact import MARK
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.command import (
    ReportCommand,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path

SECRET = "S3cr3tW0rd99"


def test_report(write, run, fleet, cluster, tmp_path):
    result, html = write()
    assert run.data == [str(tmp_path / "report.html")]
    assert result | {"bytes": 0} == {
        "changed": True, "path": run.data[0], "bytes": 0, "problems": 1, "missing": [],
    }  # fmt: skip
    assert result["bytes"] == len(html.encode())
    for text in (
        "llm",
        "models-pvc",
        "gpu-a",
        "0 of 8 in use, 8 free",
        "Fix: ",
        "create",
        "v1.34.0",
    ):
        assert text in html
    assert {request.method for request in cluster.server.requests} == {"GET"}
    assert stat.S_IMODE((tmp_path / "report.html").stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".report")] == []
    assert run.messages == [
        "2 custom resources in nim", "1 nodes, 0 pods",
        "planning the next reconcile of 2 custom resources",
    ]  # fmt: skip


def test_credentials_are_redacted(write, run, fleet):
    _result, html = write()
    assert SECRET not in html
    assert "m-(redacted)" in html
    assert f"NGC_API_KEY={MARK} and once more {MARK}" in html
    assert not [text for text in (*run.data, *run.messages) if SECRET in text]


def test_stdout(run, fleet):
    result = run(ReportCommand, path="-")
    assert (result["changed"], result["path"]) == (False, "-")
    (html,) = run.data
    assert html.startswith("<!DOCTYPE html>\n<html lang")


def test_without_plan(write, run, fleet, cluster):
    _result, html = write(plan=False)
    assert "This report has no plan" in html
    assert not [text for text in run.messages if "planning" in text]
    assert not [item for item in cluster.server.requests if item.path.endswith("/services/llm")]


def test_dry_run(run, fleet, cluster, tmp_path):
    result = run(ReportCommand, path=str(tmp_path / "x"), is_dry=True)
    assert result["skipped"]
    assert run.messages == [f"would write {tmp_path}/x"]
    assert cluster.server.requests == []


def test_folder_is_no_file(run, tmp_path):
    with pytest.raises(NimError, match=r"path: .*: is a folder; name a file"):
        run(ReportCommand, path=str(tmp_path))


def test_folder_does_not_exist(run, fleet, tmp_path):
    with pytest.raises(NimError, match=r"path: .*x.html: No such file or directory"):
        run(ReportCommand, path=str(tmp_path / "no/x.html"))


def test_nothing_may_be_listed(run, cluster, denied):
    for path in [item for item in _lists() if "/nim/" in item]:
        cluster.refuse["GET", path] = [denied] * 9
    with pytest.raises(ApiError, match="forbidden"):
        run(ReportCommand, path="-")


def _lists():
    from ansible_collections.nimops.nim.plugins.module_utils._engine.served_kinds import SERVED

    return [api_path(kind, "nim") for kind in SERVED]


def test_unreachable_during_the_plan(run, fleet, cluster, answer):
    cluster.refuse["GET", api_path("Service", "nim", "llm")] = [answer(503, {})] * 99
    result = run(ReportCommand, path="-")
    assert result["missing"][0].startswith("the plan is not shown: ")


def test_gpu_stack(write, fleet, cluster, answer):
    labels = {"nvidia.com/gpu.present": "true"}
    path = api_path("Node", name="gpu-a")
    metadata = {"name": "gpu-a", "labels": labels}
    cluster.put(path, cluster.objects[path] | {"metadata": metadata})
    policy = {"metadata": {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": {}}
    cluster.put(api_path("ClusterPolicy", name="p"), policy)
    _result, html = write(plan=False)
    assert "ClusterPolicy p has no status" in html
    assert "the DaemonSets of the GPU stack, none of which exists" in html


def test_filters_apply(write, run, fleet):
    """The plan has the children as an administrator's filters change them."""
    seen = set()

    def adjust(child, resource):
        seen.add((resource["kind"], child["kind"]))
        return child

    run.find_filters = lambda: adjust
    write()
    assert ("NIMService", "Deployment") in seen
