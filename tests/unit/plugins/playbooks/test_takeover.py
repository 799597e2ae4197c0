# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""takeover, called like by users. No controllers run here: molecule's scenario `takeover` has them."""

from __future__ import annotations

import importlib
import json
import stat
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    api_path,
    collection_path,
)

ROOT = Path(__file__).resolve().parents[4]
NIM = json.loads((ROOT / "tests/nimservice.json").read_text())
LABELS = {"control-plane": "controller-manager"}


def deployment(name, namespace="nim-operator", **labels):
    container = {"name": "manager", "image": f"x/{name}:v3"}
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": LABELS}, "template": template}
    head = {"apiVersion": "apps/v1", "kind": "Deployment"}
    return head | {"metadata": metadata, "spec": spec}


OURS = deployment("nimops-controller-manager", **{"app.kubernetes.io/name": "nimops"})
VERSION = {"name": "OPERATOR_VERSION", "value": "0.1.0"}
OURS["spec"]["template"]["spec"]["containers"][0]["env"] = [VERSION]


@pytest.fixture
def reference(cluster, tmp_path):
    """The reference operator, a NIMService, and the manifests of ours in nimops.yaml."""
    path = api_path("Deployment", "nim-operator", "k8s-nim-operator")
    cluster.put(path, deployment("k8s-nim-operator"))
    cluster.put(api_path("NIMService", "nim", "llm"), NIM)
    (tmp_path / "nimops.yaml").write_text(yaml.safe_dump(OURS))
    return path


def replicas(cluster, path):
    return cluster.objects[path]["spec"]["replicas"]


def test_takeover_without_consent(call, cluster, reference, tmp_path):
    code, out, err = call("takeover", manifests="nimops.yaml")
    assert code == 0, err
    assert out.splitlines()[0] == (
        "# the reference operator v3: Deployment nim-operator/k8s-nim-operator (1 replica)"
    )
    assert out.splitlines()[-1] == "3 to create"
    assert "nothing was written: run it again with -e yes=true" in err
    assert {item.method for item in cluster.server.requests} == {"GET"}
    assert not list(tmp_path.glob("nimops-takeover-*"))
    assert call("takeover", "--check", manifests="nimops.yaml", yes=True)[0] == 0
    assert {item.method for item in cluster.server.requests} == {"GET"}


def test_takeover_failure_has_way_back(call, cluster, reference, tmp_path):
    """Our operator's pod never comes up here, so the reference is not stopped."""
    code, _out, err = call("takeover", manifests="nimops.yaml", yes=True, wait_timeout=0)
    assert code == 2
    (file,) = tmp_path.glob("nimops-takeover-*.yaml")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [item["kind"] for item in yaml.safe_load_all(file.read_text())] == ["NIMService"]
    assert "is not available after 0 s: no pod is available. To go back: ansible-playbook" in err
    assert f"-e back=true -e yes=true -e backup={file}" in err
    assert replicas(cluster, reference) == 1
    code, _out, err = call("takeover", manifests="nimops.yaml", yes=True, backup=str(file))
    assert (code, f"backup: {file} exists; name another file" in err) == (2, True)


def test_takeover_back(call, cluster, reference, tmp_path):
    ours = api_path("Deployment", "nim-operator", "nimops-controller-manager")
    code, _out, err = call("takeover", back=True)
    assert (code, "our operator is not installed" in err) == (2, True)
    cluster.put(ours, OURS)
    template = api_path("ResourceClaimTemplate", "nim", "gpu")
    managed = {"app.kubernetes.io/managed-by": "k8s-nim-operator"}
    metadata = {"name": "gpu", "namespace": "nim", "labels": managed}
    cluster.put(template, {"kind": "ResourceClaimTemplate", "metadata": metadata})
    code, out, err = call("takeover", back=True)
    assert (code, out) == (0, "- delete ResourceClaimTemplate nim/gpu\n")
    assert "restore them with the reference operator's chart" in err
    assert template in cluster.objects
    (tmp_path / "broken.yaml").write_text("a: [")
    code, _out, err = call("takeover", back=True, yes=True, backup="broken.yaml")
    assert (code, "broken.yaml: is not YAML" in err) == (2, True)
    assert replicas(cluster, ours) == 1
    code, _out, err = call("takeover", back=True, yes=True, wait_timeout=0)
    assert code == 2
    assert "Deployment nim-operator/k8s-nim-operator is not available" in err
    assert replicas(cluster, ours) == 0
    assert template not in cluster.objects


def test_takeover_examples(call, cluster, reference, tmp_path):
    """They run as they stand there, up to where controllers are needed."""
    text = importlib.import_module("ansible_collections.nimops.nim.plugins.modules.nim_takeover")
    tasks = yaml.safe_load(text.EXAMPLES)
    for task in tasks[1:]:
        task["nimops.nim.nim_takeover"]["wait_timeout"] = 0
        task["ignore_errors"] = True
    play = {"hosts": "localhost", "gather_facts": False, "tasks": tasks}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    code, out, err = call("play.yml", callback="ansible.builtin.default")
    assert code == 0, out + err
    assert "ok=3 changed=3 " in " ".join(out.split())
    assert "ignored=2" in out
    path = collection_path("apps/v1", "deployments", "nim-operator", "nimops-controller-manager")
    assert path in cluster.objects
