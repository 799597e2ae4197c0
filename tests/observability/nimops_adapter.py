# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A prometheus-adapter on loopback, which serves custom.metrics.k8s.io of the cluster of KUBECONFIG."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from nimops_harness.cluster import kubectl
from nimops_harness.runtime import find_free_port
from nimops_programs import build

GROUP = "custom.metrics.k8s.io"
VERSIONS = ("v1beta1", "v1beta2")


def _registrations(port: int) -> list[dict[str, Any]]:
    """Objects that lead the API server to the port."""
    service = {"name": "prometheus-adapter", "namespace": "kube-system"}
    spec = {"type": "ExternalName", "externalName": "127.0.0.1", "ports": [{"port": port}]}
    items = [{"apiVersion": "v1", "kind": "Service", "metadata": service, "spec": spec}]
    for version in VERSIONS:
        api = {
            "group": GROUP,
            "version": version,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": {**service, "port": port},
        }
        items.append(
            {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": f"{version}.{GROUP}"},
                "spec": api,
            }
        )
    return items


@contextlib.contextmanager
def run_adapter(folder: Path, rules: list[Any], prometheus: str) -> Iterator[None]:
    """Serve the metrics that rules make of a Prometheus, as the chart does, during the block."""
    (folder / "rules.yaml").write_text(yaml.safe_dump({"rules": rules}))
    port = find_free_port()
    access = os.environ["KUBECONFIG"]
    command = [
        build("prometheus-adapter"),
        f"--prometheus-url={prometheus}",
        "--config=rules.yaml",
        "--metrics-relist-interval=2s",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        "--cert-dir=certificates",
        f"--lister-kubeconfig={access}",
        f"--authentication-kubeconfig={access}",
        f"--authorization-kubeconfig={access}",
    ]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    items = {"apiVersion": "v1", "kind": "List", "items": _registrations(port)}
    try:
        kubectl("apply", "--filename", "-", stdin=json.dumps(items))
        names = [f"apiservice/{version}.{GROUP}" for version in VERSIONS]
        kubectl("wait", "--for=condition=Available", "--timeout=90s", *names)
        yield
    finally:
        kubectl("delete", "--filename", "-", stdin=json.dumps(items))
        process.terminate()
        process.wait(timeout=60)
