# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.operands.dcgm import (
    ADDRESS,
    OPERAND,
)


def test_dcgm_service_local(gpu):
    service = gpu.children(OPERAND, gpu.app({}))["Service", "nvidia-dcgm"]
    assert service["spec"]["internalTrafficPolicy"] == "Local"
    assert service["spec"]["ports"][0]["port"] == 5555
    assert ADDRESS == "nvidia-dcgm:5555"


def test_dcgm_settings(gpu):
    dcgm = {
        "image": "r.test/d:1",
        "imagePullSecrets": ["s"],
        "env": [{"name": "A", "value": "1"}],
        "args": ["x"],
        "hostNetwork": True,
    }
    pod = gpu.pod(OPERAND, gpu.app({"dcgm": dcgm, "validator": {"imagePullSecrets": ["v"]}}))
    main = gpu.container(pod, "nvidia-dcgm-ctr")
    assert (main["image"], main["args"], gpu.env(main)) == ("r.test/d:1", ["x"], {"A": "1"})
    assert pod["imagePullSecrets"] == [{"name": "v"}, {"name": "s"}]
    assert pod["hostNetwork"] is True
    assert main["livenessProbe"]["tcpSocket"] == {"port": 5555}


def test_dcgm_disabled(gpu):
    assert not OPERAND.is_enabled(gpu.app({"dcgm": {"enabled": False}}).spec)
