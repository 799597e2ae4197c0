# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The policies check all of our kinds and nothing else, and agree with the operator."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import KINDS
from ansible_collections.nimops.nim.plugins.module_utils._engine.runtime_annotations import (
    DURATION,
    NUMBER,
    RANGES,
)
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names

ADMISSION = Path(__file__).resolve().parents[3] / "config/admission"
OWN = {(KINDS[name].group, KINDS[name].plural) for name in kind_names()}
INSTALLATION = "one-installation"
ITEMS = [
    item
    for path in sorted(ADMISSION.glob("*_*.yaml"))
    if path.name != "operator_account.yaml"  # test_operator_account.py
    for item in yaml.safe_load_all(path.read_text())
]
POLICIES = [
    item
    for item in ITEMS
    if item["kind"] == "ValidatingAdmissionPolicy" and item["metadata"]["name"] != INSTALLATION
]
ANNOTATIONS = next(item for item in POLICIES if item["metadata"]["name"] == "runtime-annotations")


def test_one_installation_bindings():
    """tests/admission/test_one_installation.py applies it."""
    (policy,) = (
        item["spec"]
        for item in ITEMS
        if item["metadata"]["name"] == INSTALLATION and "policyName" not in item["spec"]
    )
    constraints = policy["matchConstraints"]
    assert constraints["objectSelector"] == {"matchLabels": {"app.kubernetes.io/name": "nimops"}}
    (rule,) = constraints["resourceRules"]
    assert (rule["resources"], rule["operations"]) == (["clusterrolebindings"], ["UPDATE"])


def load_rules(policy: dict) -> list[dict]:
    return policy["spec"]["matchConstraints"]["resourceRules"]


def resources_of(policy: dict) -> list[tuple[str, str]]:
    """Group and name of each resource that a policy checks."""
    return [
        (group, name)
        for rule in load_rules(policy)
        for group in rule["apiGroups"]
        for name in rule["resources"]
    ]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda item: item["metadata"]["name"])
def test_policy_operations(policy):
    assert {tuple(rule["operations"]) for rule in load_rules(policy)} == {("CREATE", "UPDATE")}
    # No subresources: a status is never blocked, and Kubernetes keeps its writers from the metadata.
    assert set(resources_of(policy)) <= OWN
    assert policy["spec"]["failurePolicy"] == "Fail"
    bindings = [
        item["spec"]
        for item in ITEMS
        if item["spec"].get("policyName") == policy["metadata"]["name"]
    ]
    assert bindings == [{"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}]


def test_annotations_all_kinds():
    assert sorted(resources_of(ANNOTATIONS)) == sorted(OWN)


@pytest.mark.parametrize(("name", "range_"), RANGES.items(), ids=str)
def test_annotation_ranges(name, range_):
    [rule] = [item for item in ANNOTATIONS["spec"]["validations"] if name in item["message"]]
    assert rule["message"] == f"metadata.annotations[{name}]: must be {range_}"
    expression = rule["expression"]
    if range_.is_duration:
        assert f"matches(r'^{DURATION}$')" in expression
        bounds = (f"duration('{range_.minimum}')", f"duration('{range_.maximum}')")
    else:
        assert f"matches('^{NUMBER}$')" in expression
        bounds = (range_.minimum, range_.maximum)
    assert f">= {bounds[0]} " in expression
    assert expression.endswith(f"<= {bounds[1]}")


def test_annotations_no_others():
    assert len(ANNOTATIONS["spec"]["validations"]) == len(RANGES)
