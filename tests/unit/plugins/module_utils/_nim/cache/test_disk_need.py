# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The comparison of a download with its claim."""

from __future__ import annotations

import pytest

CLAIM, JOB = "PersistentVolumeClaim/nim/llama-pvc", "Job/nim/llama-job"
SIZE = "nimops.nim/model-size"
MANIFEST = """\
schema_version: '2.0'
profiles:
- id: aaaa
  tags: {llm_engine: tensorrt_llm, tp: '1'}
  workspace:
    files:
      a.safetensors: {uri: 'ngc://a', size: %d}
      b.safetensors: {uri: 'ngc://b', size: 1000}
- id: bbbb
  tags: {llm_engine: vllm, tp: '1'}
  workspace: {files: {c: {uri: 'ngc://c', size: 99999999999999}}}
"""


def start(world, log=None, **annotations):
    cluster = world()
    cluster.cr["metadata"]["annotations"] = {f"nimops.nim/{k}": v for k, v in annotations.items()}
    cluster.reconcile()
    cluster.run_pod(log)
    cluster.reconcile()
    return cluster


@pytest.mark.parametrize(
    ("size", "is_enough"), [(50 << 30, False), ((50 << 30) - 1000, True), (0, True)]
)
def test_claim_for_manifest(world, size, is_enough):
    """Profiles that are not selected do not count."""
    cluster = start(world, MANIFEST % size)
    assert (JOB in cluster.objects) is is_enough
    if is_enough:
        return
    status, reason, message = cluster.condition("Stalled")
    assert (status, reason) == ("True", "ClaimTooSmall")
    assert 'PersistentVolumeClaim "llama-pvc" has 50 GiB' in message
    assert "needs 50 GiB according to the manifest of image nvcr.io/nim/meta" in message
    cluster.objects[CLAIM]["status"] = {"capacity": {"storage": "60Gi"}}
    assert JOB in cluster.reconcile().applied


@pytest.mark.parametrize(("size", "starts"), [("60Gi", False), ("40Gi", True), ("0", True)])
def test_claim_for_annotation(world, size, starts):
    cluster = start(world, **{"model-size": size})
    assert (JOB in cluster.objects) is starts
    if not starts:
        assert f"according to the annotation {SIZE}" in cluster.condition("Stalled")[2]


def test_claim_annotation_overrides_manifest(world):
    assert JOB in start(world, MANIFEST % (60 << 30), **{"model-size": "0"}).objects


@pytest.mark.parametrize("size", ["much", "{{ 1 }}", "1" * 500, "-"])
def test_claim_invalid_annotation(world, size):
    cluster = start(world, **{"model-size": size})
    assert cluster.condition("Stalled")[1] == "InvalidAnnotation"
    assert JOB not in cluster.objects


def test_running_download_is_not_judged(world):
    """The check is for a new Job: the one that runs may succeed nevertheless."""
    cluster = start(world)
    cluster.cr["metadata"]["annotations"] = {SIZE: "60Gi"}
    cluster.change(resources={"cpu": "1"})
    cluster.set_job(ready=1)
    cluster.reconcile()
    assert cluster.condition("Stalled") is None


@pytest.mark.parametrize(
    ("capacity", "need", "fits"),
    [("10Gi", "6Gi", False), ("20Gi", "6Gi", True), ("10Gi", "0", True)],
)
def test_renewal_needs_space_for_both(hub, capacity, need, fits):
    cluster = hub()
    cluster.cr["status"]["served"]["bytes"] = 6 << 30
    cluster.objects[CLAIM]["status"] = {"capacity": {"storage": capacity}}
    cluster.cr["metadata"]["annotations"] = {SIZE: need}
    cluster.start_download("v2")
    assert ("Job/nim/llama-renewal" in cluster.objects) is fits
    if not fits:
        status, reason, message = cluster.condition("Renewed")
        assert (status, reason) == ("False", "ClaimTooSmall")
        assert "beside the 6 GiB of the present files" in message
    assert cluster.condition("Ready")[0] == "True"


def test_renewal_assumes_the_size_of_the_served_version(hub):
    cluster = hub()
    cluster.cr["status"]["served"]["bytes"] = 6 << 30
    cluster.objects[CLAIM]["status"] = {"capacity": {"storage": "10Gi"}}
    cluster.start_download("v2")
    assert cluster.condition("Renewed")[1] == "ClaimTooSmall"
