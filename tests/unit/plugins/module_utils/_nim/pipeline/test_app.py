# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline.app import NIMPipelineApp


def test_app_labels_and_annotations(make):
    cr = make.pipeline("a", labels={"team": "a"}, annotations={"a": "1"})
    app = NIMPipelineApp(cr)
    assert (app.labels, app.annotations) == ({}, {})
