# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Groups of pods, their companions, and their replacement of a Deployment and vice versa."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import key_of
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import (
    ReadPresence,
    ReadProtocol,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.desired import desired
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.reads import reads

GROUP = {"parallelism": {"pipeline": 2}}
MPI = {"multiNode": GROUP}
RAY = {"multiNode": GROUP | {"ray": {"rayPort": 6379}}}
CREATE = {"multiNode": GROUP | {"computeDomain": {"create": True}}}
NAMED = {"multiNode": GROUP | {"computeDomain": {"name": "shared"}}}
BASE = ["ServiceAccount/ns/llm", "Role/ns/llm", "RoleBinding/ns/llm", "Service/ns/llm"]
FILES = ["ConfigMap/ns/llm-mpi-config", "ConfigMap/ns/llm-mpi-start-script", "Secret/ns/llm-ssh-pk"]
CLAIMS = ["ResourceClaim/ns/*", "ResourceClaimTemplate/ns/cd-claimtemplate-df94b6548"]
SET, DEPLOYMENT = "LeaderWorkerSet/ns/llm-lws", "Deployment/ns/llm"
SHARED = {
    "kind": "ComputeDomain",
    "metadata": {"name": "shared"},
    "spec": {"channel": {"resourceClaimTemplate": {"name": "t"}}},
}
OF_FEATURES = ("Ingress", "HTTPRoute", "GRPCRoute", "HorizontalPodAutoscaler", "ServiceMonitor")


def keys(wanted):
    return [key_of(child.manifest) for child in wanted.children]


def selector(wanted):
    (service,) = (c.manifest for c in wanted.children if c.manifest["kind"] == "Service")
    return service["spec"]["selector"]


def unwanted(wanted):
    return [f"{kind}/{name}" for kind, name in wanted.unwanted if kind not in OF_FEATURES]


@pytest.mark.parametrize(
    ("spec", "more"),
    [
        pytest.param(MPI, [*FILES, SET], id="MPI"),
        pytest.param(RAY, [SET], id="Ray"),
        pytest.param(CREATE, ["ComputeDomain/ns/llm", *FILES, SET], id="a ComputeDomain of ours"),
        pytest.param(NAMED, [*FILES, SET], id="a ComputeDomain of others"),
    ],
)
def test_group_children(make, spec, more):
    wanted = desired(make.app(spec, SHARED))
    assert keys(wanted) == BASE + more
    assert selector(wanted) == {"app": "llm-lws", "nim-llm-role": "leader"}
    assert unwanted(wanted) == []
    left_alone = [child.manifest["kind"] for child in wanted.children if child.create_only]
    assert left_alone == (["Secret"] if FILES[0] in more else [])


def test_group_children_hostfiles(make):
    for replicas in (0, 1, 3):
        wanted = desired(make.app(MPI | {"replicas": replicas}))
        files = {key_of(child.manifest): child.manifest for child in wanted.children}[FILES[0]]
        assert len(files["data"]) == replicas


def test_group_children_without_store(make):
    wanted = desired(make.app(MPI | {"storage": {"nimCache": {"name": "c"}}}))
    assert keys(wanted) == BASE


def test_group_children_missing_domain(make):
    wanted = desired(make.app(NAMED))
    assert keys(wanted) == BASE
    assert wanted.failure is not None
    assert wanted.failure.reason == "ComputeDomainFailed"


GROUP_READS_CASES = {
    "one node: nothing more": ({}, []),
    "one stage": ({"multiNode": {"parallelism": {"pipeline": 1}}}, []),
    "MPI": (MPI, [*FILES[:2], SET, FILES[2]]),
    "Ray": (RAY, [SET]),
    "domain": (CREATE, [*FILES[:2], "ComputeDomain/ns/llm", SET, FILES[2], *CLAIMS]),
    "named domain, its template is not known yet": (
        NAMED,
        [*FILES[:2], "ComputeDomain/ns/shared", SET, FILES[2], CLAIMS[0]],
    ),
}


@pytest.mark.parametrize(("spec", "more"), GROUP_READS_CASES.values(), ids=GROUP_READS_CASES)
def test_group_reads(make, spec, more):
    usual = [read.key for read in reads(make.app())]
    found = reads(make.app(spec))
    assert [read.key for read in found if read.key not in usual] == more
    secrets = [type(read) for read in found if read.target and read.target.kind == "Secret"]
    assert secrets == ([ReadPresence] if FILES[2] in more else [])


@pytest.mark.parametrize("known", [False, True])
def test_group_reads_protocol(make, known):
    observed = make.observe(**({SET: None} if known else {}), **{DEPLOYMENT: None})
    found = reads(NIMServiceApp(make.cr(MPI), observed))
    assert any(isinstance(read, ReadProtocol) for read in found) is known


def workloads(cluster):
    return sorted(key for key in cluster.objects if key in (SET, DEPLOYMENT))


def serves(cluster):
    return str(cluster.objects["Service/ns/llm"]["spec"]["selector"]["app"])


def test_groups_from_one_node(make):
    """The old workload is deleted once the new one exists; then the Service switches."""
    cluster = make.cluster()
    cluster.run_pass(make.cr())
    steps = []
    for _ in range(4):
        gone = cluster.run_pass(make.cr(MPI))
        steps.append((gone, workloads(cluster), serves(cluster)))
    assert steps == [
        ([], [DEPLOYMENT, SET], "llm"),
        ([DEPLOYMENT], [SET], "llm"),
        ([], [SET], "llm-lws"),
        ([], [SET], "llm-lws"),
    ]


def test_groups_to_one_node(make):
    cluster = make.cluster()
    cluster.run_pass(make.cr(CREATE))
    steps = []
    for _ in range(4):
        gone = cluster.run_pass(make.cr())
        steps.append((gone, workloads(cluster), serves(cluster)))
    assert steps == [
        ([], [DEPLOYMENT, SET], "llm-lws"),
        ([*FILES[:2], "ComputeDomain/ns/llm", SET], [DEPLOYMENT], "llm-lws"),
        ([], [DEPLOYMENT], "llm"),
        ([], [DEPLOYMENT], "llm"),
    ]
    assert FILES[2] in cluster.objects, "the operator may not delete Secrets"
    last = [read.key for read in reads(make.app(make.cr(status=SETTLED), **cluster.objects))]
    assert SET not in last


@pytest.mark.parametrize(
    ("before", "after", "refused", "served"),
    [
        pytest.param({}, MPI, "LeaderWorkerSet", "llm", id="no LWS API"),
        pytest.param(MPI, {}, "Deployment", "llm-lws", id="no Deployment"),
    ],
)
def test_groups_new_workload_refused(make, before, after, refused, served):
    cluster = make.cluster()
    cluster.run_pass(make.cr(before))
    (workload,) = workloads(cluster)
    for _ in range(3):
        assert cluster.run_pass(make.cr(after), refused) == []
        assert (workloads(cluster), serves(cluster)) == ([workload], served)


LEFT_BEHIND = [*FILES[:2], "ComputeDomain/ns/llm", SET]
SETTLED = {"state": "Ready", "observedGeneration": 2}
BY_REFERENCE = {"state": "Ready"}


def left_behind(make):
    """A service of one node whose groups the reference operator did not delete."""
    cluster = make.cluster()
    cluster.run_pass(make.cr(CREATE))
    groups = dict(cluster.objects)
    cluster.objects.clear()
    cluster.run_pass(make.cr())
    cluster.objects |= {key: groups[key] for key in [*LEFT_BEHIND, FILES[2]]}
    return cluster


@pytest.mark.parametrize(
    ("status", "gone"),
    [
        pytest.param(BY_REFERENCE, LEFT_BEHIND, id="taken over"),
        pytest.param(SETTLED | {"observedGeneration": 1}, LEFT_BEHIND, id="spec changed"),
        pytest.param(SETTLED | {"state": "Failed"}, LEFT_BEHIND, id="failed"),
        pytest.param(SETTLED, [], id="settled: not looked for"),
        pytest.param(SETTLED | {"state": "NotReady"}, [], id="under way: not looked for"),
        pytest.param(None, LEFT_BEHIND, id="restored"),
    ],
)
def test_group_leftovers_of_reference(make, status, gone):
    cluster = left_behind(make)
    assert cluster.run_pass(make.cr(status=status)) == gone
    assert serves(cluster) == "llm", "the Service never leads back to them"
    assert FILES[2] in cluster.objects


def test_group_leftovers_foreign(make):
    cluster = left_behind(make)
    for key in LEFT_BEHIND:
        cluster.objects[key]["metadata"]["ownerReferences"][0]["uid"] = "another"
    assert cluster.run_pass(make.cr(status=BY_REFERENCE)) == []


def test_group_leftovers_serve_without_deployment(make):
    """Nothing else serves; from then on, the Service shows that the groups are to be replaced."""
    cluster = left_behind(make)
    del cluster.objects[DEPLOYMENT]
    without_store = {"storage": {"nimCache": {"name": "late"}}}
    assert cluster.run_pass(make.cr(without_store, BY_REFERENCE)) == []
    assert serves(cluster) == "llm-lws"
    steps = []
    for _ in range(3):
        gone = cluster.run_pass(make.cr(status=SETTLED | {"state": "NotReady"}))
        steps.append((gone, serves(cluster)))
    assert steps == [([], "llm-lws"), (LEFT_BEHIND, "llm-lws"), ([], "llm")]


def test_groups_leftover_deployment(make):
    cluster = make.cluster()
    cluster.run_pass(make.cr())
    deployment = cluster.objects[DEPLOYMENT]
    cluster.objects.clear()
    cluster.run_pass(make.cr(MPI))
    cluster.objects[DEPLOYMENT] = deployment
    assert cluster.run_pass(make.cr(MPI, SETTLED)) == [DEPLOYMENT]
    assert serves(cluster) == "llm-lws"


@pytest.mark.parametrize("status", [SETTLED, None], ids=["settled", "new"])
def test_group_reads_settled_service(make, status):
    observed = make.observe(**({} if status else {DEPLOYMENT: None}))
    assert SET not in [read.key for read in reads(NIMServiceApp(make.cr(status=status), observed))]


def test_groups_terminating_deployment(make):
    cluster = make.cluster()
    cluster.run_pass(make.cr())
    cluster.objects[DEPLOYMENT]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    cluster.run_pass(make.cr(MPI))
    assert serves(cluster) == "llm-lws"


def test_groups_foreign_deployment(make):
    cluster = make.cluster()
    theirs = {"kind": "Deployment", "metadata": {"name": "llm", "namespace": "ns"}, "spec": {}}
    cluster.objects[DEPLOYMENT] = theirs
    for _ in range(3):
        assert cluster.run_pass(make.cr(MPI)) == []
    assert (cluster.objects[DEPLOYMENT], serves(cluster)) == (theirs, "llm-lws")
