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
    return {**NIM, "metadata": NIM["metadata"] | metadata, "spec": NIM["spec"] | (spec or {})}


def test_plan_resource_empty_cluster():
    made = plan(NIM)
    assert {"Deployment", "Service", "ServiceAccount"} <= {item["kind"] for item in made["apply"]}
    assert (made["adopt"], made["prune"], made["refusals"]) == ([], [], [])
    assert (made["failure"], made["failure_reason"]) == ("", "")


def test_plan_resource_keeps_inputs():
    before, seen = copy.deepcopy(NIM), {"Node": []}
    plan(NIM, seen)
    assert before == NIM
    assert seen == {"Node": []}


def test_plan_resource_failure():
    made = plan(nim({"storage": {"pvc": {"create": True, "size": "a lot"}}}))
    assert "spec.storage.pvc.size" in made["failure"]
    assert made["failure_reason"]
    kinds = [item["kind"] for item in made["apply"]]
    assert kinds == ["ServiceAccount", "Role", "RoleBinding", "Service"]


def test_plan_resource_deleted():
    made = plan(nim(deletionTimestamp="2026-01-01T00:00:00Z"))
    assert not any(made.pop("stages").values())
    assert not any(made.values())


def test_plan_resource_refuses_reserved_keys():
    """Tasks pass the plan on to Ansible, which would take its text for templates."""
    with pytest.raises(AnsibleFilterError, match="__ansible_unsafe: keys that begin with"):
        plan(nim({"nodeSelector": {"__ansible_unsafe": "x"}}))


def test_plan_resource_result_is_mutable():
    plan(NIM).clear()
    assert plan(NIM)["apply"]


def test_plan_resource_uses_observed_resource():
    named = {key: NIM[key] for key in ("apiVersion", "kind", "metadata")}
    assert plan(named, pack({"resource": NIM})) == plan(NIM)
    assert not any(plan(named, pack({})).pop("apply"))


@pytest.fixture
def in_a_folder(tmp_path, monkeypatch):
    """Filters of an administrator, found as Ansible finds those of a playbook."""
    from ansible.plugins.loader import filter_loader

    (tmp_path / "acme.py").write_text(
        "def add_label(child, resource):\n"
        "    labels = {**child['metadata']['labels'], 'team': resource['metadata']['namespace']}\n"
        "    return {**child, 'metadata': {**child['metadata'], 'labels': labels}}\n"
        "def rename(child, resource):\n"
        "    child['metadata']['name'] += '-x'\n"
        "    return child\n"
        "def fail(child, resource):\n"
        "    return child['nothing']\n"
        "class FilterModule:\n"
        "    def filters(self):\n"
        "        return {'add_label': add_label, 'rename': rename, 'fail': fail}\n"
    )
    filter_loader.add_directory(str(tmp_path))


@pytest.mark.usefixtures("in_a_folder")
def test_plan_resource_child_filters(monkeypatch):
    made = plan(NIM, None, ["add_label"])
    assert {item["metadata"]["labels"]["team"] for item in made["apply"]} == {"nim"}
    monkeypatch.setenv("NIMOPS_CHILD_FILTERS", " add_label ,")
    assert plan(NIM) == made


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rename", 'child filters: ServiceAccount "llm" must keep its apiVersion, kind, name'),
        ("fail", "NIMOPS_CHILD_FILTERS: fail failed: KeyError: 'nothing'"),
    ],
)
def test_plan_resource_failing_child_filter(name, message):
    assert message in plan(NIM, None, name)["failure"]
    assert plan(NIM, None, name)["apply"] == []


def test_plan_resource_missing_child_filter():
    with pytest.raises(AnsibleFilterError, match=r"there is no filter 'acme\.tools\.absent'"):
        plan(NIM, None, "acme.tools.absent")


def test_plan_resource_unknown_kind():
    with pytest.raises(AnsibleFilterError, match="'Pod' is not one of"):
        plan(NIM | {"kind": "Pod"})


@pytest.mark.parametrize("resource", [None, "text", [], {"kind": "NIMService"}])
def test_plan_resource_invalid_resource(resource):
    with pytest.raises(AnsibleFilterError, match="whole custom resource"):
        plan(resource)


def test_plan_resource_observed_text():
    seen = {"Service/nim/llm": {"kind": "Service", "metadata": {"name": "llm"}}}
    made = plan(NIM, pack(seen))
    assert made == plan(NIM, seen)
    assert made != plan(NIM)


def test_plan_resource_invalid_observed():
    with pytest.raises(AnsibleFilterError, match="plan_resource: observed: "):
        plan(NIM, "text")
