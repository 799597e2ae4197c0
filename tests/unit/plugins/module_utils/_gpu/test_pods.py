# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from dataclasses import replace

from ansible_collections.nimops.nim.plugins.module_utils._gpu.operand_spec import (
    OperandSpec,
    parse_operand,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.pods import (
    NODE_NAME,
    add_volumes,
    apply_operand,
    complete_pod,
    config_map,
    containers_of,
    env_value,
    host_path,
    mount,
    pull_secrets,
    set_env,
    set_env_vars,
    set_path,
    use_host_network,
)


def test_set_env_replaces():
    container = {"env": [dict(NODE_NAME), {"name": "A", "value": "1"}]}
    set_env(container, "NODE_NAME", "mine")
    set_env(container, "B", "2")
    assert container["env"] == [
        {"name": "NODE_NAME", "value": "mine"},
        {"name": "A", "value": "1"},
        {"name": "B", "value": "2"},
    ]


def test_set_env_empty():
    container = {}
    set_env(container, "A", "")
    set_env_vars(container, [{"name": "B", "value": ""}])
    assert container["env"] == [{"name": "A"}, {"name": "B"}]
    assert env_value(container, "A") == ""
    assert env_value(container, "C") is None


def test_pull_secrets_unique():
    first, second = ({"imagePullSecrets": names} for names in (["b", "a", "b"], ["c", "a"]))
    found = pull_secrets(parse_operand(first), parse_operand(second))
    assert found == [{"name": "b"}, {"name": "a"}, {"name": "c"}]


def test_apply_operand():
    given = {"resources": {"limits": {"cpu": "1"}}, "args": ["--x"], "imagePullPolicy": "Always"}
    found = apply_operand({"name": "a", "args": ["--y"]}, parse_operand(given), "r.test/a:1")
    assert found == {
        "name": "a",
        "image": "r.test/a:1",
        "imagePullPolicy": "Always",
        "resources": {"limits": {"cpu": "1"}},
        "args": ["--x"],
    }
    assert "resources" not in apply_operand({}, parse_operand({}), "i")


def test_volumes_and_mounts():
    assert host_path("a", "/x") == {"name": "a", "hostPath": {"path": "/x"}}
    assert host_path("a", "/x", "File")["hostPath"] == {"path": "/x", "type": "File"}
    assert config_map("a", "b", "k", mode=0o755)["configMap"] == {
        "name": "b",
        "defaultMode": 493,
        "items": [{"key": "k", "path": "k"}],
    }
    assert mount("a", "/x", "Bidirectional", read_only=True, key="k") == {
        "name": "a",
        "mountPath": "/x",
        "mountPropagation": "Bidirectional",
        "readOnly": True,
        "subPath": "k",
    }
    assert mount("a", "/x") == {"name": "a", "mountPath": "/x"}


def test_pod_changes():
    pod = {"containers": [{"name": "a"}], "volumes": [host_path("a", "/x", "File")]}
    add_volumes(pod, [host_path("a", "/other"), host_path("b", "/y")])
    set_path(pod, "a", "/z")
    use_host_network(pod)
    assert pod["volumes"] == [host_path("a", "/z", "File"), host_path("b", "/y")]
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert containers_of(pod | {"initContainers": [{"name": "i"}]}) == [
        {"name": "i"},
        {"name": "a"},
    ]


def test_complete_pod_secrets_and_network():
    first, own = OperandSpec(pull_secrets=("a", "b")), OperandSpec(pull_secrets=("b", "c"))
    pod = complete_pod({}, replace(own, host_network=True), before=[first])
    assert pod == {
        "imagePullSecrets": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
    }
    assert complete_pod({}, OperandSpec()) == {}
