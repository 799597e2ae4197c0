# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.field_ownership import (
    adopt_fields,
    unwanted_fields,
)

WANT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "llm", "namespace": "nim", "labels": {"app": "llm"}},
    "spec": {
        "replicas": 2,
        "template": {
            "spec": {
                "containers": [
                    {
                        "name": "llm-ctr",
                        "env": [{"name": "A", "value": "1"}],
                        "resources": {"limits": {"memory": "1Gi"}},
                        "ports": [{"name": "api", "containerPort": 8000}],
                    }
                ]
            }
        },
    },
}


OWN_FIELDS = {
    "f:metadata": {"f:labels": {"f:app": {}}},
    "f:spec": {
        "f:replicas": {},
        "f:template": {
            "f:spec": {
                "f:containers": {
                    'k:{"name":"llm-ctr"}': {
                        ".": {},
                        "f:name": {},
                        "f:env": {'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}}},
                        "f:resources": {"f:limits": {"f:memory": {}}},
                        "f:ports": {
                            'k:{"containerPort":8000,"protocol":"TCP"}': {".": {}, "f:name": {}}
                        },
                    }
                }
            }
        },
    },
}


def entry(fields, manager="nimops.nim", operation="Apply", **more):
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "apps/v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


def live_deployment(*entries, **spec):
    live = copy.deepcopy(WANT)
    live["metadata"] |= {"resourceVersion": "7", "managedFields": [entry(OWN_FIELDS), *entries]}
    live["spec"] |= {"progressDeadlineSeconds": 600, **spec}
    return live


EXTRA_ENV = {
    "f:spec": {
        "f:template": {
            "f:spec": {
                "f:containers": {
                    'k:{"name":"llm-ctr"}': {
                        "f:env": {'k:{"name":"B"}': {".": {}, "f:name": {}, "f:value": {}}}
                    }
                }
            }
        }
    }
}


def test_unwanted_fields_all_wanted():
    assert unwanted_fields(OWN_FIELDS, WANT) == {}


def test_unwanted_fields_leaf():
    assert unwanted_fields(EXTRA_ENV, WANT) == EXTRA_ENV


def test_unwanted_fields_set():
    assert unwanted_fields({"f:f": {'v:"a"': {}, 'v:"b"': {}}}, {"f": ["a"]}) == {
        "f:f": {'v:"b"': {}}
    }


def fields_of(claimed, manager):
    return next((item["fieldsV1"] for item in claimed if item["manager"] == manager), None)


def test_adopt_fields_own_entry():
    assert adopt_fields(live_deployment(), WANT) is None


ADOPT_FIELDS_KEEPS_FOREIGN_CASES = {
    "a controller's annotation": entry(
        {"f:metadata": {"f:annotations": {"f:deployment.kubernetes.io/revision": {}}}},
        "kube-controller-manager",
        "Update",
    ),
    "the scale subresource": entry(
        {"f:spec": {"f:replicas": {}}}, "hpa", "Update", subresource="scale"
    ),
    "status": entry({"f:status": {"f:replicas": {}}}, "kcm", "Update", subresource="status"),
    "kubectl rollout restart": entry(
        {"f:spec": {"f:template": {"f:metadata": {"f:annotations": {"f:restartedAt": {}}}}}},
        "kubectl-rollout",
        "Update",
    ),
    "annotations on the pods of groups": entry(
        {
            "f:spec": {
                "f:leaderWorkerTemplate": {
                    f"f:{role}Template": {"f:metadata": {"f:annotations": {"f:x": {}}}}
                    for role in ("leader", "worker")
                }
            }
        },
        "kueue",
        "Update",
    ),
    "annotations and labels on the pods of an InferenceService": entry(
        {"f:spec": {"f:predictor": {"f:annotations": {"f:x": {}}, "f:labels": {"f:y": {}}}}},
        "kubectl-edit",
        "Update",
    ),
    "what another applier owns": entry(EXTRA_ENV, "kustomize", "Apply"),
    "the address that a load balancer's controller gave": entry(
        {"f:spec": {"f:loadBalancerIP": {}}}, "kube-vip", "Update"
    ),
    "a field that we want": entry({"f:spec": {"f:replicas": {}}}, "kubectl", "Update"),
}


@pytest.mark.parametrize(
    "foreign", ADOPT_FIELDS_KEEPS_FOREIGN_CASES.values(), ids=ADOPT_FIELDS_KEEPS_FOREIGN_CASES
)
def test_adopt_fields_keeps_foreign(foreign):
    assert adopt_fields(live_deployment(foreign), WANT) is None


def test_adopt_fields_unset_replicas():
    want = copy.deepcopy(WANT)
    del want["spec"]["replicas"]
    foreign = entry({"f:spec": {"f:replicas": {}}}, "kubectl-patch", "Update")
    live = live_deployment(foreign)
    live["metadata"]["managedFields"][0] = entry({"f:spec": {"f:template": {}}})
    assert adopt_fields(live, want) is None


def test_adopt_fields_service_account_secrets():
    """OpenShift puts its registry's secrets into every ServiceAccount, and would do so again."""
    want = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": WANT["metadata"]}
    openshift = entry(
        {"f:imagePullSecrets": {'k:{"name":"x"}': {}}, "f:secrets": {'k:{"name":"x"}': {}}},
        "openshift-controller-manager",
        "Update",
    )
    own = entry({"f:metadata": OWN_FIELDS["f:metadata"]})
    live = want | {"metadata": WANT["metadata"] | {"managedFields": [own, openshift]}}
    assert adopt_fields(live, want) is None


def test_adopt_fields_manual_addition():
    claimed = adopt_fields(live_deployment(entry(EXTRA_ENV, "kubectl-edit", "Update")), WANT)
    assert fields_of(claimed, "kubectl-edit") is None
    own = fields_of(claimed, "nimops.nim")
    env = own["f:spec"]["f:template"]["f:spec"]["f:containers"]['k:{"name":"llm-ctr"}']["f:env"]
    assert set(env) == {'k:{"name":"A"}', 'k:{"name":"B"}'}


def test_adopt_fields_leaf_of_spec():
    claimed = adopt_fields(
        live_deployment(entry({"f:spec": {"f:paused": {}}}, "k", "Update")), WANT
    )
    assert "f:paused" in fields_of(claimed, "nimops.nim")["f:spec"]


def test_adopt_fields_manual_addition_to_groups():
    added = {"f:leaderTemplate": {"f:metadata": {"f:x": {}}, "f:spec": {"f:hostNetwork": {}}}}
    foreign = entry({"f:spec": {"f:leaderWorkerTemplate": added}}, "kubectl-edit", "Update")
    claimed = adopt_fields(live_deployment(foreign), WANT)
    groups = fields_of(claimed, "nimops.nim")["f:spec"]["f:leaderWorkerTemplate"]
    assert groups == {"f:leaderTemplate": {"f:spec": {"f:hostNetwork": {}}}}


def test_adopt_fields_keeps_rest_of_entry():
    foreign = entry(
        {"f:metadata": {"f:annotations": {"f:x": {}}}, "f:spec": {"f:paused": {}}}, "k", "Update"
    )
    claimed = adopt_fields(live_deployment(foreign), WANT)
    assert fields_of(claimed, "k") == {"f:metadata": {"f:annotations": {"f:x": {}}}}


def test_adopt_fields_reference_entry():
    reference = entry(
        {
            "f:metadata": {
                "f:annotations": {"f:nvidia.com/parent-spec-hash": {}},
                "f:labels": {"f:app.kubernetes.io/managed-by": {}},
            },
            "f:spec": {"f:replicas": {}, "f:paused": {}},
        },
        "manager",
        "Update",
    )
    live = live_deployment()
    live["metadata"]["managedFields"] = [reference]
    (claimed,) = adopt_fields(live, WANT)
    assert claimed["manager"] == "nimops.nim"
    assert claimed["operation"] == "Apply"
    assert claimed["time"] == reference["time"]
    assert claimed["fieldsV1"] == reference["fieldsV1"]


HASH = {"f:annotations": {"f:nvidia.com/last-applied-hash": {}}, "f:labels": {"f:team": {}}}


def test_adopt_fields_later_reference_update():
    """It owns the fields that it added since we applied the object, without the managed-by label."""
    finalizers = {"f:finalizers": {'v:"finalizer.nimservice.apps.nvidia.com"': {}}}
    update = entry({"f:metadata": HASH | finalizers}, "nim-operator", "Update")
    theirs, ours = adopt_fields(live_deployment(update), WANT)
    assert theirs["fieldsV1"] == {"f:metadata": finalizers}, "finalizers are its controller's"
    assert ours["fieldsV1"]["f:metadata"]["f:labels"] == {"f:app": {}, "f:team": {}}
    assert "f:nvidia.com/last-applied-hash" in ours["fieldsV1"]["f:metadata"]["f:annotations"]
    status = entry({"f:metadata": HASH}, "nim-operator", "Update", subresource="status")
    assert adopt_fields(live_deployment(status), WANT) is None
