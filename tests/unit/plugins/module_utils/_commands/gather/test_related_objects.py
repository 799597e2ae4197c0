# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Objects that belong to a custom resource."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.gather.related_objects import (
    list_references,
    list_related_objects,
)

OURS = "apps.nvidia.com/v1alpha1"


def item(kind, name, *owners, version="v1", **fields):
    metadata = {"name": name, "namespace": "nim", "uid": f"{kind}/{name}"}
    metadata["ownerReferences"] = [{"uid": uid, "controller": True} for uid in owners]
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


PIPELINE = item("NIMPipeline", "rag", version=OURS)
SERVICE = item(
    "NIMService",
    "llm",
    "NIMPipeline/rag",
    version=OURS,
    spec={
        "authSecret": "auth",
        "image": {"pullSecrets": ["pull", ""]},
        "storage": {"nimCache": {"name": "models"}},
    },
)
CACHE = item(
    "NIMCache",
    "models",
    version=OURS,
    spec={"storage": {"pvc": {"name": "claim"}}, "proxy": {"certConfigMap": "certificates"}},
)
POD_SPEC = {
    "serviceAccountName": "llm",
    "imagePullSecrets": [{"name": "pull"}],
    "containers": [
        {"env": [{"valueFrom": {"secretKeyRef": {"name": "env", "key": "k"}}}, {"value": "x"}]},
        {"envFrom": [{"configMapRef": {"name": "settings"}}]},
    ],
    "volumes": [{"persistentVolumeClaim": {"claimName": "claim"}}, {"secret": {"secretName": "v"}}],
}
DEPLOYMENT = item("Deployment", "llm", "NIMService/llm", spec={"template": {"spec": POD_SPEC}})
POOL = [
    PIPELINE,
    SERVICE,
    CACHE,
    DEPLOYMENT,
    item("ReplicaSet", "llm-1", "Deployment/llm"),
    item("Pod", "llm-1-a", "ReplicaSet/llm-1", spec=POD_SPEC),
    item("ResourceClaim", "llm-1-a-gpu", "Pod/llm-1-a"),
    item("ServiceAccount", "llm", imagePullSecrets=[{"name": "of-account"}]),
    item("Role", "shared"),
    item(
        "RoleBinding",
        "shared",
        roleRef={"kind": "Role", "name": "shared"},
        subjects=[{"kind": "ServiceAccount", "name": "llm"}, {"kind": "User", "name": "llm"}],
    ),
    item("Job", "models-job", "NIMCache/models"),
    item("ConfigMap", "models-manifest", "NIMCache/models"),
    item("ConfigMap", "settings"),
    item("ConfigMap", "certificates"),
    item("PersistentVolumeClaim", "claim"),
    item("NIMService", "other", version=OURS),
    item("Deployment", "unrelated"),
    item("Pod", "unrelated", "Deployment/unrelated"),
    item("ConfigMap", "unrelated"),
    item("RoleBinding", "unrelated", subjects=[{"kind": "ServiceAccount", "name": "x"}]),
    item("Role", "unrelated"),
]


def names(found):
    return {f"{each['kind']}/{each['metadata']['name']}" for each in found}


OF_CACHE = {
    *("NIMCache/models", "Job/models-job", "ConfigMap/models-manifest"),
    *("PersistentVolumeClaim/claim", "ConfigMap/certificates"),
}
OF_SERVICE = OF_CACHE | {
    *("NIMService/llm", "Deployment/llm", "ReplicaSet/llm-1", "Pod/llm-1-a", "Role/shared"),
    *("ResourceClaim/llm-1-a-gpu", "ServiceAccount/llm", "RoleBinding/shared"),
    "ConfigMap/settings",
}


@pytest.mark.parametrize(
    ("root", "belongings"),
    [
        pytest.param(CACHE, OF_CACHE, id="cache"),
        pytest.param(SERVICE, OF_SERVICE, id="service, with the cache that it names"),
        pytest.param(PIPELINE, OF_SERVICE | {"NIMPipeline/rag"}, id="pipeline, with its services"),
    ],
)
def test_list_related_objects(root, belongings):
    assert names(list_related_objects([root], POOL)) == belongings


def test_list_related_objects_order():
    first = list_related_objects([PIPELINE], POOL)
    assert first == list_related_objects([PIPELINE], POOL[::-1])
    addresses = [(each["apiVersion"], each["kind"], each["metadata"]["name"]) for each in first]
    assert addresses == sorted(addresses)


def test_list_related_objects_without_uid():
    thought = item("NIMService", "new")
    thought["metadata"]["uid"] = ""
    lost = item("Pod", "p", "")
    assert names(list_related_objects([thought], [lost])) == {"NIMService/new"}


def test_list_references_secrets():
    found = {name for each in POOL for kind, name in list_references(each) if kind == "Secret"}
    assert found == {"auth", "pull", "env", "v", "of-account"}


@pytest.mark.parametrize(
    "spec",
    [
        None,
        {},
        {"pvc": None},
        {"pvc": []},
        {"secretName": 1},
        {"pullSecrets": "x"},
        {"nimCache": ""},
    ],
)
def test_list_references_odd_specs(spec):
    assert list_references(item("NIMService", "x", spec=spec)) == []


def test_list_references_nemo_service():
    spec = {
        "configStore": {"configMap": {"name": "rails"}},
        "databaseConfig": {"credentials": {"secretName": "pg"}},
        "modelConfig": {"name": "models"},
        "modelDownloadJobs": {"hfSecret": {"name": "hf"}, "ngcAPISecret": {"name": "ngc"}},
        "nimEndpoint": {"apiKeySecret": "api"},
        "secrets": {
            f"{name}Secret": name.lower()
            for name in ("giteaAdmin", "lfsJwt", "datastoreInit", "datastoreConfig")
        },
        "trainingConfig": {"configMap": {"name": "training"}, "modelPVC": {"name": "claim"}},
    }
    secrets = ("api", "datastoreconfig", "datastoreinit", "giteaadmin", "hf", "lfsjwt", "ngc", "pg")
    assert list_references(item("NemoCustomizer", "x", version=OURS, spec=spec)) == [
        *(("ConfigMap", name) for name in ("models", "rails", "training")),
        ("PersistentVolumeClaim", "claim"),
        *(("Secret", name) for name in secrets),
    ]
