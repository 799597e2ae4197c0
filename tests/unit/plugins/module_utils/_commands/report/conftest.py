# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reports of any size."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.collect import (
    collect_resources,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.command import (
    ReportCommand,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.model import (
    Cache,
    Change,
    GraphNode,
    NodeUse,
    Pipeline,
    Plan,
    Pool,
    Report,
    Trouble,
    Use,
    Volume,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.status.status_table import Line
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path

SECRET = "S3cr3tW0rd99"
NODE = {
    "metadata": {"name": "gpu-a"},
    "status": {"allocatable": {"nvidia.com/gpu": "8"}, "capacity": {"nvidia.com/gpu": "8"}},
}


def line(number=0, text="x", **fields):
    values = {
        "namespace": f"{text}-{number % 20}", "kind": "NIMService", "name": f"{text}{number}",
        "state": "NotReady", "reason": text, "message": f"Pod {text}: Unschedulable: 0/3 nodes",
        "model": text, "endpoint": text, "available": 0, "replicas": 1, "gpus": 2, "claims": 0,
        "age": 5000,
    }  # fmt: skip
    return Line(**values | fields)


def report(text="x", *, size=1, lines=None):
    """A report with this text in each field that a cluster fills, and ``size`` of each part."""
    numbers = range(size)
    plugin = Pool("nvidia.com/gpu", "device plugin", 8, 1, (Use(text, 4), Use(f"{text}2", 2)), text)
    mig = Pool("nvidia.com/mig-1g.10gb", "device plugin", 7, 0, (Use(text, 1),))
    nodes = (
        GraphNode("NIMService", text, "Ready"),
        GraphNode("NIMCache", f"{text}-cache", "Failed"),
        GraphNode("NIMService", f"{text}-off", "Off"),
    )
    trouble = Trouble(text, text, text, text)
    return Report(
        namespace=text,
        created="2026-01-02T03:04:05+00:00",
        versions=(("nimops.nim", text),),
        resources=collect_resources(lines or [line(number, text) for number in numbers]),
        nodes=tuple(
            NodeUse(f"{text}{number}", text, text, (plugin, mig), (trouble,), (text,))
            for number in numbers
        ),
        faults=(text,),
        caches=tuple(Cache(text, text, text, text, 2, text, (text,)) for _ in numbers),
        volumes=tuple(Volume(text, text, text, text, text, text, (text,)) for _ in numbers),
        pipelines=tuple(
            Pipeline(text, f"{text}{number}", text, nodes, ((0, 1), (2, 0))) for number in numbers
        ),
        plan=Plan(
            text,
            tuple(
                Change("change", f"{text}{number}", text, f"-{text}\n+{text}\n {text}", True)
                for number in numbers
            ),
            ((text, text),),
            1,
        ),
        notes=(text,),
    )


@pytest.fixture
def make_line():
    return line


@pytest.fixture
def make_report():
    return report


@pytest.fixture
def fleet(cluster, make_service, make_cache):
    """A NIMService that repeats a credential of its spec in its status, and a node."""
    condition = {
        "type": "Failed", "status": "True", "reason": "DeploymentFailed",
        "message": f"denied: NGC_API_KEY={SECRET} and once more {SECRET}",
    }  # fmt: skip
    service = make_service(
        env=[{"name": "NGC_API_KEY", "value": SECRET}],
        storage={"nimCache": {"name": "models"}},
    ) | {"status": {"state": "Failed", "conditions": [condition], "model": {"name": f"m-{SECRET}"}}}
    service["metadata"]["annotations"] = {"example.com/token": SECRET}
    cluster.put(api_path("NIMService", "nim", "llm"), service)
    ready = {"state": "Ready", "pvc": "models-pvc"}
    cluster.put(api_path("NIMCache", "nim", "models"), make_cache() | {"status": ready})
    cluster.put(api_path("Node", name="gpu-a"), NODE)


@pytest.fixture
def write(run, tmp_path):
    """Write a report; the result, and the text of the file."""

    def call(**arguments):
        file = tmp_path / "report.html"
        result = run(ReportCommand, path=str(file), **arguments)
        return result, file.read_text()

    return call
