# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.kserve.knative_features import (
    advise,
)

WHERE = "to enabled in ConfigMap config-features, in Knative's namespace knative-serving"
FIELDS = "must not set the field(s): spec.template.spec"
CLAIM = "kubernetes.podspec-persistent-volume"


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param("dry run failed with quota exceeded", "", id="another cause"),
        pytest.param(
            f"validation failed: {FIELDS}.nodeSelector",
            f"for spec.nodeSelector, set kubernetes.podspec-nodeselector {WHERE}",
            id="a field",
        ),
        pytest.param(
            f"{FIELDS}.affinity, spec.template.spec.priorityClassName, spec.template.spec.tolerations",
            "for spec.affinity, spec.priorityClassName, spec.tolerations, set"
            " kubernetes.podspec-affinity, kubernetes.podspec-priorityclassname,"
            f" kubernetes.podspec-tolerations {WHERE}",
            id="several fields",
        ),
        pytest.param(
            "Persistent volume claim support is disabled, but found persistent volume claim a\n"
            "Persistent volume write support is disabled, but found persistent volume claim a that"
            f" is not read-only\n{FIELDS}.volumes[1].persistentVolumeClaim",
            f"for spec.storage, set {CLAIM}-claim, {CLAIM}-write {WHERE}",
            id="a claim",
        ),
        pytest.param(
            "pod spec support for init-containers is off, but found 1 init containers",
            f"for spec.initContainers, set kubernetes.podspec-init-containers {WHERE}",
            id="init containers",
        ),
        pytest.param(
            f"{FIELDS}.containers[0].env[3].valueFrom.fieldRef",
            f"for spec.env, set kubernetes.podspec-fieldref {WHERE}",
            id="a variable",
        ),
        pytest.param(
            "more than one container port is set: spec.template.spec.containers[*].ports",
            "Knative serves one port: remove spec.expose.service.grpcPort",
            id="ports",
        ),
        pytest.param(
            f'"PORT" is a reserved environment variable: spec.a\n{FIELDS}.schedulerName',
            f"for spec.schedulerName, set kubernetes.podspec-schedulername {WHERE}; remove it from"
            " spec.env",
            id="both",
        ),
        pytest.param(
            'dry run failed with Pod "dry-run-validationa" is invalid: spec.containers[0].resources'
            '.requests: Invalid value: "64": must be less than or equal to cpu limit of 1',
            "also set it in spec.resources.limits: KServe's default is less",
            id="a limit of KServe",
        ),
    ],
)
def test_advise(message, advice):
    assert advise(message) == advice


def test_advise_long_message():
    """The start of a message of any length, whose search would take hours otherwise."""
    assert advise("must not set the field(s): " * 100_000) == ""
    refusal = f"{FIELDS}.nodeSelector"
    known = "for spec.nodeSelector"
    assert advise(f"{refusal}\n{'x' * 100_000}").startswith(known)
    assert advise(f"{'x' * 100_000}\n{refusal}") == ""
