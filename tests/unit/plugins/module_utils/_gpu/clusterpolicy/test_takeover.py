# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A takeover changes no pod template, whatever the policy that the reference had served."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import key_of
from ansible_collections.nimops.nim.plugins.module_utils._engine.drift import has_wanted
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.desired import desired

CONFORMANCE = Path(__file__).parents[7] / "shared/conformance/gpu-operator"
CASES = sorted(path.stem for path in (CONFORMANCE / "cases").glob("*.yaml"))

pytestmark = pytest.mark.skipif(
    not CONFORMANCE.is_dir(), reason="recordings at ../shared/conformance/gpu-operator are missing"
)

WITH_CHANGING_NODES = ("01-no-gpu", "02-nodes")
"""Labels of nodes, which recordings do not contain."""

REPAIRED = {
    ("08-components", "value-beside-value-from"): "quirk 9",
    ("10-dcgm-exporter", "engine-of-the-host"): "quirk 4",
}
"""Steps in which a template differs because we fix it."""

REFUSED = {
    *("nri-without-cdi", "nri-without-toolkit", "bad-number", "no-version", "no-image"),
    *("missing-map", "missing-secret"),
    *("nri-without-cdi-from-the-start", "nri-without-toolkit-from-the-start"),
}
"""Steps whose policy cannot be served."""


def steps(case):
    """Name, spec, and the objects there are after each step with one policy."""
    recorded = json.loads((CONFORMANCE / "expected" / f"{case}.json").read_text())["steps"]
    given = yaml.safe_load((CONFORMANCE / "cases" / f"{case}.yaml").read_text())
    objects = {}
    for step, found in zip(given["steps"], recorded, strict=False):
        objects |= found["objects"]
        if "policy" in step:
            yield step["name"], step["policy"], {k: v for k, v in objects.items() if v}, given


def live_of(objects, given, gpu):
    for item in objects.values():
        if item.get("kind") == "DaemonSet":
            item["metadata"]["ownerReferences"][0]["uid"] = "uid-cluster-policy"
            yield item
    for item in given.get("before") or []:
        yield {**item, "metadata": {**item["metadata"], "namespace": gpu.namespace}}


def nodes_of(objects, given, gpu):
    """The nodes with the labels of the case and of the recording."""
    for node in given["nodes"]:
        labels = {key: value for key, value in node["labels"].items() if value is not None}
        recorded = objects[f"Node//{node['name']}"]["labels"]
        found = gpu.node(node["name"])
        found["metadata"]["labels"] = labels | recorded
        yield found


@pytest.mark.parametrize("case", [case for case in CASES if case not in WITH_CHANGING_NODES])
def test_takeover_keeps_templates(case, gpu):
    compared = 0
    for name, spec, objects, given in steps(case):
        if name in REFUSED or (case, name) in REPAIRED:
            continue
        live = {key_of(item): item for item in live_of(objects, given, gpu)}
        app = gpu.app(spec, live=live.values(), nodes=list(nodes_of(objects, given, gpu)))
        for child in desired(app).children:
            found = live.get(key_of(child.manifest))
            if child.manifest["kind"] == "DaemonSet" and found:
                compared += 1
                template = found["spec"]["template"]
                assert has_wanted(template, child.manifest["spec"]["template"]), (
                    name,
                    key_of(found),
                )
    assert compared or case.startswith("04")
