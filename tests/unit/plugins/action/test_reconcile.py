# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The action plugins, the filter and the role in Ansible, against a fake API server."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names

NAMESPACE = "/api/v1/namespaces/nim"
SERVICES = "/apis/apps.nvidia.com/v1alpha1/namespaces/nim/nimservices"
DEPLOYMENTS = "/apis/apps/v1/namespaces/nim/deployments"
CANARY = Path(tempfile.gettempdir(), f"nimops-evaluated-{os.getpid()}")
TEMPLATE = f"{{{{ lookup('ansible.builtin.pipe', 'touch {CANARY}') }}}}"
BLIND = f"deployments.apps is forbidden {TEMPLATE}"
NO = f'admission webhook "w.example" denied the request: it\'s "no" {TEMPLATE}'


def nim_service(name, **spec):
    return {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMService",
        "metadata": {"name": name, "namespace": "nim", "generation": 3},
        "spec": {
            "image": {"repository": "nvcr.io/nim/llm", "tag": "1.0", "pullSecrets": ["ngc"]},
            "authSecret": "ngc-api",
            "storage": {"emptyDir": {}},
            "expose": {"service": {"type": "ClusterIP", "port": 8000}},
            "env": [
                {"name": "PLAIN", "value": "s3cr3t-{{ 1 + 1 }}"},
                {"name": "T", "value": TEMPLATE},
            ],
            "scale": {"enabled": True, "hpa": {"minReplicas": 1, "maxReplicas": 2}},
            **spec,
        },
    }


def as_the_runtime_passes_it(value):
    """Text of the user is marked, so that it is not templated."""
    if isinstance(value, dict):
        return {key: as_the_runtime_passes_it(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_the_runtime_passes_it(item) for item in value]
    return {"__ansible_unsafe": value} if isinstance(value, str) else value


@pytest.fixture(scope="module")
def reconciled(play, new_cluster, refused, tmp_path_factory):
    """(cluster, process, results, folder) after reconcile.yml."""
    cluster, folder = new_cluster(), tmp_path_factory.mktemp("reconcile")
    fine = cluster.put(f"{SERVICES}/fine", nim_service("fine"))
    denied = cluster.put(f"{SERVICES}/denied", nim_service("denied"))
    known = nim_service("unseen") | {"status": {"state": "Ready"}}  # or no child would be read
    unseen = cluster.put(f"{SERVICES}/unseen", known)
    cluster.refuse["GET", f"{DEPLOYMENTS}/unseen"] = [refused(403, BLIND)]
    gone = cluster.put(f"{SERVICES}/gone", nim_service("gone"))
    gone["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    hopeless = nim_service("hopeless", storage={"pvc": {"create": True, "size": "a lot"}})
    cluster.refuse["PATCH", f"{DEPLOYMENTS}/denied"] = [refused(403, NO)]
    given = {"fine": fine, "refused": denied, "unseen": unseen, "deleted": gone}
    given["hopeless"] = hopeless
    names = {name: as_the_runtime_passes_it(item) for name, item in given.items()}
    try:
        yield cluster, *play("reconcile", cluster, folder, **names), folder
    finally:
        cluster.server.close()


def test_role_applies_children(reconciled):
    cluster = reconciled[0]
    deployment = cluster.objects[f"{DEPLOYMENTS}/fine"]
    assert f"{NAMESPACE}/services/fine" in cluster.objects
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {"name": "PLAIN", "value": "s3cr3t-{{ 1 + 1 }}"} in container["env"], "not templated"
    (owner,) = deployment["metadata"]["ownerReferences"]
    assert owner["uid"] == cluster.objects[f"{SERVICES}/fine"]["metadata"]["uid"]
    applied = [item for item in cluster.calls("PATCH") if item.path == f"{DEPLOYMENTS}/fine"]
    assert [item.query["fieldManager"] for item in applied] == ["nimops.nim"]


def test_role_evaluates_no_template(reconciled):
    """Text of a resource, and answers and refusals of the API server."""
    cluster, process, _results, _folder = reconciled
    assert "/apis/autoscaling/v2/namespaces/nim/horizontalpodautoscalers/fine" in cluster.objects
    assert f"touch {CANARY}" in process.stdout
    assert not CANARY.exists()


def test_role_reports_status(reconciled):
    status = reconciled[0].objects[f"{SERVICES}/fine"]["status"]
    assert status["state"] == "NotReady"
    assert status["observedGeneration"] == 3


def test_role_reports_refusal_message(reconciled):
    cluster, _process, results, _folder = reconciled
    reported = cluster.objects[f"{SERVICES}/denied"]["status"]["conditions"]
    assert any(NO in item["message"] for item in reported)
    assert not any("b'" in item["message"] or '"kind":' in item["message"] for item in reported)
    assert NO in results["failure"], "it is tried again"
    assert f"{NAMESPACE}/services/denied" in cluster.objects, "the others are applied"


def test_role_reports_failed_observe(reconciled):
    cluster, _process, results, _folder = reconciled
    reported = cluster.objects[f"{SERVICES}/unseen"]["status"]["conditions"]
    assert any(BLIND in item["message"] for item in reported)
    assert BLIND in results["blindness"], "it is tried again"
    assert f"{NAMESPACE}/services/unseen" not in cluster.objects


def test_role_emits_events(reconciled):
    events = [item for path, item in reconciled[0].objects.items() if "/events/" in path]
    assert {item["involvedObject"]["name"] for item in events} == {"fine", "denied", "unseen"}
    assert any(item["type"] == "Warning" and NO in item["message"] for item in events)


def test_role_without_status_when_deleted(reconciled):
    cluster, _process, results, _folder = reconciled
    assert "status" not in cluster.objects[f"{SERVICES}/gone"]
    assert results["quiet"]["changed"] is False


def test_role_errors_are_one_line(reconciled):
    results = reconciled[2]
    assert results["lost"]["msg"].startswith("no usable kubeconfig /nowhere/config: it does not")
    assert results["nothing"]["msg"].startswith("resource: missing, ")
    known = ", ".join(kind_names())
    assert results["foreign"]["msg"] == f"kind 'Pod' is not one of {known}"


def test_nim_observe_returns_text(reconciled):
    seen, plan = (reconciled[2][name] for name in ("seen", "plan"))
    answers = json.loads(seen["observed"])
    assert {"operator", "Node/*?vsphere-tanzu", "Deployment/nim/fine", "Service/nim/fine"} <= set(
        answers
    )
    assert "s3cr3t-{{ 1 + 1 }}" in seen["observed"], "not templated"
    assert plan["apply"] == plan["stages"]["first"] + plan["stages"]["second"]


def test_nim_report_of_text_or_tree(reconciled):
    """But for the second in which each was made."""
    by_text, by_tree = (reconciled[2][name] for name in ("by_text", "by_tree"))
    for item in by_text["status"]["conditions"] + by_tree["status"]["conditions"]:
        assert item.pop("lastTransitionTime")
    assert by_text == by_tree
    assert by_text["status"]["state"] == "NotReady"


def test_role_plan_failure(reconciled):
    plan = reconciled[2]["impossible"]
    assert "spec.storage.pvc.size" in plan["failure"]
    assert plan["failure_reason"]
    kinds = {item["kind"] for item in plan["apply"]}
    assert "Service" in kinds
    assert not kinds & {"Deployment", "PersistentVolumeClaim"}


def test_role_hides_secrets_and_leaves_no_files(reconciled):
    _cluster, process, _results, folder = reconciled
    assert "s3cr3t" not in process.stdout + process.stderr
    assert "Traceback" not in process.stdout + process.stderr
    left = [path.name for path in (folder / "tmp").iterdir()]
    assert [name for name in left if not name.startswith("k8srcp-")] == []
