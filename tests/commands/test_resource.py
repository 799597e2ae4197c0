# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The modules for one custom resource on a real API server, where the test is the operator."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer
from typing import Any
from unittest.mock import Mock

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.apply.apply import (
    reconcile_once,
    submit,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.apply.command import (
    ApplyCommand,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.resource.command import (
    ResourceCommand,
    ServiceCommand,
)
from nimops_harness.cluster import kubectl

Json = dict[str, Any]

NAMESPACE = "nimops-resources"
MODULES = "ansible_collections.nimops.nim.plugins.modules"
SPEC: Json = {
    "image": {"repository": "registry.example/llm", "tag": "1"},
    "storage": {"emptyDir": {}},
    "expose": {"service": {"port": 8000}},
}
DEFAULTS = {name: option.get("default") for name, option in ResourceCommand.spec.items()}
READY = {"type": "Ready", "status": "True", "reason": "Ready", "message": "it serves"}
MODEL = {"name": "acme/llm", "clusterEndpoint": "10.0.0.1:8000", "externalEndpoint": ""}


@pytest.fixture
def run(namespace: str) -> Iterator[Callable[..., Json]]:
    """Run a command for the NIMService `llm`, by default without a wait; its result."""
    client = Client()

    def act(*, dry: bool = False, **options: Any) -> Json:
        console = Mock(is_dry=dry, wants_diff=True, connect=lambda _arguments: client)
        given = {"name": "llm", "namespace": namespace, "spec": SPEC, "wait": False}
        return ServiceCommand(console).act(DEFAULTS | given | options)

    yield act
    kubectl("-n", namespace, "delete", "nimservices", "--all", "--wait=true")


def live(namespace: str) -> Json:
    found: Json = json.loads(kubectl("-n", namespace, "get", "nimservice", "llm", "-o", "json"))
    return found


def report(namespace: str) -> None:
    """Report a status as an operator does."""
    generation = live(namespace)["metadata"]["generation"]
    condition = READY | {"lastTransitionTime": "2026-01-02T03:04:05Z"}
    status = {"state": "Ready", "conditions": [condition], "model": MODEL}
    patch = json.dumps({"status": status | {"observedGeneration": generation}})
    options = ("--subresource=status", "--type=merge", "-p", patch)
    kubectl("-n", namespace, "patch", "nimservice", "llm", *options)


def test_present_twice(run: Callable[..., Json], namespace: str) -> None:
    planned = run(dry=True)
    assert (planned["changed"], planned["msg"]) == (True, "1 to create")
    done = run()
    assert (done["changed"], done["diff"]) == (True, planned["diff"])
    assert (run(dry=True)["changed"], run()["changed"]) == (False, False)
    version = live(namespace)["metadata"]["resourceVersion"]
    assert run()["changed"] is False
    assert live(namespace)["metadata"]["resourceVersion"] == version
    assert done["resource"]["spec"]["inferencePlatform"] == "standalone", "a default of the CRD"


def test_present_removes_only_own_fields(run: Callable[..., Json], namespace: str) -> None:
    run(labels={"team": "a"}, spec=SPEC | {"authSecret": "a", "replicas": 2})
    kubectl("-n", namespace, "annotate", "nimservice", "llm", "acme.example/note=kept")
    patch = json.dumps({"spec": {"schedulerName": "kept"}})
    kubectl("-n", namespace, "patch", "nimservice", "llm", "--type=merge", "-p", patch)
    planned, done = run(dry=True), run()
    assert (done["changed"], done["diff"]) == (True, planned["diff"])
    found = live(namespace)
    assert "authSecret" not in found["spec"]
    assert ("replicas" in found["spec"], found["spec"]["schedulerName"]) == (False, "kept")
    assert "labels" not in found["metadata"]
    assert found["metadata"]["annotations"] == {"acme.example/note": "kept"}


def test_present_after_apply(run: Callable[..., Json], namespace: str) -> None:
    """Both have the same fields."""
    run(spec=SPEC | {"authSecret": "a"})
    resource = {key: live(namespace)[key] for key in ("apiVersion", "kind")}
    metadata = {"name": "llm", "namespace": namespace}
    submit(Client(), [{**resource, "metadata": metadata, "spec": SPEC}])
    assert "authSecret" not in live(namespace)["spec"]
    assert run()["changed"] is False


def test_present_waits_for_current_spec(run: Callable[..., Json], namespace: str) -> None:
    run()
    report(namespace)
    reporter = Timer(1, report, [namespace])
    reporter.start()
    done = run(spec=SPEC | {"replicas": 2}, wait=True, wait_timeout=60)
    reporter.join()
    assert (done["state"], done["ready"], done["models"]) == ("Ready", True, ["acme/llm"])
    status = done["resource"]["status"]
    assert status["observedGeneration"] == done["resource"]["metadata"]["generation"] == 2
    failed = run(spec=SPEC, wait=True, wait_timeout=0)
    assert (failed["failed"], "not Ready after 0 s" in failed["msg"]) == (True, True)


def test_present_without_operator(run: Callable[..., Json]) -> None:
    failed = run(wait=True, wait_timeout=0)
    assert failed["msg"].startswith(
        "not Ready after 0 s: NIMService nimops-resources/llm: no status"
    )
    assert "install an operator, or use" in failed["msg"]


@pytest.mark.parametrize("dry", [True, False])
def test_present_invalid_for_api_server(run: Callable[..., Json], dry: bool) -> None:
    """Only the API server evaluates CEL."""
    spec = SPEC | {"scale": {"enabled": True, "hpa": {"maxReplicas": 2}}, "replicas": 2}
    with pytest.raises(NimError, match=r"NIMService llm: .*replicas"):
        run(dry=dry, spec=spec)


@pytest.mark.parametrize("module", ["nim_service", "nim_cache", "nim_pipeline", "nim_build"])
def test_examples(namespace: str, module: str, tmp_path: Path) -> None:
    """The API server accepts them."""
    tasks = yaml.safe_load(importlib.import_module(f"{MODULES}.{module}").EXAMPLES)
    for task in tasks:
        task.get(f"nimops.nim.{module}", {})["namespace"] = namespace
    play = {"hosts": "localhost", "gather_facts": False, "tasks": tasks}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    command = [sys.executable, "-m", "ansible", "playbook", "--check", "play.yml"]
    environment = os.environ | {"ANSIBLE_HOME": str(tmp_path), "ANSIBLE_NOCOLOR": "true"}
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"ok={len(tasks)} " in done.stdout


def test_absent(run: Callable[..., Json], namespace: str) -> None:
    run()
    planned = run(dry=True, state="absent")
    assert live(namespace)["metadata"]["name"] == "llm"
    done = run(state="absent", wait=True, wait_timeout=60)
    assert (done["changed"], done["diff"]) == (True, planned["diff"])
    assert "llm" not in kubectl("-n", namespace, "get", "nimservices")
    assert run(state="absent", wait=True)["changed"] is False


def test_apply_absent_without_operator(
    run: Callable[..., Json], namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator that has served a pipeline and its service is gone."""
    monkeypatch.setenv("NIMOPS_REGISTRIES", "")
    metadata = {"name": "rag", "namespace": namespace}
    services = [{"name": "llm", "enabled": True, "spec": SPEC}]
    api = {"apiVersion": "apps.nvidia.com/v1alpha1", "kind": "NIMPipeline"}
    pipeline = {**api, "metadata": metadata, "spec": {"services": services}}
    client = Client()
    applied = submit(client, [pipeline])
    for _pass in range(2):
        reconcile_once(client, applied, print)
    assert "llm" in kubectl("-n", namespace, "get", "deployments")
    for kind, name in (("nimpipeline", "rag"), ("nimservice", "llm")):
        patch = f'{{"metadata": {{"finalizers": ["finalizer.{kind}.apps.nvidia.com"]}}}}'
        kubectl("-n", namespace, "patch", kind, name, "--type=merge", "-p", patch)

    console = Mock(is_dry=False, wants_diff=True, variables={}, connect=lambda _arguments: client)
    given = {name: option.get("default") for name, option in ApplyCommand.spec.items()}
    given |= {"definition": [pipeline], "state": "absent", "wait_timeout": 60}
    done = ApplyCommand(console).act(given)
    assert done["deleted"] == [f"NIMPipeline {namespace}/rag"]
    for kind in ("nimpipelines", "nimservices"):
        assert kubectl("-n", namespace, "get", kind, "-o", "name") == ""
    kubectl("-n", namespace, "wait", "deployments", "--all", "--for=delete", "--timeout=60s")
    assert ApplyCommand(console).act(given)["changed"] is False
