# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._gpu.stack import Stack, parse_stack


def test_parse_stack_defaults():
    assert parse_stack({}) == Stack(uses_driver_resources=False, has_sandboxes=False, root="")


def test_parse_stack():
    spec = {
        "driver": {"useNvidiaDriverCRD": True},
        "sandboxWorkloads": {"enabled": True},
        "hostPaths": {"rootFS": "/host"},
    }
    assert parse_stack(spec) == Stack(uses_driver_resources=True, has_sandboxes=True, root="/host")
