# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The command lines of the control plane."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .ports import Ports
from .settings import SANDBOX

# Reserved for benchmarks (RFC 2544): no machine on a network has the address of a pod.
POD_RANGE = "198.18.0.1/16"
# In start order. The last components need the API server.
NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")


@dataclass(frozen=True)
class Shape:
    """The differences between control planes for simulated pods only and for real pods.

    address: of the API server for pods and nodes. listen: the address that it listens on. The other
    fields are arguments of components.
    """

    address: str
    listen: str
    service_range: str
    apiserver: tuple[str, ...]
    controllers: str
    kwok: tuple[str, ...]


SIMULATED = Shape(
    address="127.0.0.1",
    listen="127.0.0.1",
    # A ClusterIP in this range is an address of this machine, so a test can listen on it.
    service_range="127.96.0.0/16",
    apiserver=(
        # An Endpoints object must not contain a loopback address, and nothing reads it.
        "--endpoint-reconciler-type=none",
        # Without the node lifecycle controller, the taint of a new node would stay.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
    ),
    # Simulated nodes may be late with their heartbeats on a busy machine.
    controllers="*,-node-lifecycle-controller",
    kwok=("--manage-all-nodes=true", "--node-lease-duration-seconds=0"),
)


def command_lines(directory: Path, ports: Ports, shape: Shape = SIMULATED) -> dict[str, list[str]]:
    """Return program and arguments of each component of the instance in `directory`."""
    makers = {
        "etcd": _etcd,
        "kube-apiserver": _apiserver,
        "kube-controller-manager": _controller_manager,
        "kube-scheduler": _scheduler,
        "kwok": _kwok,
    }
    return {
        name: [str(directory / "bin" / name), *make(directory, ports, shape)]
        for name, make in makers.items()
    }


def ports_of(name: str, ports: Ports) -> list[int]:
    """Return the ports that a component listens on."""
    return {
        "etcd": [ports.etcd, ports.etcd_peer],
        "kube-apiserver": [ports.api],
        "kwok": [ports.kwok],
    }.get(name, [])


def _etcd(directory: Path, ports: Ports, _: Shape) -> list[str]:
    client, peer = f"http://127.0.0.1:{ports.etcd}", f"http://127.0.0.1:{ports.etcd_peer}"
    return [
        f"--data-dir={directory / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",  # a lost sandbox is just recreated
        "--log-level=warn",
    ]


def _apiserver(directory: Path, ports: Ports, shape: Shape) -> list[str]:
    pki = directory / "pki"
    return [
        f"--bind-address={shape.listen}",
        f"--secure-port={ports.api}",
        f"--etcd-servers=http://127.0.0.1:{ports.etcd}",
        f"--tls-cert-file={pki / 'server.crt'}",
        f"--tls-private-key-file={pki / 'server.key'}",
        f"--token-auth-file={pki / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        f"--service-account-issuer=https://127.0.0.1:{ports.api}",
        f"--service-account-signing-key-file={pki / 'sa.key'}",
        f"--service-account-key-file={pki / 'sa.pub'}",
        f"--service-cluster-ip-range={shape.service_range}",
        # Otherwise it fails on a machine without a default route.
        f"--advertise-address={shape.address}",
        f"--kubelet-client-certificate={pki / 'client.crt'}",
        f"--kubelet-client-key={pki / 'client.key'}",
        "--kubelet-preferred-address-types=InternalIP",
        # The API server shows servers of aggregated APIs with this certificate who it is.
        f"--proxy-client-cert-file={pki / 'client.crt'}",
        f"--proxy-client-key-file={pki / 'client.key'}",
        f"--requestheader-client-ca-file={pki / 'ca.crt'}",
        "--requestheader-allowed-names=kube-apiserver",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--allow-privileged=true",
        "--profiling=false",
        f"--audit-policy-file={SANDBOX / 'audit.yaml'}",
        f"--audit-log-path={directory / 'logs/audit.log'}",
        *shape.apiserver,
    ]


def _controller_manager(directory: Path, _: Ports, shape: Shape) -> list[str]:
    pki = directory / "pki"
    return [
        f"--kubeconfig={directory / 'kubeconfig'}",
        "--secure-port=0",
        "--leader-elect=false",
        f"--controllers={shape.controllers}",
        f"--service-account-private-key-file={pki / 'sa.key'}",
        f"--root-ca-file={pki / 'ca.crt'}",
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
        "--pvclaimbinder-sync-period=1s",
        "--profiling=false",
    ]


def _scheduler(directory: Path, _: Ports, __: Shape) -> list[str]:
    return [
        f"--kubeconfig={directory / 'kubeconfig'}",
        "--secure-port=0",
        "--leader-elect=false",
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
        "--profiling=false",
    ]


def _kwok(directory: Path, ports: Ports, shape: Shape) -> list[str]:
    pki = directory / "pki"
    return [
        f"--kubeconfig={directory / 'kubeconfig'}",
        f"--config={directory / 'kwok.yaml'}",
        "--enable-crds=Logs",
        *shape.kwok,
        "--node-ip=127.0.0.1",
        f"--node-port={ports.kwok}",
        f"--server-address=127.0.0.1:{ports.kwok}",
        f"--cidr={POD_RANGE}",
        "--v=WARN",
        f"--tls-cert-file={pki / 'server.crt'}",
        f"--tls-private-key-file={pki / 'server.key'}",
    ]
