# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""APIs, namespaces and operators."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.apis import (
    check_apis,
    check_namespaces,
    check_operator,
    operator_needs,
    versions_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.workloads import (
    Rendered,
)

OURS = "apps.nvidia.com/v1alpha1"
MONITOR = {
    "apiVersion": "monitoring.coreos.com/v1",
    "kind": "ServiceMonitor",
    "metadata": {"name": "llm", "namespace": "nim"},
}
SERVED = {OURS: frozenset({"NIMService"}), MONITOR["apiVersion"]: frozenset({"ServiceMonitor"})}


def test_versions_of_resources_and_objects(make_rendered):
    assert list(versions_of(make_rendered(MONITOR))) == [
        (OURS, "NIMService"),
        ("monitoring.coreos.com/v1", "ServiceMonitor"),
    ]


def test_check_apis_served(make_rendered, make_facts, levels):
    found = levels(check_apis(make_rendered(MONITOR), make_facts(versions=SERVED)))
    assert [level for level, _message in found] == ["ok", "ok"]


@pytest.mark.parametrize("kinds", [None, frozenset({"PodMonitor"})])
def test_check_apis_not_served(make_rendered, make_facts, kinds):
    versions = SERVED | {"monitoring.coreos.com/v1": kinds}
    served = {"monitoring.coreos.com": ("monitoring.coreos.com/v1beta1",)}
    facts = make_facts(versions=versions, served=served)
    _ours, reporter = check_apis(make_rendered(MONITOR), facts)
    (check,) = reporter.found
    assert (check.level, check.message) == (
        "error",
        "the API server does not serve ServiceMonitor (monitoring.coreos.com/v1); of this API it"
        " has monitoring.coreos.com/v1beta1",
    )
    assert check.remedy == "install the Prometheus Operator, or set metrics.enabled to false"


def test_check_apis_without_crds(make_rendered, make_facts):
    (reporter,) = check_apis(make_rendered(), make_facts(versions={OURS: None}))
    assert "nimops.nim.install" in reporter.found[0].remedy


def deployment(name, image="a", replicas=1, **variables):
    env = [{"name": key, "value": value} for key, value in variables.items()]
    container = {"name": "c", "image": image, "env": env}
    return {
        "metadata": {
            "name": "operator",
            "namespace": "ops",
            "labels": {"app.kubernetes.io/name": name},
        },
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [container]}}},
    }


OPERATORS = {
    "none": ([], "warning"),
    "ours": ([deployment("nimops")], "ok"),
    "the reference": ([deployment("k8s-nim-operator", image="x/k8s-nim-operator:1")], "ok"),
    "scaled down": ([deployment("nimops", replicas=0)], "warning"),
    "of this namespace": ([deployment("nimops", WATCH_NAMESPACE="a,nim")], "ok"),
    "of other namespaces": ([deployment("nimops", WATCH_NAMESPACE="a,b")], "warning"),
}


@pytest.mark.parametrize("case", OPERATORS)
def test_check_operator(make_rendered, make_facts, levels, case):
    deployments, level = OPERATORS[case]
    facts = make_facts(lists={"Deployment": deployments})
    assert [found for found, _text in levels(check_operator(make_rendered(), facts))] == [level]


def test_operator_needs_of_our_kinds_only(make_rendered, make_facts):
    assert operator_needs(make_rendered()).lists == {("Deployment", "")}
    assert operator_needs(Rendered({})).lists == frozenset()
    assert check_operator(make_rendered(), make_facts()) == []


@pytest.mark.parametrize(
    ("metadata", "level"),
    [({}, "ok"), ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, "error"), (None, "error")],
)
def test_check_namespaces(make_rendered, make_facts, levels, metadata, level):
    absent = [("Namespace", "nim")] if metadata is None else []
    item = {"kind": "Namespace", "metadata": {"name": "nim", **(metadata or {})}}
    facts = make_facts(*([] if absent else [item]), absent=absent)
    ((found, _text),) = levels(check_namespaces(make_rendered(), facts))
    assert found == level
