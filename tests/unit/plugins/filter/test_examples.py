# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The examples in the documentation of filters do what they say."""

from __future__ import annotations

import importlib

import pytest
import yaml
from jinja2.nativetypes import NativeEnvironment

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


def test_plan():
    (example,) = run_examples("plan").values()
    kinds = example["ansible.builtin.debug"]["msg"]
    assert kinds == ["ServiceAccount", "Role", "RoleBinding", "Service", "Deployment"]


def test_device_claim():
    offer, show = run_examples("device_claim").values()
    requests = offer["kubernetes.core.k8s"]["definition"]["spec"]["spec"]["devices"]["requests"]
    assert [item["name"] for item in requests] == ["big", "small"]
    assert show["ansible.builtin.debug"]["msg"] == [
        'device.driver == "gpu.nvidia.com"',
        '(device.capacity["gpu.nvidia.com"].memory).compareTo(quantity("40Gi")) > 0',
    ]


@pytest.mark.parametrize("name", ["plan", "device_claim"])
def test_what_an_example_shows_stands_in_it(name):
    """Comments below `msg` are the result, line by line."""
    plugin = importlib.import_module(f"{PLUGINS}.{name}")
    shown = [line.strip()[2:] for line in plugin.EXAMPLES.splitlines() if line.strip()[:2] == "# "]
    results = [
        line
        for example in run_examples(name).values()
        for line in example.get("ansible.builtin.debug", {}).get("msg", [])
    ]
    assert [line for line in shown if line not in results] == []
