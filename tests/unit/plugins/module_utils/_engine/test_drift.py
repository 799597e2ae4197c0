# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.drift import (
    has_drifted,
    has_wanted,
)

ENV = [{"name": "A", "value": "1"}]
WANT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "llm", "namespace": "nim", "labels": {"app": "llm"}},
    "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "c", "env": ENV}]}}},
}
OWN_FIELDS = {"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {"f:replicas": {}}}


def live_deployment(own=OWN_FIELDS, **spec):
    entry = {"manager": "nimops.nim", "operation": "Apply", "fieldsV1": own}
    metadata = WANT["metadata"] | {"resourceVersion": "7", "managedFields": [entry]}
    return WANT | {
        "metadata": metadata,
        "spec": WANT["spec"] | {"progressDeadlineSeconds": 600, **spec},
    }


@pytest.mark.parametrize(
    ("live", "want", "expected"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1}, True, id="defaults of the API do not matter"),
        pytest.param({"a": 1}, {"a": 2}, False, id="another value"),
        pytest.param({}, {"a": 1}, False, id="missing"),
        pytest.param({}, {"a": [], "b": {}, "c": ""}, True, id="empty is like missing"),
        pytest.param(
            {"securityContext": {}},
            {"securityContext": {"runAsUser": 0}},
            False,
            id="root is not like missing",
        ),
        pytest.param({"a": [1, 2]}, {"a": [1]}, False, id="one more item"),
        pytest.param({"a": [{"n": 1, "d": 0}]}, {"a": [{"n": 1}]}, True, id="defaults in items"),
        pytest.param({"limits": {"cpu": "1"}}, {"limits": {"cpu": "1000m"}}, True, id="quantities"),
        pytest.param({"limits": {"gpu": "1"}}, {"limits": {"gpu": 1}}, True, id="a number as text"),
        pytest.param({"tolerance": "50m"}, {"tolerance": "0.05"}, True, id="an HPA's tolerance"),
        pytest.param({"value": "1"}, {"value": "1000m"}, False, id="text that looks like one"),
        pytest.param({"a": "x"}, {"a": {"b": 1}}, False, id="a map became text"),
        pytest.param(
            {"metadata": {"ownerReferences": [{"uid": "1"}, {"uid": "2"}]}},
            {"metadata": {"ownerReferences": [{"uid": "2"}]}},
            True,
            id="others may own it too",
        ),
        pytest.param(
            {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
            {"tolerations": [{"operator": "Exists"}]},
            False,
            id="a toleration of more taints",
        ),
        pytest.param(
            {"affinity": {"nodeAffinity": {"terms": [{"a": 1, "b": 2}]}}},
            {"affinity": {"nodeAffinity": {"terms": [{"a": 1}]}}},
            False,
            id="a term with one condition less",
        ),
    ],
)
def test_has_wanted(live, want, expected):
    assert has_wanted(live, want) is expected


@pytest.mark.parametrize(
    ("live", "want", "expected"),
    [
        pytest.param({"a": {"b": 1}, "c": 2}, {"a": {"b": 1}}, True, id="defaults of the CRD"),
        pytest.param({}, {"a": []}, True, id="an empty list is like none"),
        pytest.param({}, {"a": {}}, False, id="an empty block is not"),
        pytest.param({}, {"a": False}, False, id="nor is false"),
        pytest.param({"a": [{}]}, {"a": [{"b": ""}]}, False, id="nor is an empty text, in items"),
        pytest.param(
            {"limits": {"gpu": "1"}}, {"limits": {"gpu": 1}}, False, id="a number as text"
        ),
        pytest.param(
            {"metadata": {"ownerReferences": [{"uid": "1"}, {"uid": "2"}]}},
            {"metadata": {"ownerReferences": [{"uid": "2"}]}},
            True,
            id="others may own it too",
        ),
    ],
)
def test_has_wanted_verbatim_custom_resource(live, want, expected):
    assert has_wanted(live, want, is_verbatim=True) is expected
    ours = {"managedFields": [{"manager": "nimops.nim", "operation": "Apply"}]}
    head = {"apiVersion": "apps.nvidia.com/v1alpha1", "kind": "NIMService"}
    live = head | live | {"metadata": live.get("metadata", {}) | ours}
    assert has_drifted(live, head | want) is not expected


MORE_ENV = {"spec": {"containers": [{"name": "c", "env": [*ENV, {"name": "B"}]}]}}
HAS_DRIFTED_CASES = {
    "as applied": (live_deployment(), False),
    "scaled by hand": (live_deployment(replicas=3), True),
    "more env": (live_deployment(template=MORE_ENV), True),
    "never applied by us": (live_deployment() | {"metadata": WANT["metadata"]}, True),
    "applied before, not wanted now": (live_deployment({"f:spec": {"f:paused": {}}}), True),
}


@pytest.mark.parametrize(("live", "expected"), HAS_DRIFTED_CASES.values(), ids=HAS_DRIFTED_CASES)
def test_has_drifted(live, expected):
    assert has_drifted(live, WANT) is expected
