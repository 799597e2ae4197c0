# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.scale.command import ScaleCommand
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path

PATH = api_path("NIMService", "nim", "llm")


@pytest.fixture
def service(run, make_service):
    run.cluster.put(PATH, make_service())
    run.add_operator()
    return run


def test_scale_replicas(service):
    result = service(ScaleCommand, name="llm", replicas=3)
    assert (result["changed"], service.data) == (True, ["nimservice/llm: 3 replicas instead of 1"])
    (patch,) = service.cluster.calls("PATCH")
    assert (patch.path, patch.body) == (f"{PATH}/scale", {"spec": {"replicas": 3}})
    again = service(ScaleCommand, name="nimservice/llm", replicas=3)
    assert (again["changed"], len(service.cluster.calls("PATCH"))) == (False, 1)


def test_scale_check_mode(service):
    result = service(ScaleCommand, is_dry=True, name="llm", replicas=3)
    (patch,) = service.cluster.calls("PATCH")
    assert (result["changed"], patch.query["dryRun"]) == (True, "All")
    assert service.cluster.objects[PATH]["spec"]["replicas"] == 1


def test_scale_reports_autoscaler(service):
    target = {"apiVersion": "apps.nvidia.com/v1alpha1", "kind": "NIMService", "name": "llm"}
    hpa = {"metadata": {"name": "mine"}, "spec": {"scaleTargetRef": target}}
    service.cluster.put(api_path("HorizontalPodAutoscaler", "nim", "mine"), hpa)
    service(ScaleCommand, name="llm", replicas=3)
    (note,) = service.messages
    assert "HorizontalPodAutoscaler mine targets it" in note


def test_scale_without_permission_for_autoscalers(service, denied):
    path = api_path("HorizontalPodAutoscaler", "nim")
    service.cluster.refuse["GET", path] = [denied]
    assert service(ScaleCommand, name="llm", replicas=3)["changed"]


def test_scale_refused_by_server(service, invalid):
    service.cluster.refuse["PATCH", f"{PATH}/scale"] = [invalid]
    with pytest.raises(NimError, match=r"NIMService llm: spec\.replicas: Invalid"):
        service(ScaleCommand, name="llm", replicas=3)


def test_scale_missing(run):
    with pytest.raises(NimError, match="nimservice/llm does not exist in namespace nim"):
        run(ScaleCommand, name="llm", replicas=3)
