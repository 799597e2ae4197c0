# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Advice comes from the tables of the documentation."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.advice import (
    Advice,
    find_advice,
    load_advice,
    read_advice,
)

ROLLOUT = 'Waiting for deployment "llm" rollout to finish: 0 of 1 updated replicas are available...'

CASES = {
    "reason": (("NIMService", "Failed", "NIMCacheNotFound", "x"), ["create it; the service"]),
    "reason of another kind": (("NIMBuild", "Failed", "NIMCacheNotFound", "x"), ["create it; the build"]),
    "message of a reason": (
        ("NIMService", "Failed", "LeaderWorkerSetFailed", 'no matches for kind "LeaderWorkerSet"'),
        ["install it; then [multi-node.md]"],
    ),
    "another message of the reason": (
        ("NIMService", "Failed", "LeaderWorkerSetFailed", ".spec.x: field not declared in schema"),
        ["upgrade it"],
    ),
    "a reason without its message": (
        ("NIMService", "Failed", "DeploymentFailed", "denied by a webhook"),
        ["read the message, which is the API server's"],
    ),
    "numbers": (("NIMCache", "InProgress", "Retrying", "4 of 9 attempts failed"), ["`kubectl -n nim logs -l job"]),
    "only a state": (("NIMCache", "Pending", "", ""), ["`kubectl -n nim describe pod"]),
    "pods": (
        ("NIMService", "NotReady", "Rollout", f"{ROLLOUT} Pod a, container b: ended 7 times, last with Error"),
        ["`kubectl -n nim get pods", "`kubectl -n nim logs <pod>"],
    ),
    "NeMo": (
        ("NemoGuardrail", "NotReady", "SecretNotFound", 'Waiting for Secret "x", which does not exist'),
        ["create it. The operator checks"],
    ),
    "no status": (("NIMService", "", "", ""), ["`kubectl -n nimops-system get pods,lease`"]),
    "unknown": (("NIMService", "Failed", "Unheard", "of"), []),
    "a kind without a table": (("ClusterPolicy", "notReady", "x", "y"), []),
    "state of another row": (("NIMService", "Ready", "NIMCacheNotFound", "x"), []),
}  # fmt: skip


@pytest.mark.parametrize(("problem", "fixes"), CASES.values(), ids=CASES)
def test_find_advice(problem, fixes):
    found = [item.fix for item in find_advice(*problem)]
    assert len(found) == len(fixes), found
    for fix, beginning in zip(found, fixes, strict=True):
        assert fix.startswith(beginning)


PAGE = """# Why?

## NIMCache

| state, reason | meaning | fix |
|---|---|---|
| `A`, `a \\| b` | one | [x](x.md) |
| `B` | | two |

| other | table | here |
|---|---|---|
| `C` | three | four |

## Nothing happens at all

Some
text.

```console
$ kubectl get a
$ kubectl get b
```
"""


def test_read_advice():
    assert read_advice(PAGE) == [
        Advice("NIMCache", "`A`, `a \\| b`", "one", "[x](x.md)"),
        Advice("NIMCache", "`B`", "", "two"),
        Advice("Nothing happens at all", "", "Some text.", "`kubectl get a` and `kubectl get b`"),
    ]
    assert read_advice("") == []


def test_all_tables_are_read():
    sections = {item.section for item in load_advice()}
    assert sections == {
        "NIMBuild", "NIMCache", "NIMService", "NeMo services", "Why pods are not ready",
        "Nothing happens at all",
    }  # fmt: skip
    assert len(load_advice()) > 80


def test_messages_are_matched_in_linear_time():
    import time

    begun = time.process_time()
    for kind in ("NIMService", "NIMCache", "NemoEvaluator"):
        find_advice(kind, "NotReady", "x", "Waiting for deployment " * 2000)
    assert time.process_time() - begun < 2
