# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The examples in the documentation of filters have the documented results."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from jinja2.nativetypes import NativeEnvironment

ROOT = Path(__file__).resolve().parents[4]
PLUGINS = "ansible_collections.nimops.nim.plugins.filter"


def run_examples(name):
    """Each example with its templates filled in, by name of the task."""
    plugin = importlib.import_module(f"{PLUGINS}.{name}")
    environment = NativeEnvironment()
    for short, function in plugin.FilterModule().filters().items():
        environment.filters[f"nimops.nim.{short}"] = function

    def fill(value, variables):
        if isinstance(value, dict):
            return {key: fill(item, variables) for key, item in value.items()}
        if isinstance(value, list):
            return [fill(item, variables) for item in value]
        if isinstance(value, str) and "{{" in value:
            found = environment.from_string(value).render(variables)
            return found if isinstance(found, (dict, str)) else list(found)
        return value

    tasks = yaml.safe_load(plugin.EXAMPLES)
    return {
        task["name"]: fill(
            {key: value for key, value in task.items() if key not in ("name", "vars")},
            task.get("vars", {}),
        )
        for task in tasks
    }


def test_examples_of_plan_resource():
    (example,) = run_examples("plan_resource").values()
    kinds = example["ansible.builtin.debug"]["msg"]
    assert kinds == ["ServiceAccount", "Role", "RoleBinding", "Service", "Deployment"]


def test_examples_of_device_claim():
    offer, show = run_examples("device_claim").values()
    requests = offer["kubernetes.core.k8s"]["definition"]["spec"]["spec"]["devices"]["requests"]
    assert [item["name"] for item in requests] == ["big", "small"]
    assert show["ansible.builtin.debug"]["msg"] == [
        'device.driver == "gpu.nvidia.com"',
        'has(device.capacity["gpu.nvidia.com"].memory) && '
        '(device.capacity["gpu.nvidia.com"].memory).compareTo(quantity("40Gi")) > 0',
    ]


def test_examples_of_select_profiles():
    chosen, others = run_examples("select_profiles").values()
    assert chosen["ansible.builtin.debug"]["msg"] == ["big"]
    assert others["ansible.builtin.debug"]["msg"] == ["precision wanted fp8, profile has bf16"]


def test_examples_of_writable_children():
    (example,) = run_examples("writable_children").values()
    assert example["ansible.builtin.debug"]["msg"] == ["Deployment"]


def test_examples_of_all_filters():
    filters = {file.stem for file in (ROOT / "plugins/filter").glob("*.py")}
    assert filters == {*("device_claim", "plan_resource", "select_profiles", "writable_children")}


WRONG = {
    "no text": ("select_profiles", ({},), "the input must be a manifest as text in YAML"),
    "no manifest": ("select_profiles", ("[]",), "select_profiles: "),
    "no wishes": ("select_profiles", ("{}", "fp8"), "wanted must be as spec.source.ngc.model"),
    "no resource": ("plan_resource", ("llm",), "the input must be a whole custom resource"),
    "another kind": (
        "plan_resource",
        ({"kind": "Pod", "metadata": {}, "spec": {}},),
        "kind 'Pod' is not one of",
    ),
    "no answers": (
        "plan_resource",
        ({"kind": "NIMService", "metadata": {}}, "x"),
        "observed: pass what",
    ),
}


@pytest.mark.parametrize(("name", "given", "message"), WRONG.values(), ids=WRONG)
def test_filters_invalid_input(name, given, message):
    door = importlib.import_module(f"{PLUGINS}.{name}").FilterModule().filters()[name]
    with pytest.raises(AnsibleFilterError, match=re.escape(message)):
        door(*given)


@pytest.mark.parametrize(
    "name", ["plan_resource", "device_claim", "select_profiles", "writable_children"]
)
def test_examples_show_their_output(name):
    """Comments below `msg` are the result, line by line."""
    plugin = importlib.import_module(f"{PLUGINS}.{name}")
    shown = [line.strip()[2:] for line in plugin.EXAMPLES.splitlines() if line.strip()[:2] == "# "]
    results = [
        line
        for example in run_examples(name).values()
        for line in example.get("ansible.builtin.debug", {}).get("msg", [])
    ]
    assert [line for line in shown if line not in results] == []
