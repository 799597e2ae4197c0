# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.images.images import (
    images_of,
    is_pulled_by_operator,
    named_images,
    stack_images,
    workload_images,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.images import IMAGES


def test_stack_images() -> None:
    found = stack_images(["ubuntu22.04", "rhel9"])
    assert list(found) == sorted(found)
    drivers = [image for image, users in found.items() if users == ["DRIVER_IMAGE"]]
    assert drivers == [f"{IMAGES['DRIVER_IMAGE']}-{system}" for system in ("rhel9", "ubuntu22.04")]
    assert found[IMAGES["GFD_IMAGE"]] == ["DEVICE_PLUGIN_IMAGE", "GFD_IMAGE"]
    assert {user for users in found.values() for user in users} == set(IMAGES)


def test_images_of() -> None:
    pod = {"initContainers": [{"image": "b"}], "containers": [{"image": "a"}, {"image": "b"}]}
    objects = [
        {"kind": "DaemonSet", "metadata": {"name": "y"}, "spec": {"template": {"spec": pod}}},
        {"kind": "Deployment", "metadata": {"name": "x"}, "spec": {"template": {"spec": pod}}},
        {"kind": "ConfigMap", "metadata": {"name": "z"}, "data": {"image": {}}},
    ]
    users = ["DaemonSet y", "Deployment x"]
    assert images_of(objects) == {"a": users, "b": users}


def test_workload_images() -> None:
    """Images of the operator, and of its variables; not those of other objects."""
    variables = [
        {"name": "NIMOPS_WAIT_IMAGE", "value": "wait:1"},
        {"name": "EMPTY_IMAGE", "value": ""},
        {"name": "OTHER", "value": "x:1"},
        {"name": "DRIVER_IMAGE", "valueFrom": {}},
    ]
    pod = {"containers": [{"name": "c", "image": "operator:1", "env": variables}]}
    spec = {"template": {"spec": pod}}
    objects = [
        {"kind": "Deployment", "metadata": {"name": "x"}, "spec": spec},
        {"kind": "CronJob", "metadata": {"name": "y"}, "spec": {"jobTemplate": {"spec": spec}}},
        {"kind": "NIMService", "metadata": {"name": "z"}, "spec": {"image": "no"}},
    ]
    users = ["CronJob y", "Deployment x"]
    assert workload_images(objects) == {"operator:1": users, "wait:1": users}


@pytest.mark.parametrize(
    ("kind", "annotations", "expected"),
    [
        ("NIMCache", {"nimops.nim/source": "oci://r.example/a:1"}, True),
        ("NIMCache", {}, False),
        ("NIMCache", None, False),
        ("NIMService", {"nimops.nim/source": "oci://r.example/a:1"}, False),
    ],
)
def test_is_pulled_by_operator(kind: str, annotations: t.Any, expected: bool) -> None:
    assert (
        is_pulled_by_operator({"kind": kind, "metadata": {"annotations": annotations}}) is expected
    )


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        pytest.param({"image": {"repository": "r/i", "tag": "1"}}, ["r/i:1"], id="parts"),
        pytest.param({"a": [{"b": {"repository": "r", "tag": "2"}}]}, ["r:2"], id="deep"),
        pytest.param({"source": {"ngc": {"modelPuller": "r/p:1"}}}, ["r/p:1"], id="puller"),
        pytest.param({"evaluationImages": {"rag": "r/e:1"}}, ["r/e:1"], id="of jobs"),
        pytest.param(
            {"driver": {"repository": "r", "image": "i", "version": "1"}}, [], id="of a policy"
        ),
        pytest.param(None, [], id="none"),
    ],
)
def test_named_images(spec: t.Any, wanted: list[str]) -> None:
    assert list(named_images({"spec": spec})) == wanted
