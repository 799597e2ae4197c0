# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Completion, in the protocol of kubectl and in that of shells."""

from __future__ import annotations

import sys

import pytest
from kubectl_nim import completion

API = "/apis/apps.nvidia.com/v1alpha1/namespaces"


@pytest.fixture
def complete(cluster, nim, monkeypatch, capsys):
    for name in ("llm", "lora"):
        meta = {"name": name, "namespace": "default"}
        cluster.put(f"{API}/default/nimservices/{name}", {"kind": "NIMService", "metadata": meta})
    cluster.put(
        f"{API}/default/nimcaches/store", {"kind": "NIMCache", "metadata": {"name": "store"}}
    )
    cluster.put("/api/v1/namespaces/nim", {"kind": "Namespace", "metadata": {"name": "nim"}})

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["kubectl_complete-nim", *words])
        completion.main()
        return capsys.readouterr().out.splitlines()

    return call


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["stat"], ["status", ":4"]),
        (["gpu", "up"], ["upgrade-plan", ":4"]),
        (["status", "--sel"], ["--selector", ":4"]),
        (["status", "-o", "w"], ["wide", ":4"]),
        (["status", "nimservice/l"], ["nimservice/llm", "nimservice/lora", ":4"]),
        (["status", "nimc"], ["nimcache/", ":4"]),
        (["status", "-n", "n"], ["nim", ":4"]),
        (["status", "--context", ""], ["here", ":4"]),
        (["profiles", "--nimcache", ""], ["store", ":4"]),
        (["apply", "-f", "x"], [":0"]),
        (["apply", ""], [":0"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_main(complete, words, found):
    assert [line.partition("\t")[0] for line in complete(*words)] == found


def test_main_without_cluster(complete, cluster):
    cluster.server.close()
    assert complete("status", "nimservice/") == [":4"]
