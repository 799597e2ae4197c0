# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t
from dataclasses import replace

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.spec import PickerSpec, Spec


def router(**fields: t.Any) -> dict[str, t.Any]:
    return {"expose": {"router": {"hostDomainName": "example.com", **fields}}}


@pytest.mark.parametrize(
    ("predicate", "spec", "wanted"),
    [
        pytest.param("is_autoscaled", {"scale": {"hpa": {"minReplicas": 1}}}, False, id="no scale"),
        pytest.param("is_autoscaled", {"scale": {"enabled": True}}, True, id="scale"),
        pytest.param("is_monitored", {"metrics": {"serviceMonitor": {}}}, False, id="no metrics"),
        pytest.param("is_monitored", {"metrics": {"enabled": True}}, True, id="metrics"),
        pytest.param("creates_pvc", {"storage": {"pvc": {"name": "x"}}}, False, id="own claim"),
        pytest.param("creates_pvc", {"storage": {"pvc": {"create": True}}}, True, id="claim"),
        pytest.param(
            "creates_pvc",
            {"storage": {"pvc": {"create": True}, "nimCache": {"name": "c"}}},
            False,
            id="a cache comes before the claim",
        ),
        pytest.param(
            "is_multi_node", {"multiNode": {"parallelism": {"tensor": 8}}}, False, id="one stage"
        ),
        pytest.param(
            "is_multi_node", {"multiNode": {"parallelism": {"pipeline": 1}}}, False, id="pipeline 1"
        ),
        pytest.param(
            "is_multi_node", {"multiNode": {"parallelism": {"pipeline": 2}}}, True, id="pipeline 2"
        ),
    ],
)
def test_predicate(make: t.Any, predicate: str, spec: dict[str, t.Any], wanted: bool) -> None:
    assert getattr(Spec(make.cr(spec)["spec"]), predicate) is wanted


@pytest.mark.parametrize("expose", [None, {}, {"service": None, "router": None}])
def test_expose_is_optional(make: t.Any, expose: t.Any) -> None:
    found = Spec(make.cr({"expose": expose})["spec"])
    assert (found.expose.ports, found.expose.kinds, found.picker.is_wanted) == (
        {"api": 8000},
        (),
        False,
    )


PICKER = {
    "containerSpec": {
        "image": {"repository": "r"},
        "command": ["c"],
        "args": ["a"],
        "workingDir": "/w",
        "env": [{"name": "A"}],
    },
    "livenessProbe": {"periodSeconds": 1},
    "readinessProbe": {"periodSeconds": 2},
    "startupProbe": {"periodSeconds": 3},
    "ports": [{"containerPort": 1}],
    "configMapRef": {"name": "mine", "key": "k"},
}
NO_PICKER = PickerSpec(False, {}, [], [], "", [], {}, {}, {}, (), None, "", "")


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        pytest.param({}, NO_PICKER, id="none"),
        pytest.param(
            router(eppConfig={"config": {}}),
            replace(NO_PICKER, is_wanted=True, config={}),
            id="an empty configuration",
        ),
        pytest.param(
            router(eppConfig=PICKER),
            PickerSpec(
                is_wanted=True,
                image={"repository": "r"},
                command=["c"],
                args=["a"],
                working_dir="/w",
                env=[{"name": "A"}],
                liveness_probe={"periodSeconds": 1},
                readiness_probe={"periodSeconds": 2},
                startup_probe={"periodSeconds": 3},
                ports=[{"containerPort": 1}],
                config=None,
                config_map="mine",
                config_key="k",
            ),
            id="all",
        ),
        pytest.param(
            router(eppConfig=PICKER) | {"inferencePlatform": "kserve"}, NO_PICKER, id="KServe"
        ),
    ],
)
def test_picker(make: t.Any, spec: t.Any, wanted: PickerSpec) -> None:
    assert Spec(make.cr(spec)["spec"]).picker == wanted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param(None, (1, 1, 0, 300, {}), id="one node"),
        pytest.param({"parallelism": {}}, (1, 1, 0, 300, {}), id="nothing said"),
        pytest.param(
            {"parallelism": {"pipeline": 3, "tensor": 8}, "mpi": {"mpiStartTimeout": 0}},
            (3, 8, 0, 300, {}),
            id="MPI, zero of the reference",
        ),
        pytest.param(
            {"parallelism": {"pipeline": 3}, "mpi": {"mpiStartTimeout": 6000}},
            (3, 1, 0, 6000, {}),
            id="MPI, tensor unset",
        ),
        pytest.param(
            {"parallelism": {"pipeline": 2}, "ray": {}}, (2, 1, 6379, 300, {}), id="Ray by default"
        ),
        pytest.param(
            {"parallelism": {"pipeline": 2}, "ray": {"rayPort": 7000}},
            (2, 1, 7000, 300, {}),
            id="Ray",
        ),
        pytest.param(
            {"parallelism": {"pipeline": 2}, "computeDomain": {"create": True}},
            (2, 1, 0, 300, {"create": True}),
            id="ComputeDomain",
        ),
        pytest.param(
            {"parallelism": {"pipeline": 1}, "computeDomain": {"create": True}},
            (1, 1, 0, 300, {}),
            id="ComputeDomain without effect",
        ),
    ],
)
def test_multi_node_fields(make: t.Any, given: t.Any, wanted: t.Any) -> None:
    cr = make.cr({"multiNode": given})
    found = (
        NIMServiceApp(cr).spec.pipeline_size,
        NIMServiceApp(cr).spec.tensor_size,
        NIMServiceApp(cr).spec.ray_port,
        NIMServiceApp(cr).spec.mpi_seconds,
        NIMServiceApp(cr).spec.compute_domain,
    )
    assert found == wanted
