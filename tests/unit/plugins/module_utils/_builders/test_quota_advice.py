# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Advice after refusals; the messages are those of Kubernetes 1.37."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.quota_advice import (
    quota_advice,
)

EXCEEDED = (
    'pods "llm-5d-x" is forbidden: exceeded quota: tenant, requested: {0}, used: {0}, limited: {0}'
)


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (
            EXCEEDED.format("requests.nvidia.com/gpu=1"),
            " (change spec.resources.requests[nvidia.com/gpu] or spec.replicas, or ask for a larger"
            " quota)",
        ),
        (
            EXCEEDED.format("limits.memory=8Gi,pods=1"),
            " (change spec.resources.limits[memory] or spec.replicas, or ask for a larger quota)",
        ),
        (EXCEEDED.format("pods=1"), " (change spec.replicas, or ask for a larger quota)"),
        (
            EXCEEDED.format("gpu.nvidia.com.deviceclass.resource.k8s.io/devices=2"),
            " (change spec.draResources, or ask for a larger quota)",
        ),
        (
            EXCEEDED.format("gold.storageclass.storage.k8s.io/requests.storage=2Gi"),
            " (change spec.storage.pvc.size, or ask for a larger quota)",
        ),
        (
            EXCEEDED.format("services.loadbalancers=1"),
            " (change spec.expose.service.type, or ask for a larger quota)",
        ),
        (EXCEEDED.format("count/widgets.example.com=1"), ""),
        (
            'pods "a" is forbidden: failed quota: tenant: must specify limits.cpu for: llm-ctr;'
            " requests.memory for: llm-ctr,side",
            " (set spec.resources.limits[cpu] and spec.resources.requests[memory])",
        ),
        (
            'pods "a" is forbidden: [maximum memory usage per Container is 4Gi, but limit is 8Gi,'
            " minimum cpu usage per Pod is 1, but request is 100m]",
            " (lower spec.resources[memory] and raise spec.resources[cpu])",
        ),
        ('pods "a" is forbidden: violates PodSecurity', ""),
        ("", ""),
    ],
)
def test_quota_advice(message: str, advice: str) -> None:
    assert quota_advice(message) == advice


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (
            EXCEEDED.format("limits.memory=8Gi,requests.cpu=2,pods=1"),
            " (change spec.resources.memory or spec.resources.cpu, or ask for a larger quota)",
        ),
        (EXCEEDED.format("pods=1"), ""),
        (
            'pods "a" is forbidden: minimum cpu usage per Container is 100m, but request is 0',
            " (raise spec.resources.cpu)",
        ),
        (
            'pods "a" is forbidden: failed quota: tenant: must specify memory for: nim-cache',
            " (set spec.resources.memory)",
        ),
    ],
)
def test_quota_advice_of_download(message: str, advice: str) -> None:
    assert quota_advice(message, of_download=True) == advice


def test_quota_advice_is_bounded() -> None:
    names = ",".join(f"requests.example.com/r{number}=1" for number in range(5000))
    assert len(quota_advice(EXCEEDED.format(names))) < 3000
    assert quota_advice("maximum " * 100_000) == ""
