# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The kinds that we serve, and further kinds that they need. Written by `make generate`."""

from __future__ import annotations

Row = tuple[str, str, bool, bool]
"""apiVersion, plural, whether it is namespaced, whether it is read through the cache"""

SERVED: dict[str, Row] = {
    "ClusterPolicy": ("nvidia.com/v1", "clusterpolicies", False, True),
    "NIMBuild": ("apps.nvidia.com/v1alpha1", "nimbuilds", True, True),
    "NIMCache": ("apps.nvidia.com/v1alpha1", "nimcaches", True, True),
    "NIMPipeline": ("apps.nvidia.com/v1alpha1", "nimpipelines", True, True),
    "NIMService": ("apps.nvidia.com/v1alpha1", "nimservices", True, True),
    "NVIDIADriver": ("nvidia.com/v1alpha1", "nvidiadrivers", False, True),
    "NemoCustomizer": ("apps.nvidia.com/v1alpha1", "nemocustomizers", True, True),
    "NemoDatastore": ("apps.nvidia.com/v1alpha1", "nemodatastores", True, True),
    "NemoEntitystore": ("apps.nvidia.com/v1alpha1", "nemoentitystores", True, True),
    "NemoEvaluator": ("apps.nvidia.com/v1alpha1", "nemoevaluators", True, True),
    "NemoGuardrail": ("apps.nvidia.com/v1alpha1", "nemoguardrails", True, True),
}
NEEDED: dict[str, Row] = {
    "ClusterRole": ("rbac.authorization.k8s.io/v1", "clusterroles", False, True),
    "ClusterRoleBinding": ("rbac.authorization.k8s.io/v1", "clusterrolebindings", False, True),
    "CustomResourceDefinition": (
        "apiextensions.k8s.io/v1",
        "customresourcedefinitions",
        False,
        False,
    ),
    "GPUCluster": ("nvidia.com/v1alpha1", "gpuclusters", False, False),
    "Namespace": ("v1", "namespaces", False, False),
    "RuntimeClass": ("node.k8s.io/v1", "runtimeclasses", False, True),
}
SHORT_NAMES: dict[str, str] = {
    "nvcp": "ClusterPolicy",
    "nimb": "NIMBuild",
    "nimc": "NIMCache",
    "nimpl": "NIMPipeline",
    "nimsvc": "NIMService",
    "nvd": "NVIDIADriver",
    "nvdriver": "NVIDIADriver",
    "nvdrivers": "NVIDIADriver",
    "nemocust": "NemoCustomizer",
    "nemods": "NemoDatastore",
    "nemoes": "NemoEntitystore",
    "nemoeval": "NemoEvaluator",
    "nemoguard": "NemoGuardrail",
}
