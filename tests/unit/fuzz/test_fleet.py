# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The nodes of the simulated cluster, and plans that are findings."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Desired
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from nimops_fuzz import chain
from nimops_fuzz.schema import GPU_NAMESPACE

LABEL = "nvidia.com/gpu-operator.driver.owner"


def entry(kind: str, **metadata: t.Any) -> dict[str, t.Any]:
    return {"kind": kind, "metadata": {"name": "a", **metadata}}


@pytest.mark.parametrize(
    ("way", "item", "flaw"),
    [
        ("apply", entry("ConfigMap", namespace=GPU_NAMESPACE), ""),
        ("apply", entry("RuntimeClass"), ""),
        ("evict", entry("Pod", namespace="another"), ""),
        ("patch", entry("Node", labels={LABEL: None, "b": "c"}), ""),
        ("apply", entry("ConfigMap", namespace="another"), "ConfigMap a is of another namespace"),
        ("orphan", entry("DaemonSet"), "DaemonSet a is of another namespace"),
        ("apply", entry("RuntimeClass", namespace="b"), "RuntimeClass a is of another namespace"),
        ("evict", entry("Node"), "evicted: ['Node']"),
        ("patch", entry("Node", labels={"b": "x" * 64}), "Node would get the label b=x"),
        ("patch", entry("Node", labels={"b": "c "}), "Node would get the label b=c "),
    ],
)
def test_make_pass_cluster_scoped(monkeypatch: t.Any, way: str, item: t.Any, flaw: str) -> None:
    driver = {
        "apiVersion": "nvidia.com/v1alpha1", "kind": "NVIDIADriver", "spec": {},
        "metadata": {"name": "a", "uid": "u", "resourceVersion": "1"},
    }  # fmt: skip
    planned = Desired(), Plan(**{way: [item]})
    monkeypatch.setattr(steps, "plan", lambda *_arguments: planned)

    def go() -> None:
        chain.make_pass(driver, lambda _read: None, lambda _plan: ({}, {}))

    if not flaw:
        return go()
    with pytest.raises(chain.FlawError) as caught:
        go()
    assert str(caught.value.args[0]).startswith(flaw)
    return None
