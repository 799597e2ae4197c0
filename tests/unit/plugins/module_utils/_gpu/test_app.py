# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import OPERATOR


def test_stack_app_namespace(make_app):
    assert make_app().namespace == "gpu-operator"
    assert make_app({OPERATOR: {"gpu_namespace": "other"}}).namespace == "other"
    assert make_app().child("ServiceAccount", name="x")["metadata"]["namespace"] == "gpu-operator"


def test_stack_app_own_labels(make_app):
    app = make_app()
    assert (app.labels, app.annotations) == ({}, {})
    found = app.child("ServiceAccount", name="x", labels={"app": "x"})["metadata"]
    assert found["labels"] == {"app": "x"}
