# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.conditions import condition
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import OPERATOR, Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import (
    ReadDigest,
    ReadRedacted,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.status_builder import StatusBuilder
from ansible_collections.nimops.nim.plugins.module_utils._gpu.app import StackApp
from ansible_collections.nimops.nim.plugins.module_utils._gpu.driver.license import (
    LICENSE,
    Marks,
    license_event,
    license_marks,
    license_problem,
    license_reads,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.driver.pod import DAEMON_SETS
from ansible_collections.nimops.nim.plugins.module_utils._gpu.driver.spec import Sources

NAMESPACE, NAME = "gpu-operator", "nvidia-driver-daemonset"
SOURCES = Sources(license_secret="lic", has_token=True)
READ = ReadDigest(
    "Secret", NAMESPACE, "lic", ("gridd.conf", "client_configuration_token.tok"), "uid-p", "7"
)
PODS = ReadRedacted("Pod", NAMESPACE, f"app={NAME}")


def make_app(stack, record=None, pods=None, *, is_ready=False, **answers):
    """A policy with a driver whose DaemonSet has this record, and this annotation of pods."""
    live = stack.live("DaemonSet", NAME, "ClusterPolicy", "p")
    live["metadata"]["annotations"] = {LICENSE: record} if record else {}
    live["metadata"]["generation"] = 1
    annotations = {LICENSE: pods} if pods else {}
    live["spec"] = {"template": {"metadata": {"annotations": annotations}}}
    counts = ("desiredNumberScheduled", "numberAvailable", "observedGeneration")
    updated = int(is_ready)
    live["status"] = {**dict.fromkeys(counts, 1), "updatedNumberScheduled": updated}
    resource = {"kind": "ClusterPolicy", "metadata": {"name": "p", "uid": "uid-p"}}
    found = {
        OPERATOR: {"namespace": NAMESPACE},
        DAEMON_SETS.key: [{"metadata": live["metadata"]}],
        f"DaemonSet/{NAMESPACE}/{NAME}": live,
    }
    return StackApp(resource, Observed({**found, **answers}))


def answer(version, digest):
    return {READ.key: {"version": version, "missing": [], "digest": digest}}


@pytest.mark.parametrize(
    ("record", "pods", "found", "expected"),
    [
        pytest.param(None, None, ("7", "a"), ("7 a", None), id="first record"),
        pytest.param("7 a", None, ("7", ""), ("7 a", None), id="unchanged"),
        pytest.param("7 a", None, ("8", "a"), ("8 a", None), id="same content"),
        pytest.param("7 a", None, ("8", "b"), ("8 b", "b"), id="changed"),
        pytest.param("8 b", "b", ("8", ""), ("8 b", "b"), id="changed before"),
        pytest.param("8 b", "b", ("9", "a"), ("9 a", "a"), id="changed back"),
        pytest.param("7 a", None, None, ("7 a", None), id="missing"),
        pytest.param(None, None, None, (None, None), id="missing from the start"),
    ],
)
def test_license_marks(stack, record, pods, found, expected):
    app = make_app(stack, record, pods, **(answer(*found) if found else {READ.key: None}))
    marks = license_marks(app, SOURCES, NAME)
    assert (marks.record.get(LICENSE), marks.pods.get(LICENSE)) == expected


def test_license_marks_second_daemon_set(stack):
    app = make_app(stack, "7 a", **answer("7", ""))
    assert license_marks(app, SOURCES, "other").record == {LICENSE: "7 a"}


def test_license_marks_without_license(stack):
    assert license_marks(make_app(stack, "7 a", "a"), Sources(), NAME) == Marks()


def test_license_reads(stack):
    assert license_reads(make_app(stack), Sources()) == []
    assert license_reads(make_app(stack, "7 a"), SOURCES) == [READ]
    assert license_reads(make_app(stack, "7 a", "a", is_ready=True), SOURCES) == [READ]
    assert license_reads(make_app(stack, "7 a", "a"), SOURCES) == [READ, PODS]


def pod_of(name, license_):
    annotations = {LICENSE: license_} if license_ else {}
    return {
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"nodeName": f"n{name}"},
    }


@pytest.mark.parametrize(("is_upgraded", "remedy"), [(True, "upgrade restarts"), (False, "delete")])
def test_license_problem(stack, is_upgraded, remedy):
    pods = [pod_of("a", ""), pod_of("b", "new"), pod_of("c", "old")]
    app = make_app(stack, "8 new", "new", **{PODS.key: pods})
    problem = license_problem(app, SOURCES, is_upgraded=is_upgraded)
    assert problem.startswith(
        "the license in Secret lic has changed, and these pods started with the former one:"
        " a (node na), c (node nc); "
    )
    assert remedy in problem


def test_license_problem_none(stack):
    app = make_app(stack, "8 new", "new", **{PODS.key: [pod_of("b", "new")]})
    assert license_problem(app, SOURCES, is_upgraded=False) == ""
    app = make_app(stack, "7 a", **{PODS.key: [pod_of("a", "")]})
    assert license_problem(app, SOURCES, is_upgraded=False) == "", "nothing has changed"
    many = [pod_of(f"p{number}", "") for number in range(9)]
    app = make_app(stack, "8 new", "new", **{PODS.key: many})
    assert " and 6 more;" in license_problem(app, SOURCES, is_upgraded=False)


def test_license_event_once():
    builder = StatusBuilder({})
    license_event(builder, SOURCES, "the license in Secret lic has changed, and …")
    assert [item.reason for item in builder.events] == ["LicenseChanged"]
    message = "0 of 1 pods; the license in Secret lic has changed, and …"
    known = StatusBuilder({"conditions": [condition("Reconciling", True, "x", message)]})
    license_event(known, SOURCES, "the license in Secret lic has changed, and more")
    license_event(builder := StatusBuilder({}), SOURCES, "")
    assert known.events == builder.events == []
