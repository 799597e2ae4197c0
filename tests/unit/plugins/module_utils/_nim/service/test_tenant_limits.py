# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._builders.nim_metadata import CACHE_NAMES
from ansible_collections.nimops.nim.plugins.module_utils._builders.tenant_limits import (
    read_switches,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.desired import desired
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.kind import KIND
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.reads import reads
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.status import assess
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.tenant_limits import (
    refuse_forbidden,
)

HARDENED = {
    "NIMOPS_HOST_PATHS": "/data", "NIMOPS_ROOT_USER": "forbid",
    "NIMOPS_INGRESS_ANNOTATIONS": "good.example/*", "NIMOPS_POD_LABELS": "team",
}  # fmt: skip
KSERVE = {"inferencePlatform": "kserve"}
INGRESS = {"hostDomainName": "example.com", "ingress": {"ingressClass": "nginx"}}
GATEWAY = {"hostDomainName": "example.com", "gateway": {"name": "g", "namespace": "gw"}}
BAD, GOOD = {"nginx.ingress.kubernetes.io/x": "y"}, {"good.example/x": "y"}
EPP = {
    "eppConfig": {
        "containerSpec": {"name": "epp", "image": {"repository": "epp", "tag": "1"}},
        "config": {"plugins": []},
    }
}
KNATIVE = {"serving.kserve.io/deploymentMode": "Knative", "autoscaling.knative.dev/min-scale": "1"}


def switches(**environment):
    return {"operator": read_switches(environment)}


def expose(router=None, **fields):
    return {
        "expose": {"service": {"port": 8000}, **fields} | ({"router": router} if router else {})
    }


REFUSE_FORBIDDEN = {
    "nothing special": ({}, []),
    "host path below": ({"storage": {"hostPath": "/data/x"}}, []),
    "host path": (
        {"storage": {"hostPath": "/etc"}},
        ['spec.storage.hostPath: "/etc"', "NIMOPS_HOST_PATHS allows /data"],
    ),
    "a user": ({"userID": 1}, []),
    "the root group is not the root user": ({"groupID": 0}, []),
    "root": ({"userID": 0}, ["spec.userID: 0", "NIMOPS_ROOT_USER"]),
    "certificates": ({"proxy": {"certConfigMap": "ca"}}, []),
    "a proxy": ({"proxy": {"httpProxy": "http://p"}}, []),
    "label": ({"labels": {"team": "x"}}, []),
    "label of another Service": (
        {"labels": {"app": "other"}}, ['spec.labels: "app"', "NIMOPS_POD_LABELS allows team"],
    ),
    "label that ours replaces": ({"labels": {"app.kubernetes.io/name": "x"}}, []),
    "label of the Service": (
        expose(service={"port": 1, "labels": {"app": "x"}}), ['spec.expose.service.labels: "app"'],
    ),
    "label on KServe": (KSERVE | {"labels": {"app": "x"}}, ['spec.labels: "app"']),
    "annotation, and no Ingress": ({"annotations": BAD}, []),
    "annotation of all, with an Ingress": (
        {"annotations": BAD} | expose(INGRESS),
        ['spec.annotations: "nginx.ingress.kubernetes.io/x"', "NIMOPS_INGRESS_ANNOTATIONS"],
    ),
    "annotation of all, with a route": (
        {"annotations": BAD} | expose(GATEWAY),
        ['spec.annotations: "nginx.ingress.kubernetes.io/x"'],
    ),
    "annotation": ({"annotations": GOOD} | expose(INGRESS), []),
    "annotation that ours replaces": (
        {"annotations": {"openshift.io/required-scc": "privileged"}} | expose(INGRESS), [],
    ),
    "annotation of the Ingress": (
        expose(INGRESS | {"annotations": BAD}), ["spec.expose.router.annotations: "],
    ),
    "annotation of the route": (
        expose(GATEWAY | {"annotations": BAD}), ["spec.expose.router.annotations: "],
    ),
    "annotation of the deprecated Ingress": (
        expose(ingress={"enabled": True, "annotations": BAD}),
        ["spec.expose.ingress.annotations: "],
    ),
    "no Ingress after all": (expose(ingress={"enabled": False, "annotations": BAD}), []),
    "a good Ingress and a bad route": (
        expose(GATEWAY | {"annotations": BAD}, ingress={"enabled": True, "annotations": GOOD}),
        ["spec.expose.router.annotations: "],
    ),
    "annotations of KServe": (KSERVE | {"annotations": KNATIVE}, []),
    "what KServe would copy to its Ingress": (
        KSERVE | {"annotations": KNATIVE | BAD},
        ['spec.annotations: "nginx.ingress.kubernetes.io/x"'],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "problems"), REFUSE_FORBIDDEN.values(), ids=REFUSE_FORBIDDEN)
def test_refuse_forbidden(make, spec, problems):
    cr = make.cr(spec)
    refuse_forbidden(make.app(cr))
    if not problems:
        refuse_forbidden(make.app(cr, **switches(**HARDENED)))
        return
    with pytest.raises(NimError) as raised:
        refuse_forbidden(make.app(cr, **switches(**HARDENED)))
    assert raised.value.reason == "Forbidden"
    assert all(text in str(raised.value) for text in problems), str(raised.value)


@pytest.mark.parametrize("name", CACHE_NAMES)
def test_refuse_forbidden_reserved_names(make, name):
    with pytest.raises(NimError, match=name) as raised:
        refuse_forbidden(make.app(make.cr(name=name)))
    assert raised.value.reason == "NameReserved"


def test_refuse_forbidden_running_service(make):
    """A Ready service stays unchanged when the operator starts to forbid its spec."""
    cr = make.cr({"userID": 0}, {"state": "Ready", "model": {"name": "m"}})
    cluster = make.cluster()
    cluster.run_pass(cr)
    answers = cluster.observe(cr) | switches(NIMOPS_ROOT_USER="forbid")
    _wanted, plan = steps.plan(KIND, cr, Observed(answers))
    assert (plan.apply, plan.adopt, plan.prune) == ([], [], [])
    outcome = Outcome(failure=plan.failure, failure_reason=plan.failure_reason)
    result = assess(NIMServiceApp(cr, Observed(answers)), outcome)
    assert (result.error, result.requeue.after, result.status["state"]) == ("", False, "Failed")
    failed, stalled = (item for item in result.status["conditions"] if item["status"] == "True")
    assert (failed["type"], stalled["type"]) == ("Failed", "Stalled")
    for item in (failed, stalled):
        assert item["reason"] == "Forbidden"
        assert "spec.userID: 0 is forbidden" in item["message"]
    assert result.status["model"] == {"name": "m"}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="one node"),
        pytest.param({"multiNode": {"parallelism": {"pipeline": 2}}}, id="several nodes"),
        pytest.param(expose(EPP), id="with a picker"),
    ],
)
def test_selected_pods_refused(make, spec):
    """Services are read only if labels are restricted and new pods are possible."""
    cr = make.cr(spec)
    stolen = {"metadata": {"name": "db"}, "spec": {"selector": {"app.kubernetes.io/name": "llm"}}}
    for labels, is_refused in (("*", False), ("team", True)):
        answers = make.cluster(**switches(NIMOPS_POD_LABELS=labels)).observe(cr)
        assert ("Service/ns/*" in answers) is is_refused
        _wanted, plan = steps.plan(KIND, cr, Observed(answers | {"Service/ns/*": [stolen]}))
        problem = 'Service "db" selects pods with app.kubernetes.io/name=llm'
        assert plan.failure.count(problem) == is_refused, plan.failure
        assert bool(plan.apply) is not is_refused


@pytest.mark.parametrize("is_running", [True, False])
def test_selected_pods_settled_service(make, is_running):
    cr = make.cr({}, {"state": "Ready", "observedGeneration": 2})
    live = make.rolled_out(cr) if is_running else None
    answers = {**switches(NIMOPS_POD_LABELS=""), "Deployment/ns/llm": live}
    found = {read.key for read in reads(NIMServiceApp(cr, Observed(answers)))}
    assert ("Service/ns/*" in found) is not is_running


@pytest.mark.parametrize(("value", "is_set"), [("allow", False), ("forbid", True), ("x", True)])
def test_picker_pod_without_root(make, value, is_set):
    observed = make.observe(**switches(NIMOPS_ROOT_USER=value))
    (picker,) = (
        child.manifest
        for child in desired(NIMServiceApp(make.cr(expose(EPP)), observed)).children
        if (child.manifest["kind"], child.manifest["metadata"]["name"]) == ("Deployment", "llm-epp")
    )
    pod = picker["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert "securityContext" not in pod
    assert (container.get("securityContext") or {}).get("runAsNonRoot", False) is is_set
