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
from hypothesis import given
from hypothesis import strategies as st
from nimops_fuzz import chain, trial
from nimops_fuzz.draws import IN_TESTS
from nimops_fuzz.schema import GPU_NAMESPACE, KINDS
from nimops_harness.runtime import ROOT

CASES = sorted((ROOT / "tests" / "fuzz" / "cases").glob("*.json"))


@pytest.mark.parametrize("kind", KINDS)
def test_play_all_kinds(kind: str) -> None:
    @IN_TESTS
    @given(st.data())
    def check(data: t.Any) -> None:
        made = data.draw(trial.trials(kind))
        trial.play(trial.Trial(stored(made.resource), made.neighbors, made.number))

    check()


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_replay_cases(file: t.Any) -> None:
    chain.replay(json.loads(file.read_text()))


SERVICE = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMService",
    "metadata": {"name": "llm", "namespace": "nimops-fuzz", "uid": "u", "resourceVersion": "1"},
    "spec": {
        "image": {"repository": "r", "tag": "1"},
        "authSecret": "s",
        "storage": {"emptyDir": {}},
        "expose": {"service": {"port": 8000}},
    },
}


def one_pass(monkeypatch: t.Any, name: str, effect: t.Any) -> None:
    """A pass in which a function of the chain does something else."""
    monkeypatch.setattr(steps if hasattr(steps, name) else chain, name, effect)
    chain.make_pass(t.cast(dict[str, t.Any], SERVICE), lambda _read: None)


def fail(error: Exception) -> t.Callable[..., t.Any]:
    def effect(*_arguments: t.Any, **_options: t.Any) -> t.Any:
        raise error

    return effect


def test_make_pass_own_error(monkeypatch: t.Any) -> None:
    one_pass(monkeypatch, "observe", fail(NimError("spec.image: is odd")))


@pytest.mark.parametrize(
    ("name", "effect", "found"),
    [
        pytest.param("observe", fail(KeyError("x")), "KeyError in ?", id="any other error"),
        pytest.param("report", fail(NimError("x")), "Flaw: an error is not reported", id="an error that is not reported"),
        pytest.param(
            "find_violations", lambda *_: ["status.state: is 1"], "Flaw: the API server would", id="status"
        ),
    ],
)  # fmt: skip
def test_make_pass_findings(monkeypatch: t.Any, name: str, effect: t.Any, found: str) -> None:
    with pytest.raises(Exception, match=r".") as caught:
        one_pass(monkeypatch, name, effect)
    assert chain.signature(caught.value).startswith(found)
    assert chain.pass_of(caught.value)


def test_reduce(monkeypatch: t.Any) -> None:
    def observe(_kind: t.Any, resource: t.Any, _cluster: t.Any) -> t.Any:
        if "spec" not in resource:
            raise ValueError("another error")
        return dict(resource["spec"]["a"]["b"])

    monkeypatch.setattr(steps, "observe", observe)
    resource = SERVICE | {"spec": SERVICE["spec"] | {"other": 1, "a": {"c": [1, 2]}}}  # type: ignore[operator]
    case = {"why": "", "resource": resource, "answers": {}}
    smaller = trial.reduce(case, "KeyError in ?", seconds=5)
    assert smaller["resource"]["spec"] == {"a": {}} or "a" not in smaller["resource"]["spec"]


OWNER = "nvidia.com/gpu-operator.driver.owner"


def entry(kind: str, **metadata: t.Any) -> dict[str, t.Any]:
    return {"kind": kind, "metadata": {"name": "a", **metadata}}


@pytest.mark.parametrize(
    ("way", "item", "flaw"),
    [
        ("apply", entry("ConfigMap", namespace=GPU_NAMESPACE), ""),
        ("apply", entry("RuntimeClass"), ""),
        ("evict", entry("Pod", namespace="another"), ""),
        ("patch", entry("Node", labels={OWNER: None, "b": "c"}), ""),
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
        chain.make_pass(driver, lambda _read: None)

    if not flaw:
        return go()
    with pytest.raises(chain.FlawError) as caught:
        go()
    assert str(caught.value.args[0]).startswith(flaw)
    return None
