# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Inputs of the program that runs a gateway."""

from __future__ import annotations

import base64
import sys
import typing as t
from pathlib import Path

import pytest
import run_gateway

MOUNTS = [
    {"name": "certs", "mountPath": "/certs"},
    {"name": "sds", "mountPath": "/sds"},
    {"name": "scratch", "mountPath": "/scratch"},
]
VOLUMES = [
    {"name": "certs", "secret": {"secretName": "envoy"}},
    {"name": "sds", "configMap": {"name": "envoy-public"}},
    {"name": "scratch", "emptyDir": {}},
]
OBJECTS = {
    ("secret", "envoy"): {"data": {"tls.crt": base64.b64encode(b"certificate").decode()}},
    ("configmap", "envoy-public"): {"data": {"ca.json": "{}"}},
}


def pod(name: str, created: str, **metadata: t.Any) -> run_gateway.Json:
    return {
        "metadata": {
            "name": name,
            "namespace": run_gateway.NAMESPACE,
            "creationTimestamp": created,
            **metadata,
        },
        "spec": {"containers": [{"name": "envoy"}]},
        "status": {"podIP": f"198.18.0.{created}"},
    }


def test_files_of() -> None:
    container = {"volumeMounts": MOUNTS}
    files = run_gateway.files_of(
        {"spec": {"volumes": VOLUMES}}, container, lambda kind, name: OBJECTS[kind, name]
    )
    assert files == {"/certs/tls.crt": b"certificate", "/sds/ca.json": b"{}"}


def test_newest_proxy() -> None:
    pods = run_gateway.Pods()
    assert pods.newest_proxy() is None
    other = pod("other", "9", namespace="molecule-gateway")
    pods.items = [pod("a", "1"), pod("b", "2"), pod("c", "3", deletionTimestamp="4"), other]
    newest = pods.newest_proxy()
    assert newest is not None
    assert newest["metadata"]["name"] == "b"
    assert pods.name_of("198.18.0.9") == "other"
    assert pods.name_of("198.18.0.8") == ""


def test_annotations_of() -> None:
    pods = run_gateway.Pods()
    pods.items = [pod("a", "1", namespace="nim", labels={"app": "llm"}), pod("b", "2")]
    pods.services["nim", "llm"] = {"metadata": {"annotations": {"sandbox.nimops/model": "rerank"}}}
    assert pods.annotations_of("198.18.0.1") == {"sandbox.nimops/model": "rerank"}
    assert pods.annotations_of("198.18.0.2") == pods.annotations_of("198.18.0.3") == {}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(b'{"model": "a"}', {"model": "a"}, id="a question"),
        pytest.param(b'{"other": "a"}', None, id="another object"),
        pytest.param(b'["model"]', None, id="a list"),
        pytest.param(b"model", None, id="no JSON"),
        pytest.param(b"", None, id="nothing"),
    ],
)
def test_question_of(body: bytes, expected: run_gateway.Json | None) -> None:
    assert run_gateway.question_of(body) == expected


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        pytest.param("", 0.0, id="none"),
        pytest.param("seconds=2.5", 2.5, id="some"),
        pytest.param("seconds=-1", 0.0, id="negative"),
        pytest.param("seconds=nan", 0.0, id="not a number"),
    ],
)
def test_seconds_of(query: str, seconds: float) -> None:
    assert run_gateway.seconds_of(query) == seconds


def test_libraries_of() -> None:
    found = run_gateway.libraries_of(Path(sys.executable).resolve())
    assert any(path.name.startswith("libc.so") for path in found)
    assert all(path.is_absolute() for path in found)


def test_libraries_of_no_program(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text")
    assert run_gateway.libraries_of(tmp_path / "text") == []


def test_pods_end_after_their_hook() -> None:
    drained, plain, fresh = (
        {"kind": "Pod", **pod(name, str(number), uid=name)}
        for number, name in enumerate(("drained", "plain", "fresh"))
    )
    drained["spec"]["containers"][0]["lifecycle"] = {"preStop": {"sleep": {"seconds": 5}}}
    pods = run_gateway.Pods()
    pods.replace([drained, plain], 0.0)
    for now, names in ((1.0, ["fresh", "drained"]), (5.9, ["fresh", "drained"]), (6.0, ["fresh"])):
        pods.replace([fresh], now)
        assert [item["metadata"]["name"] for item in pods.items] == names


def test_name_of_a_new_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"kind": "Pod", **pod("fresh", "1", uid="a")}
    text = run_gateway.json.dumps({"items": [found]})
    monkeypatch.setattr(run_gateway, "kubectl", lambda *_arguments, **_options: text)
    assert run_gateway.Pods().name_of("198.18.0.1") == "fresh"
