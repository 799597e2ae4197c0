# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json

import pytest
from nimops_manifests.documents import Document, needed_secrets, plan_rounds, read_files

NIM = "apps.nvidia.com/v1alpha1"


def document(kind, name, namespace="ns", file="a.yaml", version=NIM, **spec):
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
    return Document(file, body, namespace)


def test_read_files_list_and_namespace(tmp_path):
    path = tmp_path / "a.yaml"
    one = {"apiVersion": NIM, "kind": "NIMCache", "metadata": {"name": "a"}}
    two = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b", "namespace": "own"}}
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [one, two]}))
    ((first, second),), rows = read_files([path], "given")
    assert rows == []
    assert (first.label, first.namespace, first.is_ours) == ("a.yaml: NIMCache a", "given", True)
    assert (second.namespace, second.is_ours) == ("own", False)


UNREADABLE = {
    "a key twice": ("a: 1\nb:\n  c: 1\n  c: 2\n", 'line 4, column 3: key "c" is already in line 3'),
    "a template": ("a: {{ .Values.x }}\n", "a.yaml: is not YAML: line 1"),
    "no object": ("[1, 2]\n", "a.yaml, document 1"),
}


@pytest.mark.parametrize(("text", "why"), UNREADABLE.values(), ids=UNREADABLE)
def test_read_files_unreadable(tmp_path, text, why):
    path = tmp_path / "a.yaml"
    path.write_text(text)
    files, (row,) = read_files([path], "ns")
    assert files == []
    assert (row.name, row.expected, row.ok) == ("a.yaml", "refused", True)
    assert why in row.seen


ROUNDS = {
    "together": ([[("NIMCache", "a", "ns")], [("NIMService", "a", "ns")]], [2]),
    "one object in two files": ([[("NIMCache", "a", "ns")], [("NIMCache", "a", "ns")]], [1, 1]),
    "two namespaces": ([[("NIMCache", "a", "ns")], [("NIMCache", "a", "other")]], [2]),
    "two ClusterPolicies": (
        [[("ClusterPolicy", "a", "ns")], [("ClusterPolicy", "b", "ns")], [("NIMCache", "a", "ns")]],
        [2, 1],
    ),
}


@pytest.mark.parametrize(("files", "sizes"), ROUNDS.values(), ids=ROUNDS)
def test_plan_rounds(files, sizes):
    rounds = plan_rounds([[document(*item) for item in file] for file in files])
    assert [len(chosen) for chosen in rounds] == sizes


def test_plan_rounds_others_first():
    ours, theirs = document("NIMCache", "a"), document("Secret", "s", version="v1")
    assert plan_rounds([[ours, theirs]]) == [[theirs, ours]]


def test_needed_secrets():
    found = needed_secrets(
        document(
            "NIMService",
            "a",
            authSecret="ngc",
            image={"pullSecrets": ["pull"]},
            env=[{"name": "T", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "TOKEN"}}}],
            databaseConfig={"credentials": {"secretName": "db", "passwordKey": "password"}},
        )
    )
    assert [(item.name, item.is_for_pulls, sorted(item.keys)) for item in found] == [
        ("db", False, ["password"]),
        ("hf", False, ["TOKEN"]),
        ("ngc", False, []),
        ("pull", True, []),
    ]


def test_needed_secrets_of_other_kinds():
    pod = document("Pod", "a", version="v1", volumes=[{"secret": {"secretName": "s"}}])
    assert needed_secrets(pod) == []


def test_placeholder():
    (auth, pull) = needed_secrets(
        document("NIMCache", "a", source={"ngc": {"authSecret": "k", "pullSecret": "p"}})
    )
    assert auth.placeholder()["stringData"] == {
        "NGC_API_KEY": "placeholder", "HF_TOKEN": "placeholder",
    }  # fmt: skip
    assert pull.placeholder()["type"] == "kubernetes.io/dockerconfigjson"
