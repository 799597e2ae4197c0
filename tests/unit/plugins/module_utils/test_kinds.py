# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._engine.served_kinds import SERVED
from ansible_collections.nimops.nim.plugins.module_utils._kinds import (
    assumed_objects,
    kind_names,
    kind_of,
)


def test_kind_names_equal_served() -> None:
    assert kind_names() == sorted(SERVED)
    for name, (version, plural, is_namespaced, _cached) in SERVED.items():
        kind = kind_of({"kind": name})
        assert (kind.name, kind.api_version, kind.plural) == (name, version, plural)
        assert kind.is_namespaced is is_namespaced


@pytest.mark.parametrize("resource", [{}, {"kind": None}, {"kind": "Pod"}, {"kind": "nimcache"}])
def test_kind_of_unknown(resource: t.Any) -> None:
    with pytest.raises(
        NimError, match="is not one of ClusterPolicy, NIMBuild, NIMCache, NIMPipeline, "
    ):
        kind_of(resource)


def test_assumed_objects_include_kserve() -> None:
    ((read, found),) = assumed_objects()
    assert (read.listed, found["metadata"]["name"]) == ("Deployment", "kserve-controller-manager")
