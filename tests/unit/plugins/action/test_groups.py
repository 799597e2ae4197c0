# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Passes of the operator's own playbook over a NIMService on several nodes."""

from __future__ import annotations

import base64

import pytest

SERVICE = "/apis/apps.nvidia.com/v1alpha1/namespaces/nim/nimservices/llm"
SECRET = "/api/v1/namespaces/nim/secrets/llm-ssh-pk"
LWS = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/nim/leaderworkersets/llm-lws"
RESOURCE = {"kind": "NIMService", "metadata": {"name": "llm", "namespace": "nim"}}
LLM = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMService",
    "metadata": {"name": "llm", "namespace": "nim", "generation": 1},
    "spec": {
        "image": {"repository": "nvcr.io/nim/llm", "tag": "1.0"},
        "storage": {"emptyDir": {}},
        "expose": {"service": {"port": 8000}},
        "replicas": 1,
        "multiNode": {"parallelism": {"pipeline": 2, "tensor": 8}},
    },
}


@pytest.fixture(scope="module")
def passes(play, new_cluster, tmp_path_factory):
    """(cluster, output and writes of each pass, keys): new, unchanged, and talkative."""
    cluster = new_cluster()
    cluster.put(SERVICE, LLM)
    found = []

    def make_pass():
        count = len(cluster.calls("PATCH"))
        process, _results = play(
            "operator", cluster, tmp_path_factory.mktemp("pass"), nimops_resource=RESOURCE
        )
        writes = [item.path.rpartition("/")[2] for item in cluster.calls("PATCH")[count:]]
        found.append((process.stdout + process.stderr, writes))

    try:
        make_pass()
        keys = [cluster.objects[SECRET]["data"]["private.key"]]
        make_pass()
        keys.append(cluster.objects.pop(SECRET)["data"]["private.key"])
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ANSIBLE_VERBOSITY", "3")
            make_pass()
        keys.append(cluster.objects[SECRET]["data"]["private.key"])
        yield cluster, found, keys
    finally:
        cluster.server.close()


def test_groups_create_children(passes):
    cluster, ((_output, writes), *_), _keys = passes
    assert {"llm-mpi-config", "llm-mpi-start-script", "llm-ssh-pk", "llm-lws"} <= set(writes)
    assert writes.index("llm-ssh-pk") < writes.index("llm-lws")
    assert cluster.objects[LWS]["spec"]["leaderWorkerTemplate"]["size"] == 2
    assert "/apis/apps/v1/namespaces/nim/deployments/llm" not in cluster.objects


def test_groups_second_pass_writes_nothing(passes):
    _cluster, (_new, (_output, writes), *_), keys = passes
    assert writes == []
    assert keys[0] == keys[1]


def test_generated_key_only_in_written_secret(passes):
    _cluster, outputs, keys = passes
    assert base64.b64decode(keys[0]).startswith(b"-----BEGIN RSA PRIVATE KEY-----")
    assert keys[2] != keys[1], "a new one where the old one is lost"
    for output, _writes in outputs:
        assert not [key for key in keys if key[200:240] in output]
    assert '"Secret/nim/llm-ssh-pk"' in outputs[-1][0], "the result reports what was written"


def test_groups_missing_api_is_condition(play, new_cluster, tmp_path_factory):
    cluster = new_cluster()
    cluster.missing_kinds = {"LeaderWorkerSet"}
    try:
        cluster.put(SERVICE, LLM)
        with pytest.raises(AssertionError, match="install LeaderWorkerSet"):
            play(
                "operator",
                cluster,
                # Short: since ansible-core 2.21 a run has a socket there.
                tmp_path_factory.mktemp("missing"),
                nimops_resource=RESOURCE,
            )
        reported = cluster.objects[SERVICE]["status"]
        failed = next(item for item in reported["conditions"] if item["type"] == "Failed")
    finally:
        cluster.server.close()
    assert (reported["state"], failed["reason"]) == ("Failed", "LeaderWorkerSetFailed")
    assert failed["message"] == (
        'LeaderWorkerSet "llm-lws": no matches for kind "LeaderWorkerSet" in version'
        ' "leaderworkerset.x-k8s.io/v1": install LeaderWorkerSet (sigs.k8s.io/lws),'
        " for spec.multiNode"
    )
    assert SECRET in cluster.objects
