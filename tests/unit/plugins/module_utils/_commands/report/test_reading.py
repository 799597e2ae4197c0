# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A report leaves out what may not be read, and says so."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path


def test_claims_of_extended_resources_are_read(write, fleet, cluster):
    path = "/apis/resource.k8s.io/v1/resourceslices"
    device = {"name": "gpu-0", "attributes": {"type": {"string": "gpu"}}}
    spec = {
        "driver": "gpu.nvidia.com",
        "pool": {"name": "gpu-a"},
        "nodeName": "gpu-a",
        "devices": [device],
    }
    cluster.put(f"{path}/s", {"metadata": {"name": "s"}, "spec": spec})
    cluster.kinds["ResourceSlice"] = ("resource.k8s.io/v1", "resourceslices")
    result = {"driver": "gpu.nvidia.com", "pool": "gpu-a", "device": "gpu-0"}
    status = {"allocation": {"devices": {"results": [result]}}}
    metadata = {"name": "hidden", "namespace": "nim"}
    cluster.put(
        api_path("ResourceClaim", "nim", "hidden"), {"metadata": metadata, "status": status}
    )
    _result, html = write(plan=False)
    assert "ResourceClaim nim/hidden: 1" in html


DENIED = {
    "nodes": (api_path("Node"), "GPUs are not shown: "),
    "slices": ("/apis/resource.k8s.io/v1/resourceslices", "DRA devices are not shown: "),
    "claims": (api_path("PersistentVolumeClaim", "nim"), "volumes are not shown: "),
    "workloads": (api_path("Deployment", "nim"), "you may not list Deployment, so replicas"),
    "caches": (api_path("NIMCache", "nim"), "you may not list NIMCache, so they are left out"),
    "plan": (api_path("Service", "nim", "llm"), "the plan is not shown: "),
}


@pytest.mark.parametrize(("path", "note"), DENIED.values(), ids=DENIED)
def test_denied_reads_are_noted(write, run, fleet, cluster, denied, path, note):
    cluster.refuse["GET", path] = [denied] * 9
    result, html = write()
    assert [text for text in result["missing"] if text.startswith(note)], result["missing"]
    assert note in html
    assert set(result["missing"]) <= set(run.messages)


def test_invalid_policy_is_noted(write, fleet, monkeypatch):
    """A refusal by our own code is a note as well."""
    from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
    from ansible_collections.nimops.nim.plugins.module_utils._commands.report import reading

    def refuse(*_arguments):
        raise NimError("spec.driver: is invalid")

    monkeypatch.setattr(reading, "_read_stack", refuse)
    result, html = write(plan=False)
    assert result["missing"] == ["states of the GPU stack are not shown: spec.driver: is invalid"]
    assert "0 of 8 in use, 8 free" in html
