# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import key_of
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import OPERATOR, Observed
from ansible_collections.nimops.nim.plugins.module_utils._gpu.driver.pool import (
    Pool,
    pool_images,
    pool_pod,
    pool_reads,
    why_not_precompiled,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.driver.spec import Driver, Sources
from ansible_collections.nimops.nim.plugins.module_utils._gpu.fields import SpecError
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import OperatingSystem
from ansible_collections.nimops.nim.plugins.module_utils._gpu.operand_spec import OperandSpec

OFF = OperandSpec(is_enabled=False)
DRIVER = Driver(operand=OperandSpec(), manager=OperandSpec(), gds=OFF, gdrcopy=OFF)
POOL = Pool("set", OperatingSystem("ubuntu", "24.04"))
FIELDS = {"modules": "kernelModuleConfig.name", "secret_env": "secretEnv"}
IMAGES = {"DRIVER_MANAGER_IMAGE": "m:1", "GDS_IMAGE": "fs:1", "GDRCOPY_IMAGE": "gdr:1"}
RESOURCE = {
    "apiVersion": "nvidia.com/v1",
    "kind": "ClusterPolicy",
    "metadata": {"name": "x", "namespace": "gpu-operator", "uid": "u"},
    "spec": {},
}


def build(driver=DRIVER, *live, **sources):
    answers = {OPERATOR: {"images": IMAGES}, **{key_of(item): item for item in live}}
    app = App(RESOURCE, Observed(answers))
    given = Sources(fields=FIELDS, **sources)
    driver = replace(driver, sources=given)
    images = pool_images(driver, "d:1", POOL, app.observed)
    return pool_pod(driver, images, POOL, "containerd", app.namespace, app.live)


def digest_of(pod):
    env = pod["containers"][0]["env"]
    return next(item["value"] for item in env if item["name"] == "DRIVER_CONFIG_DIGEST")


def test_pool_pod_digest():
    assert digest_of(build()) == digest_of(build())
    assert digest_of(build()) != digest_of(build(replace(DRIVER, module_type="open")))


def test_pool_pod_live_digest():
    pod = build()
    for container in [*pod["initContainers"], *pod["containers"]]:
        for item in container["env"]:
            if item["name"] == "DRIVER_CONFIG_DIGEST":
                item["value"] = "of-another-release"
    metadata = {"name": "set", "namespace": "gpu-operator"}
    live = {"kind": "DaemonSet", "metadata": metadata, "spec": {"template": {"spec": pod}}}
    assert digest_of(build(DRIVER, live)) == "of-another-release"


def test_pool_pod_missing_objects():
    driver = replace(DRIVER, secret_env="s")
    with pytest.raises(
        NimError, match=r'^secretEnv: could not get Secret s from client: Secret "s"'
    ):
        build(driver)
    secret = {"kind": "Secret", "metadata": {"name": "s", "namespace": "gpu-operator"}}
    assert build(driver, secret)["containers"][0]["envFrom"] == [{"secretRef": {"name": "s"}}]
    assert build(replace(driver, is_precompiled=True)), "a precompiled driver does not use it"
    with pytest.raises(NimError, match=r"^kernelModuleConfig\.name: could not get ConfigMap m"):
        build(modules="m")


@pytest.mark.parametrize(
    ("field", "what"), [("gds", "GPUDirect Storage driver (nvidia-fs)"), ("gdrcopy", "GDRCopy")]
)
def test_why_not_precompiled(field, what):
    driver = replace(DRIVER, **{field: OperandSpec()})
    assert why_not_precompiled(driver) == (
        f"{what} is not supported along with pre-compiled NVIDIA drivers"
    )
    assert why_not_precompiled(DRIVER) == ""


def test_pool_images_side_containers():
    pod = build(replace(DRIVER, gds=OperandSpec(), gdrcopy=OperandSpec(image="mine@sha256:1")))
    assert [item["image"] for item in [*pod["initContainers"], *pod["containers"]]] == [
        "m:1",
        "d:1",
        "fs:1-ubuntu24.04",
        "mine@sha256:1",
    ]


def test_pool_reads():
    assert pool_reads(DRIVER, "gpu") == []
    sources = Sources(modules="m", certificates="c", topology="t")
    found = pool_reads(replace(DRIVER, secret_env="s", sources=sources), "gpu")
    assert [(read.kind, read.namespace, read.name) for read in found] == [
        ("ConfigMap", "gpu", "m"),
        ("ConfigMap", "gpu", "c"),
        ("Secret", "gpu", "s"),
    ]


GDRCOPY = {"repository": "r.test", "image": "gdrdrv", "version": "v2.6"}


@pytest.mark.parametrize(
    ("gdrcopy", "kernel", "expected"),
    [
        pytest.param(GDRCOPY, "6.8.0-60-generic", "r.test/gdrdrv:v2.6-6.8.0-60-generic", id="used"),
        pytest.param({}, "6.8.0-60-generic", "set gdrcopy.repository, gdrcopy", id="no image"),
        pytest.param(
            {**GDRCOPY, "version": "sha256:1"}, "6.8", "gdrcopy.version: sha256:1 is", id="digest"
        ),
        pytest.param(GDRCOPY, "", "set usePrecompiled of the driver", id="compiled driver"),
    ],
)
def test_pool_images_precompiled_gdrcopy(make_app, gdrcopy, kernel, expected):
    driver = replace(DRIVER, gdrcopy=OperandSpec(**gdrcopy), has_precompiled_gdrcopy=True)
    pool = replace(POOL, kernel=kernel)
    try:
        found = pool_images(driver, "d:1", pool, make_app().observed).gdrcopy
    except SpecError as error:
        found = str(error)
    assert expected in found


def test_why_not_precompiled_gdrcopy():
    driver = replace(DRIVER, gdrcopy=OperandSpec())
    assert why_not_precompiled(driver).startswith("GDRCopy is not supported")
    assert why_not_precompiled(replace(driver, has_precompiled_gdrcopy=True)) == ""
    both = replace(driver, gds=OperandSpec(), has_precompiled_gdrcopy=True)
    assert why_not_precompiled(both).startswith("GPUDirect Storage")
