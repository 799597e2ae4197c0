# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The API server admits the pods of all samples where Pod Security `restricted` is enforced."""

from __future__ import annotations

import json
import typing as t

import pytest
from nimops_harness.cluster import HarnessError, kubectl, serves_devices
from nimops_sample_pods import FACTS, SAMPLES, pods_of

NAMESPACE = "nimops-restricted"
LEVEL = "pod-security.kubernetes.io/enforce"


@pytest.fixture(scope="module")
def try_pods(api_server: t.Any) -> t.Iterator[t.Callable[[], str]]:
    """Create the pods of all samples in dry runs; what the API server refuses."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    labelled = {**namespace, "metadata": {"name": NAMESPACE, "labels": {LEVEL: "restricted"}}}
    kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(labelled))

    has_devices = serves_devices()

    def attempt() -> str:
        pods = [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"pod-{number}", "namespace": NAMESPACE},
                "spec": _without_replicas(pod),
            }
            for number, (_parent, _kind, pod) in enumerate(pods_of(SAMPLES, FACTS))
            if has_devices or "resourceClaims" not in pod
        ]
        assert len(pods) > len(SAMPLES)
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})
        try:
            kubectl("create", "--dry-run=server", "-f", "-", stdin=text)
        except HarnessError as error:
            return str(error)
        return ""

    yield attempt
    kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def _without_replicas(pod: dict[str, t.Any]) -> dict[str, t.Any]:
    """The pod of an InferenceService without the fields of its predictor."""
    fields = {"annotations", "deploymentStrategy", "labels", "maxReplicas", "minReplicas"}
    others = {"scaleMetric", "scaleMetricType", "scaleTarget", "timeout"}
    return {key: value for key, value in pod.items() if key not in fields | others}


def test_pod_security_restricted(
    try_pods: t.Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 'violates PodSecurity "restricted' in try_pods()
    monkeypatch.setenv("NIMOPS_POD_SECURITY", "restricted")
    assert try_pods() == ""
