# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""One custom resource from options; tests/commands/test_resource.py has an API server."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.resource.command import (
    CacheCommand,
    ResourceCommand,
    ServiceCommand,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.wait import wait
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path

PATH = api_path("NIMService", "nim", "llm")
SPEC = {
    "image": {"repository": "registry.example/llm", "tag": "1"},
    "storage": {"emptyDir": {}},
    "expose": {"service": {"port": 8000}},
}
DEFAULTS = {name: option.get("default") for name, option in ResourceCommand.spec.items()}


@pytest.fixture
def run(cluster, tmp_path, monkeypatch):
    """Run a command, by default for the NIMService `llm`; its result."""
    monkeypatch.setattr(wait, "_PAUSES", (0,))
    cluster.has_controllers = True
    client = Client(cluster.kubeconfig(tmp_path))

    def act(command=ServiceCommand, *, dry=False, diff=False, **options):
        console = Mock(is_dry=dry, wants_diff=diff, connect=lambda _arguments: client)
        given = {"name": "llm", "namespace": "nim", "spec": SPEC, "wait_timeout": 5}
        return command(console).act(DEFAULTS | given | options)

    return act


def writes(cluster):
    found = [item for item in cluster.server.requests if item.method != "GET"]
    return [item for item in found if not item.query.get("dryRun")]


def test_present(cluster, run):
    done = run(labels={"team": "a"}, annotations={"b": "c"})
    assert {key: done[key] for key in ("changed", "msg", "state", "ready", "endpoint")} == {
        "changed": True,
        "msg": "1 to create",
        "state": "Ready",
        "ready": True,
        "endpoint": "10.0.0.1:8000",
    }
    assert done["models"] == ["acme/llm"]
    assert "managedFields" not in done["resource"]["metadata"]
    live = cluster.objects[PATH]
    assert (live["spec"], live["metadata"]["labels"]) == (SPEC, {"team": "a"})
    (request,) = writes(cluster)
    assert request.query == {"fieldManager": "nimops.nim.apply", "force": "true"}
    again = run(labels={"team": "a"}, annotations={"b": "c"})
    assert (again["changed"], again["msg"]) == (False, "no changes")
    assert cluster.objects[PATH]["spec"] == SPEC


def test_present_in_namespace_of_context(cluster, run):
    run(namespace=None)
    assert api_path("NIMService", "default", "llm") in cluster.objects


def test_present_check_mode(cluster, run):
    done = run(dry=True, diff=True)
    assert (done["changed"], done["diff"][0]["before"], cluster.objects) == (True, "", {})
    assert "tag: '1'" in done["diff"][0]["after"]
    run()
    count = len(writes(cluster))
    assert run(dry=True, diff=True)["diff"] == []
    done = run(dry=True, diff=True, spec=SPEC | {"replicas": "3"})
    assert (done["changed"], len(writes(cluster))) == (True, count)
    assert done["diff"][0]["after"].endswith("replicas: 3\n")
    assert done["resource"]["spec"]["replicas"] == 3
    assert "replicas" not in cluster.objects[PATH]["spec"]


def test_present_real_run_has_same_diff(run):
    planned = run(dry=True, diff=True)["diff"]
    assert run(diff=True)["diff"] == planned


def test_present_without_waiting(cluster, run):
    cluster.has_controllers = False
    done = run(wait=False)
    assert (done["changed"], done["state"], done["ready"]) == (True, "", False)


def test_present_without_operator(cluster, run):
    cluster.has_controllers = False
    done = run(wait_timeout=0)
    assert (done["failed"], done["changed"]) == (True, True)
    assert done["msg"].startswith("not Ready after 0 s: NIMService nim/llm: no status yet")
    assert "nimops.nim.nim_apply, which need" in done["msg"]


def test_present_while_being_deleted(cluster, run, monkeypatch):
    """The write would be lost with the object."""
    gone = {"name": "llm", "namespace": "nim", "deletionTimestamp": "2026-01-02T03:04:05Z"}
    cluster.put(PATH, {"metadata": gone, "spec": SPEC})
    assert run(dry=True)["msg"] == "1 to create"
    with pytest.raises(NimError, match="still being deleted after 0 s"):
        run(wait=False)
    assert writes(cluster) == []


INVALID = {
    "a field": ({"spec": SPEC | {"imge": {}}}, "options: NIMService llm: spec.imge: is unknown"),
    "a type": ({"spec": SPEC | {"replicas": "many"}}, "spec.replicas: .* not of type integer"),
    "a number for a text": (
        {"spec": SPEC | {"image": {"repository": "r", "tag": 1.1}}},
        "spec.image.tag: is 1.1, which is not of type string",
    ),
    "a missing field": ({"spec": {}}, "spec.image: is required"),
    "a label": ({"labels": {"a": True}}, "labels.a: is true, which is not of type string"),
    "a reserved key": ({"annotations": {"__ansible_unsafe": "x"}}, "__ansible"),
    "no YAML": ({"spec": SPEC | {"authSecret": "\ud83d"}}, "options: has a value that is not YAML"),
}


@pytest.mark.parametrize(("options", "message"), INVALID.values(), ids=INVALID)
def test_present_invalid(cluster, run, options, message):
    with pytest.raises(NimError, match=message):
        run(**options)
    assert cluster.objects == {}


def test_present_text_is_data(cluster, run):
    run(spec=SPEC | {"authSecret": "{{ lookup('pipe', 'id') }}"}, annotations={"a": "{% b %}"})
    live = cluster.objects[PATH]
    assert live["spec"]["authSecret"] == "{{ lookup('pipe', 'id') }}"
    assert live["metadata"]["annotations"] == {"a": "{% b %}"}


@pytest.mark.parametrize("dry", [True, False])
def test_present_without_definitions(cluster, run, dry):
    cluster.missing_kinds = {"NIMService"}
    with pytest.raises(NimError, match=r"does not know the kind NIMService: install the CRDs"):
        run(dry=dry)


def test_absent(cluster, run):
    run()
    run(
        CacheCommand,
        spec={"source": {"ngc": {"authSecret": "a", "modelPuller": "b"}}, "storage": {}},
    )
    planned = run(state="absent", spec=None, dry=True, diff=True)
    assert (planned["changed"], planned["diff"][0]["after"]) == (True, "")
    assert PATH in cluster.objects
    done = run(state="absent", spec=None, diff=True)
    assert (done["changed"], done["diff"]) == (True, planned["diff"])
    assert list(cluster.objects) == [api_path("NIMCache", "nim", "llm")]
    assert run(state="absent", spec=None) == {"changed": False, "msg": "no changes"}


def test_absent_ignores_spec(cluster, run):
    run()
    assert run(state="absent", spec={"imge": 1})["changed"] is True
    assert cluster.objects == {}


def test_absent_fails(cluster, run):
    cluster.keeps_finalizers = True
    held = {"name": "llm", "namespace": "nim", "finalizers": ["acme.example/keep"]}
    cluster.put(PATH, {"metadata": held, "spec": SPEC})
    done = run(state="absent", wait_timeout=0)
    assert (done["failed"], done["changed"]) == (True, True)
    assert "acme.example/keep" in done["msg"]
