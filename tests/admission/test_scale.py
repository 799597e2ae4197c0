# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The scale subresource of the kinds with replicas, as `kubectl scale` and autoscalers use it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names, kind_of

Manifest = dict[str, Any]
LEAST: Manifest = yaml.safe_load((Path(__file__).parent / "nemo.yaml").read_text())
LEAST["NIMService"] = {
    "image": {"repository": "nvcr.io/nim/some", "tag": "1"},
    "authSecret": "ngc-api-secret",
    "storage": {"emptyDir": {}},
    "expose": {"service": {"port": 8000}},
}
SCALABLE = [name for name in kind_names() if kind_of({"kind": name}).is_scalable]
AUTOSCALED = {"enabled": True, "hpa": {"maxReplicas": 2}}
REFUSED = "spec.replicas cannot be set when spec.scale.enabled is true"


def named(kind: str, name: str, **fields: Any) -> Manifest:
    return {"kind": kind, "metadata": {"name": name}, "spec": LEAST[kind] | fields}


@pytest.fixture(scope="module")
def workloads(cluster: Any) -> Iterator[Any]:
    for kind in SCALABLE:
        for manifest in (
            named(kind, "by-hand", replicas=1),
            named(kind, "without-replicas"),
            named(kind, "autoscaled", scale=AUTOSCALED),
        ):
            assert cluster.create(manifest, dry_run=False) is None
    yield cluster
    cluster.remove_all()


@pytest.mark.parametrize("name", ["by-hand", "without-replicas"])
@pytest.mark.parametrize("kind", SCALABLE)
def test_scale_writes_replicas(workloads: Any, kind: str, name: str) -> None:
    manifest = named(kind, name)
    assert workloads.scale(manifest, 3) is None
    assert workloads.read(manifest)["spec"]["replicas"] == 3
    assert workloads.read_scale(manifest)["spec"] == {"replicas": 3}


@pytest.mark.parametrize("kind", SCALABLE)
def test_scale_of_autoscaled_refused(workloads: Any, kind: str) -> None:
    refusal = workloads.scale(named(kind, "autoscaled"), 3)
    assert refusal, "accepted"
    assert refusal.names("spec.replicas", REFUSED), refusal


@pytest.mark.parametrize("kind", SCALABLE)
def test_scale_to_zero(workloads: Any, kind: str) -> None:
    """A NeMo service keeps at least one replica, as in the CRDs of the reference."""
    refusal = workloads.scale(named(kind, "by-hand"), 0)
    if kind == "NIMService":
        assert refusal is None
    else:
        assert refusal
        assert refusal.names("spec.replicas", "should be greater than or equal to 1"), refusal


@pytest.mark.parametrize("kind", SCALABLE)
def test_scale_reports_status(workloads: Any, kind: str) -> None:
    manifest = named(kind, "by-hand")
    assert workloads.patch_status(manifest, {"replicas": 2, "selector": "app=by-hand"}) is None
    expected = {"replicas": 2, "selector": "app=by-hand"}
    assert workloads.read_scale(manifest)["status"] == expected
