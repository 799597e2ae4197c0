# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadProtocol
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.deployment import (
    build_deployment,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_layout import (
    is_native,
    layout_reads,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_store import Store
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.multi_node.leader_worker_set import (
    build_groups,
)

KEY = "protocol/registry.example/nim:1.0"
STORE = Store({"emptyDir": {}})
STUCK = [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]


def deployed(make, protocol, tag="1.0", stuck=False):
    image = {"repository": "registry.example/nim", "tag": tag}
    cr = make.cr({"image": image})
    key = f"protocol/registry.example/nim:{tag}"
    live = build_deployment(make.app(cr, **{key: protocol}), STORE)
    return live | {"status": {"conditions": STUCK if stuck else []}}


@pytest.mark.parametrize(
    ("live", "answer", "asks", "native"),
    [
        pytest.param(None, "native", True, True, id="new, native"),
        pytest.param(None, "legacy", True, False, id="new, legacy"),
        pytest.param(None, "", True, False, id="new, no answer"),
        pytest.param({"protocol": "native"}, None, False, True, id="runs as native"),
        pytest.param({"protocol": "legacy"}, None, False, False, id="runs as legacy"),
        pytest.param(
            {"protocol": "native", "tag": "0.9"}, "legacy", True, False, id="another image ran"
        ),
        pytest.param(
            {"protocol": "", "stuck": True}, "native", True, True, id="legacy by mistake, stuck"
        ),
        pytest.param({"protocol": "native", "stuck": True}, None, False, True, id="native, stuck"),
    ],
)
def test_is_native_once_per_image(make, live, answer, asks, native):
    image = {"repository": "registry.example/nim", "tag": "1.0", "pullSecrets": ["a", "b"]}
    cr = make.cr({"image": image})
    observed = make.observe(
        *([deployed(make, **live)] if live else []), **({KEY: answer} if answer is not None else {})
    )
    reads = layout_reads(NIMServiceApp(cr, observed))
    read = ReadProtocol(KEY, "registry.example/nim:1.0", "ns", ("a", "b"))
    assert reads == ([read] if asks else [])
    assert is_native(NIMServiceApp(cr, observed), STORE) is native


def test_is_native_invalid_mirrors(make):
    """Only a service whose layout is unknown needs the registry."""
    operator = {"operator": {"mirrors_problem": "NIMOPS_REGISTRY_MIRRORS: x"}}
    image = {"repository": "registry.example/nim", "tag": "1.0"}
    with pytest.raises(NimError, match=r"^NIMOPS_REGISTRY_MIRRORS: x") as caught:
        is_native(NIMServiceApp(make.cr({"image": image}), make.observe(**operator)), STORE)
    assert caught.value.reason == "InvalidSetting"
    observed = make.observe(deployed(make, "native"), **operator)
    assert is_native(NIMServiceApp(make.cr({"image": image}), observed), STORE)


@pytest.mark.parametrize(("kind", "native"), [("native", True), ("", False)])
def test_is_native_from_cache(make, kind, native):
    cr = make.cr({"storage": {"nimCache": {"name": "cache"}}})
    cache = make.cache(status={"state": "Ready", "pvc": "x", "type": kind})
    assert layout_reads(make.app(cr, cache)) == []
    assert is_native(make.app(cr, cache), Store({}, cache=cache)) is native


@pytest.mark.parametrize("protocol", ["native", "legacy"])
def test_is_native_from_live_groups(make, protocol):
    cr = make.cr({"multiNode": {"parallelism": {"pipeline": 2}}})
    live = build_groups(make.app(cr, **{KEY: protocol}), STORE)
    assert layout_reads(make.app(cr, live)) == []
    assert is_native(make.app(cr, live), STORE) is (protocol == "native")
    assert [read.key for read in layout_reads(make.app(cr))] == [KEY]
