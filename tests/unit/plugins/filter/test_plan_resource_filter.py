# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.nimops.nim.plugins.filter.plan_resource import FilterModule
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import pack

plan = FilterModule().filters()["plan_resource"]

NIM = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMService",
    "metadata": {"name": "llm", "namespace": "nim", "uid": "1"},
    "spec": {
        "image": {"repository": "nvcr.io/nim/llm", "tag": "1.0"},
        "authSecret": "ngc-api",
        "storage": {"emptyDir": {}},
        "expose": {"service": {"type": "ClusterIP", "port": 8000}},
    },
}


def nim(spec=None, **metadata):
    return {
        **NIM,
        "metadata": NIM["metadata"] | metadata,
        "spec": NIM["spec"] | (spec or {}),
    }


def test_an_empty_cluster_needs_everything():
    made = plan(NIM)
    assert {"Deployment", "Service", "ServiceAccount"} <= {item["kind"] for item in made["apply"]}
    assert (made["adopt"], made["prune"], made["refusals"]) == ([], [], [])
    assert (made["failure"], made["failure_reason"]) == ("", "")


def test_inputs_are_left_alone():
    before, seen = copy.deepcopy(NIM), {"Node": []}
    plan(NIM, seen)
    assert before == NIM
    assert seen == {"Node": []}


def test_a_spec_that_cannot_be_served_is_a_failure():
    made = plan(nim({"storage": {"pvc": {"create": True, "size": "a lot"}}}))
    assert "spec.storage.pvc.size" in made["failure"]
    assert made["failure_reason"]
    kinds = [item["kind"] for item in made["apply"]]
    assert kinds == ["ServiceAccount", "Role", "RoleBinding", "Service"]


def test_what_is_being_deleted_wants_nothing():
    made = plan(nim(deletionTimestamp="2026-01-01T00:00:00Z"))
    assert not any(made.values())


def test_another_kind_is_a_failure():
    with pytest.raises(AnsibleFilterError, match="'Pod' is not one of"):
        plan(NIM | {"kind": "Pod"})


@pytest.mark.parametrize("resource", [None, "text", [], {"kind": "NIMService"}])
def test_what_is_no_resource_is_refused(resource):
    with pytest.raises(AnsibleFilterError, match="whole custom resource"):
        plan(resource)


def test_answers_may_be_the_text_that_observe_returns():
    seen = {"Service/nim/llm": {"kind": "Service", "metadata": {"name": "llm"}}}
    made = plan(NIM, pack(seen))
    assert made == plan(NIM, seen)
    assert made != plan(NIM)


def test_answers_that_are_none_are_refused():
    with pytest.raises(AnsibleFilterError, match="plan_resource: observed: "):
        plan(NIM, "text")
