# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Common fields of all pods, and differences on OpenShift and TKGS."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._cluster.live import LiveCluster
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.desired import desired
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.kind import KIND
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_store import (
    Store,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.pod.probes import model_probes
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.pod.template import (
    build_template,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.pod.variant import PodVariant
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.workload import (
    container_of,
    live_template,
)

TKGS, TANZU = {"node.vmware.com/tkg": ""}, {"vsphere-tanzu": "true"}
OPENSHIFT, GKE = {"node.openshift.io/os_id": "rhcos"}, {"cloud.google.com/gke-nodepool": "a"}
SECCOMP = {"type": "RuntimeDefault"}
WORKLOADS = pytest.mark.parametrize(
    "workload",
    [
        pytest.param({}, id="Deployment"),
        pytest.param({"multiNode": {"parallelism": {"pipeline": 2}}}, id="MPI"),
        pytest.param(
            {"multiNode": {"parallelism": {"pipeline": 2}, "ray": {"rayPort": 6379}}}, id="Ray"
        ),
    ],
)
STORE = Store({"emptyDir": {}})


def objects_of(make, spec, *nodes):
    """The wanted objects by kind, on a cluster of nodes with these labels."""
    listed = [{"metadata": {"labels": labels}} for labels in nodes]
    wanted = desired(make.app(spec, Node=listed))
    assert wanted.failure is None
    return {child.manifest["kind"]: child.manifest for child in wanted.children}


def templates_of(objects):
    """The pod templates of the workload."""
    if deployment := objects.get("Deployment"):
        return [deployment["spec"]["template"]]
    groups = objects["LeaderWorkerSet"]["spec"]["leaderWorkerTemplate"]
    return [groups["leaderTemplate"], groups["workerTemplate"]]


@WORKLOADS
@pytest.mark.parametrize(
    ("nodes", "wanted"),
    [
        pytest.param([TKGS], SECCOMP, id="TKGS"),
        pytest.param([TANZU], SECCOMP, id="TKGS by its other label"),
        pytest.param([{}, TKGS], SECCOMP, id="a node that does not tell comes first"),
        pytest.param([OPENSHIFT, TKGS], None, id="the first that tells counts"),
        pytest.param([OPENSHIFT], None, id="OpenShift"),
        pytest.param([GKE], None, id="another"),
        pytest.param([], None, id="no nodes"),
    ],
)
def test_build_template_seccomp(make, workload, nodes, wanted):
    for template in templates_of(objects_of(make, workload, *nodes)):
        context = template["spec"]["securityContext"]
        assert context.get("seccompProfile") == wanted
        assert (context["runAsUser"], context["fsGroup"]) == (1000, 2000)


@WORKLOADS
def test_build_template_platforms(make, workload):
    plain = objects_of(make, workload)
    assert objects_of(make, workload, OPENSHIFT) == plain
    on_tkgs = copy.deepcopy(objects_of(make, workload, TKGS))
    for template in templates_of(on_tkgs):
        assert template["spec"]["securityContext"].pop("seccompProfile")
    assert on_tkgs == plain


@WORKLOADS
@pytest.mark.parametrize("nodes", [[OPENSHIFT], [GKE], []], ids=["OpenShift", "GKE", "none"])
@pytest.mark.parametrize(
    ("spec", "constraint"),
    [
        pytest.param({}, "nonroot", id="plain"),
        pytest.param({"proxy": {"httpsProxy": "http://p"}}, "nonroot", id="proxy"),
        pytest.param({"proxy": {"certConfigMap": "ca"}}, "anyuid", id="certificates"),
        pytest.param({"storage": {"hostPath": "/m"}}, "hostmount-anyuid", id="host path"),
        pytest.param(
            {"proxy": {"certConfigMap": "ca"}, "storage": {"hostPath": "/m"}}, "anyuid", id="both"
        ),
        pytest.param(
            {"annotations": {"openshift.io/required-scc": "privileged"}},
            "nonroot",
            id="not the user's",
        ),
    ],
)
def test_build_template_constraint(make, workload, nodes, spec, constraint):
    """The same on all platforms, as in the reference; without SCCs the Role has no effect."""
    objects = objects_of(make, workload | spec, *nodes)
    assert objects["Role"]["rules"] == [
        {
            "apiGroups": ["security.openshift.io"],
            "resources": ["securitycontextconstraints"],
            "resourceNames": [constraint],
            "verbs": ["use"],
        }
    ]
    assert objects["RoleBinding"]["roleRef"]["name"] == objects["Role"]["metadata"]["name"]
    (subject,) = objects["RoleBinding"]["subjects"]
    for template in templates_of(objects):
        asked = template["metadata"]["annotations"]["openshift.io/required-scc"]
        assert asked == constraint
        assert template["spec"]["serviceAccountName"] == subject["name"]
    for kind in ("ServiceAccount", "Role", "RoleBinding"):
        assert "annotations" not in objects[kind]["metadata"]


@WORKLOADS
def test_build_template_detects_tkgs(make, cluster, tmp_path, workload):
    cluster.put("/api/v1/nodes/a", {"metadata": {"name": "a", "labels": TKGS}, "status": {"x": 1}})
    cr = make.cr(workload)
    seen = Observed(steps.observe(KIND, cr, LiveCluster(Client(cluster.kubeconfig(tmp_path)))))
    assert seen.orchestrator == "TKGS"
    made = {
        child.manifest["kind"]: child.manifest
        for child in desired(NIMServiceApp(cr, seen)).children
    }
    assert all("seccompProfile" in x["spec"]["securityContext"] for x in templates_of(made))


def build_pod(make, spec, *live):
    app = make.app(spec, *live)
    variant = PodVariant(container_of(app), live_template(app), model_probes(app.spec))
    return build_template(app, STORE, variant)["spec"]


FIELDS_CASES = {
    "nodeSelector with values that YAML would read": (
        {"nodeSelector": {"a": "true", "b": "1"}}, "nodeSelector", {"a": "true", "b": "1"},
    ),
    "tolerationSeconds": (
        {"tolerations": [{"key": "a", "tolerationSeconds": 5}]}, "tolerations",
        [{"key": "a", "tolerationSeconds": 5}],
    ),
    "affinity": ({"affinity": {"nodeAffinity": {}}}, "affinity", {"nodeAffinity": {}}),
    "podAffinity is ignored": ({"podAffinity": {"x": 1}}, "affinity", None),
    "schedulerName": ({"schedulerName": "s"}, "schedulerName", "s"),
    "empty runtimeClassName": ({"runtimeClassName": ""}, "runtimeClassName", None),
    "priorityClassName": ({"priorityClassName": "p"}, "priorityClassName", "p"),
    "user 0": (
        {"userID": 0, "groupID": 5}, "securityContext",
        {"runAsUser": 0, "runAsGroup": 5, "fsGroup": 5},
    ),
    "a pull secret named twice": (
        {"image": {"repository": "r", "tag": "1", "pullSecrets": ["a", "b", "a"]}},
        "imagePullSecrets", [{"name": "a"}, {"name": "b"}],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "field", "wanted"),
    FIELDS_CASES.values(),
    ids=FIELDS_CASES,
)
def test_build_template_pod_fields(make, spec, field, wanted):
    assert build_pod(make, spec).get(field) == wanted


@pytest.mark.parametrize("is_selected", [True, False])
def test_build_template_labels(make, is_selected):
    app = make.app(operator={"version_label": "2"})
    version = "app.kubernetes.io/operator-version"
    live = {"metadata": {"labels": {version: "1"}}}
    variant = PodVariant("main", live, {}, is_selected=is_selected)
    labels = build_template(app, STORE, variant)["metadata"].get("labels")
    assert labels == (app.labels | {version: "1", "app": "llm"} if is_selected else None)


@WORKLOADS
def test_build_template_drain(make, workload):
    """Each pod of the workload gets the time, and nothing else changes."""
    plain = templates_of(objects_of(make, workload))
    cr = make.cr(workload, annotations={"nimops.nim/drain-seconds": "60"})
    for template, before in zip(templates_of(objects_of(make, cr)), plain, strict=True):
        assert template["spec"].pop("terminationGracePeriodSeconds") == 65
        hook = template["spec"]["containers"][0].pop("lifecycle")["preStop"]
        serves = "readinessProbe" in template["spec"]["containers"][0]
        assert hook == {"sleep": {"seconds": 5 if serves else 65}}
        assert template == before
