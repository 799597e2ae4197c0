# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.nimops.nim.plugins.filter import generate_keys as door
from ansible_collections.nimops.nim.plugins.filter.plan_resource import FilterModule as Plan
from ansible_collections.nimops.nim.plugins.module_utils._cluster import private_keys as keys

generate_keys = door.FilterModule().filters()["generate_keys"]

NIM = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMService",
    "metadata": {"name": "llm", "namespace": "nim", "uid": "1"},
    "spec": {
        "image": {"repository": "nvcr.io/nim/llm", "tag": "1.0"},
        "storage": {"emptyDir": {}},
        "multiNode": {"parallelism": {"pipeline": 2}},
    },
}


def test_what_was_planned_gets_its_key():
    planned = Plan().filters()["plan_resource"](NIM)["apply"]
    made = generate_keys(planned)
    assert "<generated>" in str(planned)
    assert "<generated>" not in str(made)
    without = [item for item in planned if item["kind"] != "Secret"]
    assert [item for item in made if item["kind"] != "Secret"] == without


def test_the_example_is_how_the_role_applies():
    (task,) = yaml.safe_load(door.EXAMPLES)
    assert "| nimops.nim.generate_keys" in task["kubernetes.core.k8s"]["definition"]
    assert task["no_log"] is True


@pytest.mark.parametrize("given", [None, "text", {}, ["text"]])
def test_what_is_no_list_of_objects_is_refused(given):
    with pytest.raises(AnsibleFilterError, match="list of objects"):
        generate_keys(given)


def test_a_missing_package_is_an_error_of_the_filter(monkeypatch):
    monkeypatch.setattr(keys, "CRYPTOGRAPHY_IMPORT_ERROR", "No module named x")
    with pytest.raises(AnsibleFilterError, match="generate_keys: the Python package cryptography"):
        generate_keys([{"kind": "Secret", "data": {"k": "<generated>"}}])
