# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.scale.change import (
    Wanted,
    check_wanted,
    find_change,
    find_notes,
)


def resource(kind="NIMService", status=None, **spec):
    metadata = {"name": "llm", "namespace": "nim", "uid": "u"}
    version = "apps.nvidia.com/v1alpha1"
    return {
        "apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec,
        "status": status or {},
    }  # fmt: skip


def autoscaled(least=1, most=3, **scale):
    hpa = {"maxReplicas": most} | ({} if least is None else {"minReplicas": least})
    return resource(scale={"enabled": True, "hpa": hpa} | scale)


BY_HAND = resource(replicas=1)
LIMITS = "nimservice/llm: an autoscaler keeps it between 1 and 3 replicas: give min and max"

CHANGES = {
    "replicas": (BY_HAND, Wanted(3), {"replicas": 3}, "nimservice/llm: 3 replicas instead of 1"),
    "the same": (BY_HAND, Wanted(1), {}, "nimservice/llm: has 1 replica already"),
    "off": (BY_HAND, Wanted(0), {"replicas": 0}, "nimservice/llm: 0 replicas instead of 1"),
    "from off": (
        resource(replicas=0),
        Wanted(1),
        {"replicas": 1},
        "nimservice/llm: 1 replica instead of 0",
    ),
    "without a number": (resource(), Wanted(2), {"replicas": 2}, "nimservice/llm: 2 replicas"),
    "NeMo": (
        resource("NemoGuardrail", replicas=1),
        Wanted(2),
        {"replicas": 2},
        "nemoguardrail/llm: 2 replicas instead of 1",
    ),
    "an autoscaler that is off": (
        autoscaled(enabled=False),
        Wanted(2),
        {"replicas": 2},
        "nimservice/llm: 2 replicas",
    ),
    "limits": (
        autoscaled(),
        Wanted(least=2, most=5),
        {"scale": {"hpa": {"minReplicas": 2, "maxReplicas": 5}}},
        "nimservice/llm: 2 to 5 replicas instead of 1 to 3",
    ),
    "one limit": (
        autoscaled(),
        Wanted(most=5),
        {"scale": {"hpa": {"maxReplicas": 5}}},
        "nimservice/llm: 1 to 5 replicas instead of 1 to 3",
    ),
    "the same limits": (autoscaled(), Wanted(least=1), {}, "nimservice/llm: has 1 to 3 replicas a"),
    "the default": (autoscaled(None), Wanted(None, 1, 3), {}, "nimservice/llm: has 1 to 3 replica"),
}

REFUSALS = {
    "autoscaled": (autoscaled(), Wanted(2), LIMITS),
    "not autoscaled": (BY_HAND, Wanted(least=2), "nimservice/llm: has no autoscaler, which min an"),
    "order": (autoscaled(), Wanted(least=4), "nimservice/llm: min is 4, and max 3: give a max"),
    "another kind": (
        resource("NIMCache"),
        Wanted(2),
        "nimcache/llm: a NIMCache has no replicas: only nimservice, nemocustomizer,"
        " nemodatastore, nemoentitystore, nemoevaluator, nemoguardrail can be scaled",
    ),
}


@pytest.mark.parametrize(("live", "wanted", "spec", "text"), CHANGES.values(), ids=CHANGES)
def test_find_change(live, wanted, spec, text):
    change = find_change(live, wanted)
    assert (change.spec, change.text[: len(text)]) == (spec, text)


@pytest.mark.parametrize(("live", "wanted", "text"), REFUSALS.values(), ids=REFUSALS)
def test_find_change_refused(live, wanted, text):
    with pytest.raises(NimError) as caught:
        find_change(live, wanted)
    assert str(caught.value).startswith(text)


def test_find_change_of_pipeline():
    """It keeps a count that the scale subresource set, but no other field."""

    def owned(found):
        owner = {"kind": "NIMPipeline", "name": "p", "uid": "p", "controller": True}
        return found | {"metadata": found["metadata"] | {"ownerReferences": [owner]}}

    assert find_change(owned(BY_HAND), Wanted(2)).spec == {"replicas": 2}
    with pytest.raises(NimError, match="belongs to nimpipeline/p, which would revert this"):
        find_change(owned(autoscaled()), Wanted(most=9))


def test_find_change_of_deleted():
    leaving = BY_HAND | {"metadata": BY_HAND["metadata"] | {"deletionTimestamp": "t"}}
    with pytest.raises(NimError, match="is being deleted"):
        find_change(leaving, Wanted(2))


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (Wanted(), "replicas: missing"),
        (Wanted(1, 1), "replicas: cannot be combined with min or max"),
        (Wanted(-1), "must be at least 0"),
        (Wanted(most=-1), "must be at least 0"),
    ],
)
def test_check_wanted(wanted, text):
    with pytest.raises(NimError, match=text):
        check_wanted(wanted)


def test_find_notes():
    def hpa(name, kind="NIMService", target="llm"):
        ref = {"apiVersion": "apps.nvidia.com/v1alpha1", "kind": kind, "name": target}
        return {"metadata": {"name": name}, "spec": {"scaleTargetRef": ref}}

    held = {"type": "ScaledExternally", "status": "True", "reason": "Autoscaled", "message": "x"}
    paused = resource(status={"conditions": [held]})
    paused["metadata"]["annotations"] = {"nimops.nim/paused": "true"}
    autoscalers = [hpa("mine"), hpa("other", target="x"), hpa("deployment", "Deployment")]
    assert find_notes(paused, autoscalers) == [
        "nimservice/llm: HorizontalPodAutoscaler mine targets it, and may change the number again",
        "nimservice/llm: x",
        "nimservice/llm: is paused, so this takes effect when you resume it",
    ]
    assert find_notes(BY_HAND, []) == []
