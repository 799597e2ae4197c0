# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A plain custom resource, with the builders' defaults."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed


@pytest.fixture
def app() -> t.Callable[..., App]:
    """The application of a resource `a` in the namespace `ns`, with these fields of the spec."""

    def make(**spec: t.Any) -> App:
        metadata = {"name": "a", "namespace": "ns", "uid": "u"}
        resource = {
            "apiVersion": "example.com/v1", "kind": "Toy", "metadata": metadata, "spec": spec,
        }  # fmt: skip
        return App(resource, Observed({"operator": {"version_label": "2"}}))

    return make
