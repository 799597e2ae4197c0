# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import OPERATOR, Observed
from ansible_collections.nimops.nim.plugins.module_utils._gpu.app import StackApp


@pytest.fixture
def make_app():
    """The context of a pass, with these answers."""
    resource = {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "cluster-policy", "uid": "u"},
    }

    def make(answers=None):
        found = {OPERATOR: {"namespace": "gpu-operator"}, **(answers or {})}
        return StackApp(resource, Observed(found))

    return make


@pytest.fixture
def rules():
    """(group, resource, verb) of the rules of manifests, and of those that a kind holds."""

    def granted(manifests):
        return {
            (group, resource, verb)
            for manifest in manifests
            for given in manifest.get("rules") or []
            for group in given["apiGroups"]
            for resource in given["resources"]
            for verb in given["verbs"]
        }

    def held(kind):
        return {
            (item.group, resource, verb)
            for item in kind.rules
            for resource in item.resources.split()
            for verb in item.verbs.split()
        }

    return granted, held
