# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NIMServices compared with recordings of the reference operator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import key_of
from ansible_collections.nimops.nim.plugins.module_utils._engine.drift import has_wanted
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import OPERATOR, Observed
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.desired import desired

CONFORMANCE = Path(__file__).parents[7] / "shared" / "conformance"
CASES = [
    "nim-serving-advanced-dra-auto-creation-example0-llm", "nim-serving-advanced-dra-manual-llm",
    "nim-serving-advanced-epp-nimservice", "nim-serving-advanced-multi-node-multi-node-nimservice",
    "nim-serving-kserve-knative-llm", "nim-serving-kserve-standard-llm",
    "nim-serving-standalone-autoscaling-llm", "nim-serving-standalone-basic-llm",
    "nim-serving-standalone-basic-multi-llm", "nim-serving-standalone-full-llm",
    "nim-serving-standalone-lora-llm", "nim-serving-standalone-no-precaching-llm",
    "nim-serving-standalone-no-precaching-llm-emptydir",
    "nim-serving-standalone-routers-httproutes-llm",
    "nim-serving-standalone-routers-ingress-multi-llm", "own-service-hf-cache", "seed-example",
    "seed-triton-routes",
]  # fmt: skip

DEFAULTED = {
    "Deployment": {
        "spec.progressDeadlineSeconds",
        "spec.replicas",
        "spec.revisionHistoryLimit",
        "spec.template.spec.dnsPolicy",
        "spec.template.spec.restartPolicy",
        "spec.template.spec.schedulerName",
        "spec.template.spec.serviceAccount",
        "spec.template.spec.securityContext",
        "spec.template.spec.terminationGracePeriodSeconds",
        "spec.template.spec.volumes[].configMap.defaultMode",
        "spec.template.spec.containers[].imagePullPolicy",
        *(
            f"spec.template.spec.containers[].{probe}.{field}"
            for probe in ("livenessProbe", "readinessProbe")
            for field in (
                *("failureThreshold", "grpc.service", "httpGet.scheme"),
                *("successThreshold", "timeoutSeconds"),
            )
        ),
        "spec.template.spec.containers[].startupProbe.httpGet.scheme",
        "spec.template.spec.containers[].resources",
        "spec.template.spec.containers[].terminationMessagePath",
        "spec.template.spec.containers[].terminationMessagePolicy",
    },
    "InferencePool": {
        "spec.endpointPickerRef.failureMode",
        "spec.endpointPickerRef.group",
        "spec.endpointPickerRef.kind",
    },
    "LeaderWorkerSet": {"spec.rolloutStrategy.rollingUpdateConfiguration.partition"},
    "Service": {"spec.internalTrafficPolicy", "spec.sessionAffinity"},
    "PersistentVolumeClaim": {"spec.volumeMode"},
    "HTTPRoute": {
        "spec.parentRefs[].group",
        "spec.parentRefs[].kind",
        "spec.rules[].backendRefs[].group",
        "spec.rules[].backendRefs[].kind",
        "spec.rules[].backendRefs[].weight",
    },
}
DEFAULTED["GRPCRoute"] = DEFAULTED["HTTPRoute"]
"""Defaults that the API server added to the recorded objects."""

DELIBERATE = {
    "ServiceMonitor": {
        "spec.selector.matchLabels.app.kubernetes.io/managed-by",
        "spec.selector.matchLabels.app.kubernetes.io/operator-version",
        "spec.selector.matchLabels.app.kubernetes.io/part-of",
    },
}
"""Fields that we omit so that Services stay selected after an upgrade of the operator."""

_OPTIONAL = "containers[].env[].valueFrom.secretKeyRef.optional"
_PODS = [f"spec.leaderWorkerTemplate.{role}Template.spec" for role in ("leader", "worker")]
_SCC = "metadata.annotations.openshift.io/required-scc"
ADDED = {
    "ConfigMap": {_SCC},
    "Secret": {_SCC},
    "Deployment": {f"spec.template.spec.{_OPTIONAL}"},
    "InferenceService": {f"spec.predictor.{_OPTIONAL}"},
    "LeaderWorkerSet": {
        *(f"{pod}.{_OPTIONAL}" for pod in _PODS),
        *(f"{pod}.serviceAccountName" for pod in _PODS),
        *(f"{pod}.containers[].imagePullPolicy" for pod in _PODS),
    },
}
"""Fields that only we set (O-16, O-25), and that the reference sets since 3.1.3."""

CHANGED = {
    "ConfigMap": {"data.default-plugins.yaml"},
    "Deployment": {"spec.template.spec.containers[].terminationMessagePolicy"},
    "Role": {"rules[].resources"},
}
"""Fields with other values: the reference adds nulls to the picker's configuration (O-28), omits a
resource that the picker lists, and does not report why it ends."""


def load(case):
    """The NIMService of a case, the observed objects, and the expected ones."""
    if not CONFORMANCE.is_dir():
        pytest.skip("the recordings of the reference, ../shared, are not here")
    documents = yaml.safe_load_all((CONFORMANCE / "cases" / f"{case}.yaml").read_text())
    given = {document["kind"]: document for document in documents if document}
    recorded = json.loads((CONFORMANCE / "expected" / f"{case}.json").read_text())["objects"]
    cr, answers = given["NIMService"], {OPERATOR: {"kserve": "kserve"}}
    if cache := given.get("NIMCache"):
        made = next(item for item in recorded.values() if item["kind"] == "NIMCache")
        answers[key_of(cache)] = cache | {"status": made["status"]}
    expected = {
        key_of(item): item
        for item in recorded.values()
        if any(
            owner["kind"] == "NIMService" for owner in item["metadata"].get("ownerReferences", [])
        )
    }
    return cr, Observed(answers), expected


def scrub(item):
    """The object without UIDs of owners and with scripts replaced, as in the recordings."""
    owners = [
        {key: value for key, value in owner.items() if key != "uid"}
        for owner in item["metadata"]["ownerReferences"]
    ]
    made = item | {"metadata": item["metadata"] | {"ownerReferences": owners}}
    if item["kind"] == "ConfigMap":
        data = {k: "<script>" if k.endswith(".sh") else v for k, v in item["data"].items()}
        return made | {"data": data}
    return made


def differing(want, ours, at=""):
    """The paths of common fields with different values."""
    if not (isinstance(want, dict) and isinstance(ours, dict)):
        return set() if want == ours else {at}
    return set().union(
        *(differing(want[k], ours[k], f"{at}.{k}" if at else k) for k in want.keys() & ours.keys())
    )


@pytest.mark.parametrize("case", CASES)
def test_desired_conformance(case, paths):
    cr, observed, expected = load(case)
    ours = {
        key_of(child.manifest): scrub(child.manifest)
        for child in desired(NIMServiceApp(cr, observed)).children
    }
    assert set(ours) == set(expected)
    for key, want in expected.items():
        kind = want["kind"]
        beside = ADDED.get(kind, set()) | CHANGED.get(kind, set())
        assert has_wanted(want, paths.without(ours[key], beside)), key
        known = DEFAULTED.get(kind, set()) | DELIBERATE.get(kind, set())
        assert paths.leaves(want) - paths.leaves(ours[key]) <= known, key


def test_known_gaps_exist(paths):
    """A field that differs in no recording would hide an error."""
    missing = {}
    more = {}
    changed = {}
    for case in CASES:
        cr, observed, expected = load(case)
        for child in desired(NIMServiceApp(cr, observed)).children:
            kind = child.manifest["kind"]
            want = expected[key_of(child.manifest)]
            theirs, ours = paths.leaves(want), paths.leaves(child.manifest)
            missing.setdefault(kind, set()).update(theirs - ours)
            more.setdefault(kind, set()).update(ours - theirs)
            changed.setdefault(kind, set()).update(differing(want, child.manifest))
    for kind, known in (*DEFAULTED.items(), *DELIBERATE.items()):
        assert known <= missing[kind], kind
    for kind, known in ADDED.items():
        assert known <= more[kind], kind
    for kind, known in CHANGED.items():
        assert {path.partition("[]")[0] for path in known} <= changed[kind], kind
