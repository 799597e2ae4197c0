# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Resources, their objects, and facts of a cluster."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.facts import (
    ClusterFacts,
    key_to,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.workloads import (
    Planned,
    PodGroup,
    Rendered,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    ObjectKey as Key,
)

SERVICE = Key("NIMService", "nim", "llm")


@pytest.fixture
def make_group():
    """A group of pods of the Deployment `llm`."""

    def make(spec=None, count=1, **fields):
        given = {"containers": [{"name": "c"}]} | (spec or {})
        workload = Key("Deployment", "nim", "llm")
        return PodGroup(SERVICE, workload, {"app": "llm"}, given, count, **fields)

    return make


@pytest.fixture
def make_rendered():
    """The NIMService `llm` with these objects, which do not exist yet."""

    def make(*manifests, spec=None, **fields):
        resource = {
            "apiVersion": "apps.nvidia.com/v1alpha1",
            "kind": "NIMService",
            "metadata": {"name": "llm", "namespace": "nim"},
            "spec": spec or {},
        }
        planned = [Planned(SERVICE, {"apiVersion": "v1", **item}) for item in manifests]
        return Rendered({SERVICE: resource}, planned, **fields)

    return make


@pytest.fixture
def make_facts():
    """Facts with these objects; `absent`: kinds and names of those that do not exist."""

    def make(*objects, absent=(), lists=None, **fields):
        found = {}
        for item in objects:
            metadata = item["metadata"]
            found[key_to(item["kind"], metadata.get("namespace", "nim"), metadata["name"])] = item
        for kind, name in absent:
            found[key_to(kind, "nim", name)] = None
        known = {
            key if isinstance(key, tuple) else (key, ""): items
            for key, items in (lists or {}).items()
        }
        return ClusterFacts(objects=found, lists=known, **fields)

    return make


@pytest.fixture
def levels():
    """Return the checks of reporters as a list of (level, message)."""

    def of(reporters):
        return [(check.level, check.message) for it in reporters for check in it.found]

    return of
