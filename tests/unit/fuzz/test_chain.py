# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Passes over all that a schema allows: an error of ours, or a valid status."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.loader import stored
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Desired
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from hypothesis import given, settings
from hypothesis import strategies as st
from nimops_fuzz import chain, strategies, trial
from nimops_fuzz.schema import GPU_NAMESPACE, KINDS
from nimops_fuzz.strategies import IN_TESTS
from nimops_harness.runtime import ROOT

CASES = sorted((ROOT / "tests" / "fuzz" / "cases").glob("*.json"))


FEW = settings(IN_TESTS, max_examples=5)
"""`make fuzz` plays a thousand resources of each kind."""


@pytest.mark.parametrize("kind", KINDS)
def test_play_all_kinds(kind: str) -> None:
    @FEW
    @given(st.data())
    def check(data: t.Any) -> None:
        resource = stored(data.draw(strategies.resources(kind)))
        trial.play(resource, data.draw(trial.surroundings(kind)))

    check()


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_replay_cases(file: t.Any) -> None:
    chain.replay(json.loads(file.read_text()))


DRIVER = {
    "apiVersion": "nvidia.com/v1alpha1", "kind": "NVIDIADriver", "spec": {},
    "metadata": {"name": "a", "uid": "u", "resourceVersion": "1"},
}  # fmt: skip
OWNER = "nvidia.com/gpu-operator.driver.owner"


def fail(error: Exception) -> t.Callable[..., t.Any]:
    def effect(*_arguments: t.Any, **_options: t.Any) -> t.Any:
        raise error

    return effect


def plan(way: str, kind: str, **metadata: t.Any) -> t.Callable[..., t.Any]:
    planned = Plan(**{way: [{"kind": kind, "metadata": {"name": "a", **metadata}}]})
    return lambda *_arguments: (Desired(), planned)


PASSES = {
    "own error": ("observe", fail(NimError("spec.image: is odd")), ""),
    "another error": ("observe", fail(KeyError("x")), "KeyError in ?"),
    "not reported": ("report", fail(NimError("x")), "Flaw: an error is not reported"),
    "status": ("find_violations", lambda *_: ["status: is 1"], "Flaw: the API server would refuse"),
    "namespaced": ("plan", plan("apply", "ConfigMap", namespace=GPU_NAMESPACE), ""),
    "cluster-scoped": ("plan", plan("apply", "RuntimeClass"), ""),
    "pod of others": ("plan", plan("evict", "Pod", namespace="b"), ""),
    "label": ("plan", plan("patch", "Node", labels={OWNER: None, "b": "c"}), ""),
    "another namespace": ("plan", plan("apply", "ConfigMap", namespace="b"), "Flaw: ConfigMap a is of another"),
    "no namespace": ("plan", plan("orphan", "DaemonSet"), "Flaw: DaemonSet a is of another"),
    "a namespace": ("plan", plan("apply", "RuntimeClass", namespace="b"), "Flaw: RuntimeClass a is of another"),
    "evicted": ("plan", plan("evict", "Node"), "Flaw: evicted: ['Node']"),
    "long label": ("plan", plan("patch", "Node", labels={"b": "x" * 64}), "Flaw: Node would get the label b=x"),
    "odd label": ("plan", plan("patch", "Node", labels={"b": "c "}), "Flaw: Node would get the label b=c "),
}  # fmt: skip
"""The function of the chain that does something else, what it does, and the finding."""


@pytest.mark.parametrize(("name", "effect", "found"), PASSES.values(), ids=PASSES)
def test_make_pass(monkeypatch: t.Any, name: str, effect: t.Any, found: str) -> None:
    monkeypatch.setattr(steps if hasattr(steps, name) else chain, name, effect)
    if not found:
        chain.make_pass(DRIVER, lambda _read: None)
        return
    with pytest.raises(Exception, match=r".") as caught:
        chain.make_pass(DRIVER, lambda _read: None)
    assert chain.signature(caught.value).startswith(found)
    assert chain.pass_of(caught.value)
