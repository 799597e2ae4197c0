# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.operands.toolkit import (
    OPERAND,
)

MAIN = "nvidia-container-toolkit-ctr"
NAME = "nvidia-container-toolkit-daemonset"


def parts_of(gpu, spec=None, runtime="containerd://2.1"):
    pod = gpu.pod(OPERAND, gpu.app(spec or {}, nodes=[gpu.node(runtime=runtime)]))
    main = gpu.container(pod, MAIN)
    return gpu.env(main), gpu.paths(pod), gpu.mounts(main)


def test_toolkit_containerd(gpu):
    env, paths, mounts = parts_of(gpu)
    assert (env["RUNTIME"], env["CONTAINERD_RUNTIME_CLASS"]) == ("containerd", "nvidia")
    assert env["RUNTIME_CONFIG"] == env["CONTAINERD_CONFIG"] == "/runtime/config-dir/config.toml"
    assert env["RUNTIME_DROP_IN_CONFIG"] == "/runtime/config-dir.d/99-nvidia.toml"
    assert env["RUNTIME_DROP_IN_CONFIG_HOST_PATH"] == "/etc/containerd/conf.d/99-nvidia.toml"
    assert env["RUNTIME_SOCKET"] == env["CONTAINERD_SOCKET"] == "/runtime/sock-dir/containerd.sock"
    assert paths["containerd-config"] == "/etc/containerd"
    assert paths["containerd-drop-in-config"] == "/etc/containerd/conf.d"
    assert paths["containerd-socket"] == "/run/containerd"
    assert mounts["/runtime/config-dir/"] == "containerd-config"


def test_toolkit_docker(gpu):
    env, paths, _mounts = parts_of(gpu, runtime="docker://27")
    assert env["DOCKER_CONFIG"] == "/runtime/config-dir/daemon.json"
    assert paths["docker-socket"] == "/var/run"
    assert not [name for name in env if "DROP_IN" in name]


def test_toolkit_crio(gpu):
    env, paths, mounts = parts_of(gpu, runtime="cri-o://1.33")
    assert (env["RUNTIME"], env["CRIO_CONFIG_MODE"]) == ("crio", "config")
    assert paths["crio-drop-in-config"] == "/etc/crio/crio.conf.d"
    assert paths["crio-hooks"] == "/usr/share/containers/oci/hooks.d"
    assert not [name for name in env if name.endswith("SOCKET")]
    assert mounts["/usr/share/containers/oci/hooks.d"] == "crio-hooks"


@pytest.mark.parametrize(
    ("runtime", "mode"), [("cri-o://1.33", "hook"), ("containerd://2.1", None)]
)
def test_toolkit_without_cdi(gpu, runtime, mode):
    env, _paths, _mounts = parts_of(gpu, {"cdi": {"enabled": False}}, runtime)
    assert "CDI_ENABLED" not in env
    assert env.get("CRIO_CONFIG_MODE") == mode


def test_toolkit_nri(gpu):
    env, paths, mounts = parts_of(gpu, {"cdi": {"nriPluginEnabled": True}})
    assert env["ENABLE_NRI_PLUGIN"] == "true"
    assert env["NRI_SOCKET"] == "/runtime/nri-sock-dir/nri.sock"
    assert paths["nri-socket"] == "/var/run/nri"
    assert mounts["/runtime/nri-sock-dir/"] == "nri-socket"
    assert "RUNTIME_CONFIG" not in env
    assert "CONTAINERD_RUNTIME_CLASS" not in env


def test_toolkit_user_paths(gpu):
    env = [
        {"name": "CONTAINERD_CONFIG", "value": "/a/c.toml"},
        {"name": "RUNTIME_CONFIG", "value": "/ignored/c.toml"},
        {"name": "RUNTIME_DROP_IN_CONFIG", "value": "/b/d.toml"},
        {"name": "CONTAINERD_SOCKET", "value": "/c/e.sock"},
        {"name": "RUNTIME_CONFIG_SOURCE", "value": "command,file=/d/f.toml"},
        {"name": "ROOT", "value": "/r"},
    ]
    found, paths, mounts = parts_of(gpu, {"toolkit": {"env": env}})
    assert found["RUNTIME_CONFIG"] == found["CONTAINERD_CONFIG"] == "/runtime/config-dir/c.toml"
    assert (paths["containerd-config"], paths["containerd-drop-in-config"]) == ("/a", "/b")
    assert found["RUNTIME_DROP_IN_CONFIG_HOST_PATH"] == "/b/d.toml"
    assert paths["containerd-socket"] == "/c"
    assert found["RUNTIME_SOCKET"] == "/runtime/sock-dir/e.sock"
    assert found["RUNTIME_CONFIG_SOURCE"] == "command,file=/host/d/f.toml"
    assert found["ROOT"] == "/r"
    assert mounts["/usr/local/nvidia"] == "toolkit-install-dir", "ROOT moves nothing"


def test_toolkit_install_dir(gpu):
    _env, paths, mounts = parts_of(gpu, {"toolkit": {"installDir": "/opt/nv"}})
    assert paths["toolkit-install-dir"] == "/opt/nv"
    assert mounts["/opt/nv"] == "toolkit-install-dir"


def test_toolkit_ignores_args(gpu):
    toolkit = {"args": ["x"], "resources": {"limits": {"cpu": "1"}}}
    pod = gpu.pod(OPERAND, gpu.app({"toolkit": toolkit}))
    main = gpu.container(pod, MAIN)
    assert main["args"] == ["/bin/entrypoint.sh"]
    assert main["resources"] == {"limits": {"cpu": "1"}}


def test_toolkit_waits_for_driver(gpu):
    pod = gpu.pod(OPERAND, gpu.app({"hostPaths": {"driverInstallDir": "/drv"}}))
    validation = gpu.container(pod, "driver-validation")
    assert gpu.env(validation)["COMPONENT"] == "driver"
    assert gpu.mounts(validation)["/drv"] == "driver-install-dir"
    assert gpu.mounts(gpu.container(pod, MAIN))["/driver-root"] == "driver-install-dir"


CRIO, DOCKER, CONTAINERD = "cri-o://1.34.0", "docker://20.10.20", "containerd://2.1.5"
LABEL = "nvidia.com/gpu.deploy.container-toolkit"


def mixed_app(gpu, nodes, *, deployed=None, spec=None):
    """A cluster with nodes (label, runtime), and perhaps a toolkit for the runtime ``deployed``."""
    made = [
        gpu.node(f"gpu-{number}", labels={LABEL: label}, runtime=runtime)
        for number, (label, runtime) in enumerate(nodes)
    ]
    live = []
    if deployed:
        env = [{"name": "RUNTIME", "value": deployed}]
        pod = {"containers": [{"name": MAIN, "env": env}]}
        live = [gpu.live("DaemonSet", NAME, spec={"template": {"spec": pod}}, status={})]
    return gpu.app(spec or {}, nodes=made, live=live)


def labeled_for_toolkit(app):
    return [
        item["metadata"]["name"]
        for item in app.nodes.items
        if item["metadata"]["labels"].get(LABEL) == "true"
    ]


NEW = (None, CONTAINERD), (None, CRIO), (None, DOCKER)


@pytest.mark.parametrize(
    ("nodes", "deployed", "runtime", "labeled", "others"),
    [
        pytest.param(NEW, None, "containerd", [0], {1: "crio", 2: "docker"}, id="new"),
        pytest.param(NEW, "crio", "crio", [1], {0: "containerd", 2: "docker"}, id="deployed"),
        pytest.param(
            [("false", CONTAINERD), (None, CRIO)], "containerd", "crio", [1], {}, id="one is off"
        ),
        pytest.param(
            [("true", CONTAINERD), ("true", CRIO)],
            "containerd",
            "containerd",
            [0, 1],
            {1: "crio"},
            id="labeled before",
        ),
        pytest.param([(None, CRIO), (None, CRIO)], "docker", "crio", [0, 1], {}, id="one runtime"),
        pytest.param(
            [(None, CONTAINERD), (None, "podman://5")], None, "containerd", [0, 1], {}, id="unknown"
        ),
    ],
)
def test_toolkit_mixed_runtimes(gpu, nodes, deployed, runtime, labeled, others):
    app = mixed_app(gpu, nodes, deployed=deployed)
    assert gpu.env(gpu.container(gpu.pod(OPERAND, app), MAIN))["RUNTIME"] == runtime
    assert labeled_for_toolkit(app) == [f"gpu-{number}" for number in labeled]
    assert app.toolkit.others == {f"gpu-{number}": name for number, name in others.items()}


def test_toolkit_mixed_runtimes_disabled(gpu):
    app = mixed_app(gpu, NEW, spec={"toolkit": {"enabled": False}})
    assert labeled_for_toolkit(app) == ["gpu-0", "gpu-1", "gpu-2"]
    assert app.toolkit.others == {}


def test_toolkit_mixed_runtimes_operands_off(gpu):
    nodes = [gpu.node("a"), gpu.node("b", {"nvidia.com/gpu.deploy.operands": "false"}, CRIO)]
    app = gpu.app({}, nodes=nodes)
    assert (app.toolkit.runtime, app.toolkit.others) == ("containerd", {})
