# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Real results of kubernetes.core.k8s as input of `make_outcome`."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.task_results import make_outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Refusal
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan

NAMESPACE = "/api/v1/namespaces/nim"


def config_map(name, **metadata):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "nim", **metadata},
        "data": {},
    }


FINE, DENIED, VANISHING, ABSENT, REPLACED = (
    config_map(name, uid=f"u-{name}")
    for name in ("fine", "denied", "vanishing", "absent", "replaced")
)
FRESH, APPEARED = (config_map(name, resourceVersion="1") for name in ("fresh", "appeared"))
CHANGED = config_map("changed", resourceVersion="1")
UNKNOWN = config_map("unknown") | {
    "apiVersion": "gateway.networking.k8s.io/v1",
    "kind": "HTTPRoute",
}
NO = 'admission webhook "w.example" denied the request: it\'s "no"'


@pytest.fixture(scope="module")
def results(play, new_cluster, refused, tmp_path_factory):
    cluster = new_cluster()
    cluster.missing_kinds = {"HTTPRoute", "GRPCRoute"}
    cluster.put(f"{NAMESPACE}/configmaps/fine", FINE)
    cluster.put(f"{NAMESPACE}/configmaps/denied", DENIED)
    cluster.put(f"{NAMESPACE}/configmaps/vanishing", VANISHING)
    cluster.put(f"{NAMESPACE}/configmaps/replaced", config_map("replaced", uid="u-another"))
    cluster.put(f"{NAMESPACE}/configmaps/appeared", config_map("appeared", uid="u-another"))
    cluster.put(f"{NAMESPACE}/configmaps/changed", CHANGED)
    cluster.refuse["PATCH", f"{NAMESPACE}/configmaps/denied"] = [refused(403, NO)] * 3
    cluster.refuse["DELETE", f"{NAMESPACE}/configmaps/denied"] = [refused(403, NO)]
    cluster.refuse["DELETE", f"{NAMESPACE}/configmaps/vanishing"] = [refused(404, "it is gone")]
    names = {"fine": FINE, "denied": DENIED, "unknown": UNKNOWN}
    names |= {"vanishing": VANISHING, "absent": ABSENT, "replaced": REPLACED}
    names |= {"fresh": FRESH, "appeared": APPEARED, "changed": CHANGED}
    try:
        return play("results", cluster, tmp_path_factory.mktemp("results"), **names)[1]
    finally:
        cluster.server.close()


REFUSED = Refusal("ConfigMap", "denied", NO)
NO_KIND = Refusal(
    "HTTPRoute",
    "unknown",
    'no matches for kind "HTTPRoute" in version "gateway.networking.k8s.io/v1"',
)


@pytest.mark.parametrize(
    ("result", "wanted", "written", "refusals"),
    [
        pytest.param("one", [FINE], ["ConfigMap/nim/fine"], [], id="one"),
        pytest.param("one_refused", [DENIED], [], [REFUSED], id="one refused"),
        pytest.param(
            "several",
            [DENIED, UNKNOWN, FINE],
            ["ConfigMap/nim/fine"],
            [REFUSED, NO_KIND],
            id="several",
        ),
        pytest.param("skipped", [], [], [], id="skipped"),
    ],
)
def test_results_of_apply(results, result, wanted, written, refusals):
    found = make_outcome(Plan(apply=wanted), {"first": results[result]}, "", dry=False)
    assert list(found.written) == written
    assert found.refusals == refusals
    assert all(item["metadata"]["resourceVersion"] for item in found.written.values())


def test_results_of_delete(results):
    plan = {"prune": [FINE, DENIED, VANISHING, ABSENT, REPLACED]}
    found = make_outcome(Plan.from_dict(plan), {"prune": results["deleted"]}, "", dry=False)
    assert found.refusals == [REFUSED]
    assert found.deleted == [
        "ConfigMap/nim/fine",
        "ConfigMap/nim/vanishing",
        "ConfigMap/nim/absent",
    ]
    assert found.raced == ["ConfigMap/nim/replaced"]


def test_results_of_create_existing(results):
    found = make_outcome(Plan(apply=[FRESH, APPEARED]), {"first": results["raced"]}, "", dry=False)
    assert list(found.written) == ["ConfigMap/nim/fresh"]
    assert (found.raced, found.refusals) == (["ConfigMap/nim/appeared"], [])


@pytest.mark.parametrize(
    ("result", "adopt", "raced"),
    [
        ("adopted", [FINE, CHANGED, DENIED], ["ConfigMap/nim/changed"]),
        ("adopted_one", [CHANGED], ["ConfigMap/nim/changed"]),
        ("skipped", [CHANGED], []),
    ],
)
def test_results_of_adopt(results, result, adopt, raced):
    """A refusal that is not a race is not repeated: the next pass would only be refused again."""
    found = make_outcome(Plan(adopt=adopt), {"adopt": results[result]}, "", dry=False)
    assert (found.raced, found.refusals) == (raced, [])
