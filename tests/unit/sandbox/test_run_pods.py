# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Inputs and reports of the runner of simulated pods."""

from __future__ import annotations

import socket
import threading
import typing as t

import pytest
import run_pods
from run_pods import Container, Probe

POD: run_pods.Json = {
    "metadata": {"name": "a-epp-1", "namespace": "ns"},
    "spec": {
        "nodeName": "gpu-0",
        "containers": [
            {
                "name": "epp",
                "args": ["--pool=$(POOL)", "--other=$(NONE)"],
                "env": [
                    {"name": "POOL", "value": "llm"},
                    {"name": "NS", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
                ],
                "volumeMounts": [
                    {"name": "epp-config", "mountPath": "/config"},
                    {"name": "scratch", "mountPath": "/scratch"},
                ],
            }
        ],
        "volumes": [
            {"name": "epp-config", "configMap": {"name": "a-epp-config"}},
            {"name": "scratch", "emptyDir": {}},
        ],
    },
}
EPP = POD["spec"]["containers"][0]


def test_container_of_a_pod() -> None:
    variables = run_pods.environment_of(POD, EPP)
    assert variables == {"POOL": "llm", "NS": "ns"}
    assert run_pods.arguments_of(EPP, variables) == ["--pool=llm", "--other=$(NONE)"]
    assert run_pods.config_maps_of(POD, EPP) == {"/config": "a-epp-config"}


def test_environment_of_labels() -> None:
    pod = {"metadata": POD["metadata"] | {"labels": {"zone": "a"}}}
    paths = {"ZONE": "metadata.labels['zone']", "NONE": "metadata.annotations['zone']"}
    env = [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for name, path in paths.items()
    ]
    assert run_pods.environment_of(pod, {"env": env}) == {"ZONE": "a", "NONE": ""}


def test_relay_outlives_its_target() -> None:
    with socket.create_server(("127.0.0.1", 0)) as target:
        address = target.getsockname()
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=run_pods.relay, args=(listener, address), daemon=True).start()
    with socket.create_connection(listener.getsockname(), timeout=5) as refused:
        assert refused.recv(1) == b""
    with (
        socket.create_server(address) as target,
        socket.create_connection(listener.getsockname(), timeout=5) as client,
    ):
        accepted, _ = target.accept()
        accepted.sendall(b"x")
        assert client.recv(1) == b"x"
        accepted.close()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def test_environment_of_unknown_source() -> None:
    item = {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}
    with pytest.raises(KeyError, match="hostIP"):
        run_pods.environment_of(POD, {"env": [item]})


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        pytest.param({}, True, id="runs"),
        pytest.param({"metadata": {"deletionTimestamp": "t"}}, False, id="being deleted"),
        pytest.param({"spec": {"containers": [EPP]}}, False, id="not scheduled"),
        pytest.param(
            {"spec": {"nodeName": "a", "containers": [{"name": "nim"}]}}, False, id="another"
        ),
    ],
)
def test_is_run(change: run_pods.Json, wanted: bool) -> None:
    assert run_pods.is_run(POD | change, "epp") is wanted


def test_metrics_of() -> None:
    waiting = {"annotations": {run_pods.WAITING: "7"}}
    pods: list[run_pods.Json] = [
        {"metadata": {}, "status": {"podIP": "198.18.0.2"}},
        {"metadata": waiting, "status": {"podIP": "198.18.0.3"}},
        {"metadata": {}},
    ]
    assert "\nvllm:num_requests_waiting 0\n" in str(run_pods.metrics_of(pods, "198.18.0.2"))
    assert "\nvllm:num_requests_waiting 7\n" in str(run_pods.metrics_of(pods, "198.18.0.3"))
    assert run_pods.metrics_of(pods, "198.18.0.4") is None


def test_last_output() -> None:
    assert run_pods.last_output(b"a\nb\n") == "a\nb"
    lines = run_pods.last_output(b"".join(b"%d\n" % number for number in range(100))).splitlines()
    assert (len(lines), lines[-1]) == (80, "99")
    assert len(run_pods.last_output(b"x" * 5000)) == 2048


def test_probe_delays() -> None:
    probe = Probe({"initialDelaySeconds": 5, "periodSeconds": 10}, started=100)
    assert [probe.is_due(now) for now in (104, 105)] == [False, True]
    probe.record(True, 106)
    assert [probe.is_due(now) for now in (115, 116)] == [False, True]


@pytest.mark.parametrize(
    ("results", "passes", "failed"),
    [
        pytest.param([], None, False, id="not asked"),
        pytest.param([False, False], None, False, id="not yet"),
        pytest.param([False, False, False], False, True, id="never"),
        pytest.param([False, False, True, False, False], True, False, id="at times"),
        pytest.param([True, False, False, False], False, True, id="no longer"),
    ],
)
def test_probe_results(results: list[bool], passes: t.Any, failed: bool) -> None:
    probe = Probe({}, started=0)
    for result in results:
        probe.record(result, 0)
    assert (probe.passes, probe.has_failed) == (passes, failed)


def test_status_of() -> None:
    container = Container("epp", "image:1")
    assert run_pods.status_of(container, "t")["phase"] == "Pending"
    container.state, container.ready = {"running": {}}, True
    running = run_pods.status_of(container, "t")
    assert {it["type"]: it["status"] for it in running["conditions"]} == {
        "Initialized": "True",
        "ContainersReady": "True",
        "Ready": "True",
    }
    container.state, container.ready = {"waiting": {"reason": "CrashLoopBackOff"}}, False
    container.last = {"terminated": {"exitCode": 1}}
    crashed = run_pods.status_of(container, "t")
    assert crashed["phase"] == "Running"
    assert [it["status"] for it in crashed["conditions"]] == ["True", "False", "False"]
    assert crashed["containerStatuses"][0]["lastState"] == container.last
