# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The configuration files of the node's programs. JSON is also YAML."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import network

NAME = "node-0"
# Pods see this file as /etc/containerd/config.toml.
CONTAINERD = "etc-containerd/config.toml"
SOCKET = Path("/run/containerd/containerd.sock")
PAUSE = "sandbox.nimops/pause:1"
# Labels as set by NVIDIA's feature discovery: pods that request GPUs are scheduled, although there
# are none.
LABELS = {
    "feature.node.kubernetes.io/pci-10de.present": "true",
    "nvidia.com/gpu.present": "true",
    "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
    "nvidia.com/gpu.family": "hopper",
    "nvidia.com/gpu.memory": "81559",
    "nvidia.com/gpu.count": "8",
}

_CONTAINERD = """\
version = 2
imports = ["/etc/containerd/conf.d/*.toml"]
root = "@folder@/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
  "io.containerd.tracing.processor.v1.otlp",
]

[grpc]
address = "@socket@"

[plugins."io.containerd.internal.v1.opt"]
path = "@folder@/opt"

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "@pause@"
# Without CAP_SYS_RESOURCE, as in many containers, a score must not become lower than our own.
restrict_oom_score_adj = true

# Nothing is there unless a test brings a mirror.
[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "/etc/containerd/certs.d"

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "@plugins@"
conf_dir = "@folder@/net.d"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
"""

_COREDNS = """\
.:53 {
    bind @address@
    errors
    kubernetes cluster.local {
        kubeconfig @kubeconfig@
    }
    template ANY ANY . {
        rcode NXDOMAIN
    }
}
"""


@dataclass(frozen=True)
class Config:
    """The parameters of the files.

    directory: of the instance. group: of the node's processes. plugins: folder of CNI plugins.
    """

    directory: Path
    group: str
    plugins: Path

    @property
    def folder(self) -> Path:
        return self.directory / "node"

    def write(self) -> None:
        for name, content in self.render().items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            # kube-proxy exits when its file is written, even without a change.
            if not path.exists() or path.read_text() != content:
                path.write_text(content)

    def render(self) -> dict[str, str]:
        """Return the files by name."""
        return {
            "Corefile": self._coredns(),
            CONTAINERD: self._containerd(),
            "kube-proxy.json": _dump(self._kube_proxy()),
            "kubelet.json": _dump(self._kubelet()),
            "net.d/10-node.conflist": _dump(_cni()),
        }

    def _containerd(self) -> str:
        values = {"folder": self.folder, "socket": SOCKET, "pause": PAUSE, "plugins": self.plugins}
        return _fill(_CONTAINERD, values)

    def _coredns(self) -> str:
        kubeconfig = self.directory / "kubeconfig"
        return _fill(_COREDNS, {"address": network.ADDRESS, "kubeconfig": kubeconfig})

    def _kubelet(self) -> dict[str, Any]:
        pki = self.directory / "pki"
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": network.ADDRESS,
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": False},
                "x509": {"clientCAFile": str(pki / "ca.crt")},
            },
            "authorization": {"mode": "AlwaysAllow"},
            "tlsCertFile": str(pki / "server.crt"),
            "tlsPrivateKeyFile": str(pki / "server.key"),
            "containerRuntimeEndpoint": f"unix://{SOCKET}",
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self.group}",
            "enforceNodeAllocatable": [],
            "failCgroupV1": False,
            "failSwapOn": False,
            "localStorageCapacityIsolation": False,
            "oomScoreAdj": 0,
            "clusterDNS": [network.ADDRESS],
            "clusterDomain": "cluster.local",
            "resolvConf": "",
            # A deleted image could not be pulled again, and disk pressure is irrelevant here.
            "imageGCHighThresholdPercent": 100,
            "evictionHard": {
                "memory.available": "0%",
                "nodefs.available": "0%",
                "nodefs.inodesFree": "0%",
                "imagefs.available": "0%",
                "imagefs.inodesFree": "0%",
            },
        }

    def _kube_proxy(self) -> dict[str, Any]:
        return {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "clientConnection": {"kubeconfig": str(self.directory / "kubeconfig")},
            "mode": "iptables",
            "detectLocalMode": "ClusterCIDR",
            "clusterCIDR": network.PODS,
            "hostnameOverride": NAME,
            # These kernel settings exist once, not per network namespace.
            "conntrack": {
                "maxPerCore": 0,
                "min": 0,
                "tcpEstablishedTimeout": "0s",
                "tcpCloseWaitTimeout": "0s",
            },
        }


def _cni() -> dict[str, Any]:
    # Not bridge: replies between pods on one bridge may bypass the translation of
    # ClusterIPs.
    return {
        "cniVersion": "0.4.0",
        "name": "node",
        "plugins": [
            {
                "type": "ptp",
                "ipMasq": False,
                "ipam": {
                    "type": "host-local",
                    "dataDir": "/var/lib/cni/networks",
                    "ranges": [[{"subnet": network.PODS}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            }
        ],
    }


def _fill(template: str, values: dict[str, Any]) -> str:
    for name, value in values.items():
        template = template.replace(f"@{name}@", str(value))
    return template


def _dump(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1) + "\n"
