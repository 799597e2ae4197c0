# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_store import Store
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.pod.volumes import (
    build_init_mounts,
    build_main_mounts,
    build_volumes,
)

CERT = {"proxy": {"certConfigMap": "ca"}}
USER = [{"name": "u", "image": {"repository": "r", "tag": "1"}}]
SHM = "dshm:/dev/shm"
STORE = Store({"emptyDir": {}}, sub_path="s")


def format_mounts(mounts):
    return [
        ":".join(filter(None, (item["name"], item["mountPath"], item.get("subPath"))))
        for item in mounts
    ]


MOUNTS = {
    "legacy": (
        {}, False, ["dshm", "model-store"], ["model-store:/model-store:s", SHM],
        ["model-store:/model-store:s"],
    ),
    "native": (
        {}, True, ["dshm", "model-store"],
        ["model-store:/model:s", "model-store:/opt/cache:s", SHM],
        ["model-store:/model:s", "model-store:/opt/cache:s"],
    ),
    "init container": (
        {"initContainers": USER}, False, ["dshm", "scratch", "model-store"],
        ["model-store:/model-store:s", SHM, "scratch:/scratch"],
        ["model-store:/model-store:s", "scratch:/scratch"],
    ),
    "sidecar": (
        {"sidecarContainers": USER}, False, ["dshm", "scratch", "model-store"],
        ["model-store:/model-store:s", SHM, "scratch:/scratch"],
        ["model-store:/model-store:s", "scratch:/scratch"],
    ),
    "certificates need no scratch": (
        CERT, False, ["dshm", "model-store", "ca-cert-volume", "custom-ca"],
        ["model-store:/model-store:s", SHM, "ca-cert-volume:/etc/ssl"],
        ["model-store:/model-store:s", "ca-cert-volume:/ca-certs", "custom-ca:/custom"],
    ),
    "certificates and one init container": (
        CERT | {"initContainers": USER}, False,
        ["dshm", "scratch", "model-store", "ca-cert-volume", "custom-ca"],
        ["model-store:/model-store:s", SHM, "scratch:/scratch", "ca-cert-volume:/etc/ssl"],
        [
            "model-store:/model-store:s",
            "scratch:/scratch",
            "ca-cert-volume:/ca-certs",
            "custom-ca:/custom",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "native", "volumes", "main", "init"),
    MOUNTS.values(),
    ids=MOUNTS,
)
def test_build_volumes_and_mounts(make, spec, native, volumes, main, init):
    cr = make.cr(spec)
    assert [item["name"] for item in build_volumes(make.app(cr), STORE)] == volumes
    assert format_mounts(build_main_mounts(make.app(cr), STORE, native=native)) == main
    assert format_mounts(build_init_mounts(make.app(cr), STORE, native=native)) == init


def test_build_volumes_shared_memory_limit(make):
    cr = make.cr({"storage": {"emptyDir": {}, "sharedMemorySizeLimit": "8Gi"}})
    assert build_volumes(make.app(cr), STORE)[0]["emptyDir"] == {
        "medium": "Memory",
        "sizeLimit": "8Gi",
    }
