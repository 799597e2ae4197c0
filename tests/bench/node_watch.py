#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What it costs nimops-apiproxy to watch nodes, and how soon it tells of a new one with a GPU.

On the cluster of $KUBECONFIG, with nimops-apiproxy on PATH, such as a sandbox of one's own: nodes are made, with as many
labels as Node Feature Discovery gives a real one, and a ClusterPolicy if there is none. The nodes' statuses are written
as kubelets do that change something every time. --labelled: an operator runs, too, and is waited for, until it has
labelled the new node. All that was made is deleted at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "live"))

from nimops_live.cluster import Api, Json, NotFoundError
from nimops_live.proc import TICKS, parse_rollup, parse_stat

ROOT = Path(__file__).resolve().parents[2]
NODES, POLICIES = "/api/v1/nodes", "/apis/nvidia.com/v1/clusterpolicies"
POLICY = "node-watch"
REQUIRED = (
    "operator",
    "daemonsets",
    "driver",
    "toolkit",
    "devicePlugin",
    "dcgmExporter",
    "dcgm",
    "nodeStatusExporter",
    "gfd",
)
DEVICE = "feature.node.kubernetes.io/pci-10de.present"
PATIENCE = 30.0
KUBELETS = 12
"""Connections that write at the same time: one alone waits for the API server most of the time."""


def make_node(name: str, *, has_gpu: bool) -> Json:
    labels = {f"feature.node.kubernetes.io/cpu-cpuid.F{number}": "true" for number in range(90)}
    labels |= {
        "kubernetes.io/hostname": name,
        "feature.node.kubernetes.io/system-os_release.ID": "ubuntu",
        "feature.node.kubernetes.io/system-os_release.VERSION_ID": "24.04",
        "feature.node.kubernetes.io/kernel-version.full": "6.8.0-60-generic",
    }
    labels |= {DEVICE: "true"} if has_gpu else {}
    ready = {"type": "Ready", "status": "True", "reason": "Simulated", "message": ""}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {
            "conditions": [ready],
            "nodeInfo": {"containerRuntimeVersion": "containerd://2.1.0"},
        },
    }


def beat(names: list[str], every: float, stop: threading.Event, count: list[int]) -> None:
    """Write the status of each node once in so many seconds, evenly."""
    api = Api()
    begun, number = time.monotonic(), 0
    while not stop.is_set():
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        change = {"status": {"conditions": [{"type": "Ready", "lastHeartbeatTime": now}]}}
        path = f"{NODES}/{names[number % len(names)]}/status"
        api.request("PATCH", path, change, "application/strategic-merge-patch+json")
        number += 1
        count[0] += 1
        ahead = begun + number * every / len(names) - time.monotonic()
        if ahead > 0:
            stop.wait(ahead)


def measure(pid: int, seconds: float) -> float:
    """The share of a core that a process uses."""

    def ticks() -> int:
        return parse_stat(Path(f"/proc/{pid}/stat").read_text()).own

    before, begun = ticks(), time.monotonic()
    time.sleep(seconds)
    return (ticks() - before) / TICKS / (time.monotonic() - begun)


def annotation(api: Api) -> str:
    found = api.get(f"{POLICIES}/{POLICY}")["metadata"].get("annotations") or {}
    return str(found.get("nimops.nim/nodes", ""))


def seconds_until(is_so: Callable[[], bool]) -> float:
    """How long something takes; PATIENCE is too long."""
    begun = time.monotonic()
    while not is_so():
        if time.monotonic() - begun > PATIENCE:
            raise SystemExit(f"not within {PATIENCE:.0f} s")
        time.sleep(0.02)
    return time.monotonic() - begun


def is_labelled(api: Api, name: str) -> bool:
    labels = api.get(f"{NODES}/{name}")["metadata"]["labels"]
    return bool(labels.get("nvidia.com/gpu.present") == "true")


def report(api: Api, pid: int, names: list[str], options: argparse.Namespace) -> None:
    """Measure, and print the figures."""
    seconds_until(lambda: bool(annotation(api)))
    first = annotation(api)
    print(f"idle, {len(names)} nodes: {measure(pid, options.seconds):.3%} of a core")
    stop, count = threading.Event(), [0]
    beats = [
        threading.Thread(target=beat, args=(names[part::KUBELETS], options.every, stop, count))
        for part in range(min(KUBELETS, len(names)))
    ]
    for one in beats:
        one.start()
    share, begun = measure(pid, options.seconds), count[0]
    print(f"with {begun / options.seconds:.0f} heartbeats a second: {share:.3%} of a core")
    rollup = parse_rollup(Path(f"/proc/{pid}/smaps_rollup").read_text())
    print(f"memory: {rollup.rss:.0f} MiB")
    print(f"the policy was told of heartbeats: {annotation(api) != first}")
    try:
        for number in range(options.new):
            name = f"node-watch-new-{number}"
            before = annotation(api)
            api.request("POST", NODES, make_node(name, has_gpu=True))
            told = seconds_until(lambda before=before: annotation(api) != before)  # type: ignore[misc]
            print(f"a new GPU node is told after {told:.2f} s", end="")
            if options.labelled:
                rest = seconds_until(lambda name=name: is_labelled(api, name))  # type: ignore[misc]
                print(f", labelled after {told + rest:.2f} s", end="")
            print()
            time.sleep(5)
    finally:
        stop.set()
        for one in beats:
            one.join()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--every", type=float, default=10, help="seconds between two heartbeats")
    parser.add_argument("--seconds", type=float, default=60, help="how long each is measured")
    parser.add_argument("--gpus", action="store_true", help="all nodes have GPUs")
    parser.add_argument("--new", type=int, default=5, help="nodes with GPUs that come at the end")
    parser.add_argument("--labelled", action="store_true", help="wait for an operator's labels")
    options = parser.parse_args()
    api = Api()
    names = [f"node-watch-{number}" for number in range(options.nodes)]
    policy = {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": POLICY},
        "spec": {key: {} for key in REQUIRED},
    }
    with tempfile.TemporaryDirectory() as folder:
        command = ["nimops-apiproxy", f"--watches-file={ROOT}/watches-gpu.yaml"]
        command.append(f"--kubeconfig-out={folder}/kubeconfig")
        try:
            for name in names:
                api.request("POST", NODES, make_node(name, has_gpu=options.gpus))
            api.request("POST", POLICIES, policy)
            with subprocess.Popen(command, stdin=subprocess.PIPE) as proxy:
                report(api, proxy.pid, names, options)
                proxy.terminate()
        finally:
            news = [f"node-watch-new-{number}" for number in range(options.new)]
            for path in (f"{POLICIES}/{POLICY}", *(f"{NODES}/{name}" for name in names + news)):
                with contextlib.suppress(NotFoundError):
                    api.request("DELETE", path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
