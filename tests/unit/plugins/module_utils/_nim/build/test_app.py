# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.build.app import NIMBuildApp

COMPLETED = "NIM_BUILD_ENGINE_BUILD_POD_COMPLETED"
READ = "NIM_BUILD_MODEL_MANIFEST_POD_COMPLETED"


def test_app_pod_names(build):
    app = NIMBuildApp(build())
    assert app.build_pod_name == "engine-engine-build-pod"
    assert app.manifest_pod_name == "engine-local-manifest-pod"


@pytest.mark.parametrize(
    ("conditions", "is_built", "is_finished"),
    [
        pytest.param(None, False, False, id="no conditions"),
        pytest.param({}, False, False, id="none of these"),
        pytest.param({COMPLETED: "False"}, False, False, id="build failed"),
        pytest.param({COMPLETED: "True"}, True, False, id="engine built"),
        pytest.param({COMPLETED: "True", READ: "True"}, True, True, id="manifest read"),
    ],
)
def test_app_progress_in_status(build, conditions, is_built, is_finished):
    listed = [{"type": kind, "status": status} for kind, status in (conditions or {}).items()]
    app = NIMBuildApp(build() | {"status": {"conditions": conditions and listed}})
    assert (app.is_built, app.is_finished) == (is_built, is_finished)


def test_app_annotations_empty(build):
    assert NIMBuildApp(build(annotations={"a": "1"})).annotations == {}
