# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Waits on a simulated API server: each pause runs the next step of a script."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError, NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands import waiting
from ansible_collections.nimops.nim.plugins.module_utils._commands.wait.command import WaitCommand
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path

SERVICE = api_path("NIMService", "nim", "llm")
DEFAULTS = {name: option.get("default") for name, option in WaitCommand.spec.items()}


class Harness:
    """A cluster in which ``steps`` happen, one in each pause."""

    is_dry = wants_diff = False
    find_filters = name_command = None

    def __init__(self, cluster, client):
        self.cluster, self.client = cluster, client
        self.steps, self.data, self.messages = [], [], []
        self.now = 0.0
        self.print_data, self.print_message = self.data.append, self.messages.append

    def connect(self, _arguments):
        return self.client

    def sleep(self, seconds):
        self.now += seconds
        if self.steps:
            self.steps.pop(0)()

    def put(self, kind="NIMService", name="llm", *, labels=None, namespace="nim", **conditions):
        state = "Ready" if conditions.get("Ready") == "True" else "NotReady"
        found = [
            {"type": key, "status": value, "reason": f"{key}Reason", "message": "use x"}
            for key, value in conditions.items()
        ]
        self.cluster.put(
            api_path(kind, namespace, name),
            {
                "kind": kind,
                "metadata": {
                    "name": name,
                    "namespace": namespace,
                    "uid": f"uid-{name}",
                    "labels": labels or {},
                },
                "status": {"state": state, "conditions": found} if conditions else {},
            },
        )

    def run(self, *resources, **options):
        arguments = DEFAULTS | {"namespace": "nim"} | options
        return WaitCommand(self).act(arguments | {"resources": list(resources)})


@pytest.fixture
def harness(cluster, tmp_path, monkeypatch):
    made = Harness(cluster, Client(cluster.kubeconfig(tmp_path)))
    clock = SimpleNamespace(monotonic=lambda: made.now, sleep=made.sleep)
    monkeypatch.setattr(waiting, "time", clock)
    return made


def test_wait_reports_each_change_once(harness):
    harness.put()
    harness.steps = [
        lambda: None,
        lambda: harness.put(Ready="False"),
        lambda: None,
        lambda: harness.put(Ready="True"),
    ]
    result = harness.run("nimservice/llm")
    assert (result["exit_code"], result.get("failed")) == (0, None)
    assert result["resources"] == [
        {
            "kind": "NIMService",
            "namespace": "nim",
            "name": "llm",
            "met": True,
            "state": "Ready",
            "reason": "",
            "message": "",
        }
    ]
    assert harness.messages == [
        "NIMService nim/llm: no status yet",
        "NIMService nim/llm: NotReady: ReadyReason: use x",
        "NIMService nim/llm: Ready",
    ]
    assert harness.data == ["nimservice/llm: Ready condition met"]


def test_wait_ends_early_if_one_is_stalled(harness):
    harness.put(Ready="True")
    harness.put("NIMCache", "models", Ready="False")
    harness.steps = [lambda: harness.put("NIMCache", "models", Ready="False", Stalled="True")]
    result = harness.run("nimservice/llm", "nimcache/models", timeout=600)
    assert (result["exit_code"], result["failed"]) == (1, True)
    assert result["msg"] == (
        "stopped waiting, as this needs a change:"
        " NIMCache nim/models: NotReady: StalledReason: use x"
    )
    assert harness.now < 5


def test_wait_timeout(harness):
    harness.put(Ready="False")
    result = harness.run("nimservice/llm", timeout=7)
    assert (result["exit_code"], result["failed"], harness.now) == (2, True, 7)
    assert result["msg"].startswith("not Ready after 7 s: NIMService nim/llm: NotReady: ReadyRea")


def test_wait_timeout_without_operator(harness):
    harness.put()
    result = harness.run("nimservice/llm", timeout=0)
    assert "no status yet. Nothing reconciles them: install an operator" in result["msg"]


def test_wait_until_deleted(harness):
    harness.put(Ready="True")
    harness.steps = [lambda: None, lambda: harness.cluster.objects.pop(SERVICE)]
    result = harness.run("nimservice/llm", **{"for": "deleted"})
    assert result["exit_code"] == 0
    assert harness.data == ["nimservice/llm: deleted"]
    assert harness.run("nimservice/llm", **{"for": "deleted"})["exit_code"] == 0
    assert harness.run(**{"for": "deleted"})["exit_code"] == 0


@pytest.mark.parametrize(
    ("given", "options", "expected"),
    [
        ((), {}, ["a", "b", "models"]),
        (("nimservices",), {}, ["a", "b"]),
        (("nimservices",), {"selector": "team=x"}, ["a"]),
        ((), {"selector": "team!=x"}, ["b", "models"]),
        ((), {"namespace": ""}, ["a", "b", "c", "models"]),
        (("nimservice/b", "nimcache/models"), {}, ["b", "models"]),
    ],
)
def test_wait_for_several(harness, given, options, expected):
    harness.put(name="a", labels={"team": "x"}, Ready="True")
    harness.put(name="b", Ready="True")
    harness.put(name="c", namespace="other", Ready="True")
    harness.put("NIMCache", "models", Ready="True")
    result = harness.run(*given, **options)
    assert sorted(item["name"] for item in result["resources"]) == expected
    assert all(item["met"] for item in result["resources"])


@pytest.mark.parametrize(
    ("given", "options", "text"),
    [
        (("nimservice/absent",), {}, "NIMService nim/absent does not exist"),
        ((), {}, "there is nothing to wait for in nim"),
        (("nimservice/llm",), {"selector": "a=b"}, "selector: selects among kinds"),
        (("pod/llm",), {}, "is not a kind of ours"),
        (("absent",), {}, "NIMService nim/absent does not exist"),
        (("nimservice/llm",), {"for": "jsonpath=x=y"}, "for: is 'jsonpath=x=y'"),
    ],
)
def test_wait_invalid(harness, given, options, text):
    with pytest.raises(NimError, match=text):
        harness.run(*given, **options)


def test_wait_survives_outage(harness, refused):
    harness.put(Ready="False")
    harness.cluster.refuse["GET", SERVICE] = []
    broken = [refused(503, "starting")]
    harness.steps = [
        lambda: harness.cluster.refuse["GET", SERVICE].extend(broken),
        lambda: harness.put(Ready="True"),
    ]
    assert harness.run("nimservice/llm")["exit_code"] == 0
    assert "still waiting: starting" in harness.messages


def test_wait_forbidden(harness, refused):
    harness.put(Ready="False")
    harness.cluster.refuse["GET", SERVICE] = []
    harness.steps = [
        lambda: harness.cluster.refuse["GET", SERVICE].append(refused(403, "forbidden: no"))
    ]
    with pytest.raises(ApiError, match="forbidden: no"):
        harness.run("nimservice/llm")
