# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy
import itertools
import random
import re
import time

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.list_order import keep_order


def env(**values):
    return [{"name": name, "value": value} for name, value in values.items()]


A, B, C, D = env(A="1", B="2", C="3", D="4")
USES_A = {"name": "U", "value": "x-$(A)"}
ESCAPED = {"name": "U", "value": "x-$$(A)"}
MOUNTS = [{"name": "m", "mountPath": "/a"}, {"name": "m", "mountPath": "/b"}]
PORTS = [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]
GPU, SPOT = {"key": "gpu", "operator": "Exists"}, {"key": "spot", "tolerationSeconds": 5}

CASES = [
    pytest.param("env", [A, B, C], [C, A, B], [C, A, B], id="the same variables"),
    pytest.param("env", [A, B, C], [B, A], [B, A, C], id="one is new"),
    pytest.param("env", [D, A, B], [B, A], [D, B, A], id="a new one keeps its position"),
    pytest.param("env", [A, B], [B, C, A], [B, A], id="one goes"),
    pytest.param("env", [A | {"value": "9"}, B], [B, A], [B, A | {"value": "9"}], id="a new value"),
    pytest.param("env", [A, USES_A], [USES_A, A], [A, USES_A], id="$(A) needs A before it"),
    pytest.param("env", [USES_A, A], [A, USES_A], [USES_A, A], id="$(A) is text without A"),
    pytest.param("env", [A, B, USES_A], [B, A, USES_A], [B, A, USES_A], id="$(A) means the same"),
    pytest.param("env", [A, ESCAPED], [ESCAPED, A], [ESCAPED, A], id="$$(A) is not a reference"),
    pytest.param("env", [A, A], [A, B], [A, A], id="duplicates are others' task"),
    pytest.param("env", [A, B], ["x", 1, None], [A, B], id="a live list of anything"),
    pytest.param("env", [A, {}], [B, A], [A, {}], id="a variable without a name"),
    pytest.param("volumeMounts", MOUNTS, MOUNTS[::-1], MOUNTS[::-1], id="mounts"),
    pytest.param("ports", PORTS, PORTS[::-1], PORTS[::-1], id="ports of two protocols"),
    pytest.param("tolerations", [GPU, SPOT], [SPOT, GPU], [SPOT, GPU], id="tolerations"),
    pytest.param(
        "imagePullSecrets",
        [{"name": "a"}, {"name": "b"}],
        [{"name": "b"}, {"name": "a"}],
        [{"name": "b"}, {"name": "a"}],
        id="pull secrets",
    ),
    pytest.param("drop", ["NET_RAW", "ALL"], ["ALL", "NET_RAW"], ["ALL", "NET_RAW"], id="strings"),
    pytest.param("args", ["a", "b"], ["b", "a"], ["a", "b"], id="arguments"),
    pytest.param("initContainers", [A, B], [B, A], [A, B], id="init containers"),
    pytest.param("envFrom", [A, B], [B, A], [A, B], id="envFrom"),
]


@pytest.mark.parametrize(("field", "want", "live", "expected"), CASES)
def test_keep_order_of_unordered_lists(field, want, live, expected):
    before = copy.deepcopy(want)
    assert keep_order({field: want}, {field: live}) == {field: expected}
    assert want == before


def test_keep_order_matches_containers_by_name():
    def pod(*orders):
        return {"containers": [{"name": n, "env": e} for n, e in zip("xy", orders, strict=True)]}

    live = {"containers": pod([B, A], [A, B])["containers"][::-1]}
    assert keep_order(pod([A, B], [A, B]), live) == pod([B, A], [A, B])


def test_keep_order_returns_same_object():
    want = {"template": {"env": [A, B], "args": ["x"]}, "replicas": 1}
    assert keep_order(want, copy.deepcopy(want)) is want
    assert keep_order(want, {}) is want
    assert keep_order(want, None) is want


def expand(variables):
    """The environment of a container: Kubernetes expands references to earlier variables."""
    known = {}

    def look_up(found):
        return known.get(found[1], found[0])

    for item in variables:
        known[item["name"]] = re.sub(r"\$\((\w+)\)", look_up, item["value"])
    return known


def test_keep_order_of_env_references():
    values = ["1", "$(A)", "$(B)-$(C)", "$(D)", "$(A)$(D)"]
    chance = random.Random(1)
    for chosen in itertools.product(values, repeat=4):
        want = [{"name": n, "value": v} for n, v in zip("ABCD", chosen, strict=True)]
        chance.shuffle(want)
        live = chance.sample(want, k=4)
        kept = keep_order({"env": want}, {"env": live})["env"]
        assert expand(kept) == expand(want)
        if expand(live) == expand(want) and not any("$" in value for value in chosen):
            assert kept == live


@pytest.mark.parametrize("text", ["$(", "$", "$($(", "$$("])
def test_keep_order_in_linear_time(text):
    def seconds(count):
        want = [{"name": "X", "value": text * count}, A, B]
        start = time.process_time()
        keep_order({"env": want}, {"env": [B, A, want[0]]})
        return time.process_time() - start

    seconds(1000)
    assert seconds(400_000) < 40 * max(seconds(40_000), 0.001)
