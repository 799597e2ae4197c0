# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""install, called like by users. tests/commands/test_install.py has an API server."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path

ROOT = Path(__file__).resolve().parents[4]
NIM = json.loads((ROOT / "tests/nimservice.json").read_text())
CACHES = (
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nimcaches.apps.nvidia.com"
)  # fmt: skip
SERVICE = api_path("NIMService", "nim", "llm")


def writes(cluster):
    found = [item for item in cluster.server.requests if item.method != "GET"]
    return [item.path for item in found if not item.query.get("dryRun")]


def test_install(call, controllers):
    code, out, err = call("install", "--check")
    assert (code, controllers.objects) == (0, {}), err
    assert "+ create CustomResourceDefinition nimcaches.apps.nvidia.com\n" in out
    assert "nimops-controller-manager" not in out
    assert "clusterpolicies" not in out
    summary = out.splitlines()[-1]
    assert summary.endswith(" to create")
    code, out, err = call("install")
    assert (code, out.splitlines()[-1]) == (0, summary), err
    assert "next: ansible-playbook nimops.nim.apply -e files=nim.yaml" in err
    count = len(writes(controllers))
    code, out, err = call("install")
    assert (code, out) == (0, "no changes\n"), err
    assert len(writes(controllers)) == count


def test_install_operator(call, controllers):
    options = {"operator": True, "image": "registry.example/x:1", "components": "gpu,nemo"}
    code, out, err = call("install", **options)
    assert code == 0, err
    assert "+ create Deployment nimops-system/nimops-controller-manager\n" in out
    assert "+ create CustomResourceDefinition clusterpolicies.nvidia.com\n" in out
    assert "next: kubectl apply -f nim.yaml" in err
    code, out, _err = call("install", "--check", "--diff", **options | {"image": "example.com/y:2"})
    assert code == 0
    assert "-        image: registry.example/x:1\n" in out
    assert "+        image: example.com/y:2\n" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"operator": True}, "missing: image"),
        ({"operator": True, "image": "a b"}, "image: is not the name of an image"),
        ({"watch_namespaces": "nim"}, "watch_namespaces: only an operator watches namespaces"),
        ({"components": "edge"}, "edge"),
        ({"state": "gone"}, "gone"),
    ],
    ids=str,
)
def test_install_invalid(call, controllers, options, message):
    code, _out, err = call("install", **options)
    assert (code, message in err, controllers.server.requests) == (2, True, []), err


def test_install_foreign_definition(call, controllers):
    schema = {"openAPIV3Schema": {"properties": {"spec": {"properties": {"legacy": {}}}}}}
    spec = {"versions": [{"name": "v1alpha1", "schema": schema}]}
    controllers.put(CACHES, {"metadata": {"name": "nimcaches.apps.nvidia.com"}, "spec": spec})
    code, _out, err = call("install")
    assert (code, writes(controllers)) == (2, [])
    assert (
        "nothing was changed: CustomResourceDefinition nimcaches.apps.nvidia.com does not"
        " belong to nimops.nim; ours would lose spec.legacy" in err
    )


def test_install_absent(call, controllers):
    assert call("install")[0] == 0
    held = {**NIM["metadata"], "finalizers": ["finalizer.nimservice.apps.nvidia.com"]}
    controllers.put(SERVICE, NIM | {"metadata": held})
    kept = "kept: CustomResourceDefinition nimservices.apps.nvidia.com has 1 resource"
    count = len(controllers.objects)
    code, out, err = call("install", "--check", state="absent", release=True)
    assert (code, len(controllers.objects)) == (0, count), err
    assert "- finalizer.nimservice.apps.nvidia.com of NIMService nim/llm\n" in out
    assert kept in err
    code, out, err = call("install", state="absent")
    assert code == 0, err
    assert "- delete CustomResourceDefinition nimcaches.apps.nvidia.com\n" in out
    assert "- delete CustomResourceDefinition nimservices" not in out
    assert kept in err
    assert "-e release=true removes the finalizers" in err
    assert controllers.objects[SERVICE]["metadata"]["finalizers"] == held["finalizers"]
    code, out, err = call("install", state="absent", release=True)
    assert (code, "no changes" in out, kept in err) == (0, True, True), err
    assert "finalizers" not in controllers.objects[SERVICE]["metadata"]
    assert set(controllers.objects) == {SERVICE, CACHES.replace("nimcaches", "nimservices")}


def test_install_examples(call, controllers, tmp_path):
    """They run as they stand there."""
    module = importlib.import_module("ansible_collections.nimops.nim.plugins.modules.nim_install")
    tasks = yaml.safe_load(module.EXAMPLES)
    play = {"hosts": "localhost", "gather_facts": False, "tasks": tasks}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    code, out, err = call("play.yml", callback="ansible.builtin.default")
    assert code == 0, out + err
    assert "ok=4 changed=4 " in " ".join(out.split())
    assert set(controllers.objects) == {"/api/v1/namespaces/nimops-system"}
