# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Simulates the programs of the GPU stack's images, on a node without a GPU.

Files, mounts, requests and signals are real; a kernel module is a folder that the container sees
as /sys/module. A file named `broken` in /run/nvidia makes nvidia-smi fail.
"""

from __future__ import annotations

import ctypes
import http.server
import json
import os
import shutil
import signal
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

NVIDIA = Path("/run/nvidia")
VALIDATIONS = NVIDIA / "validations"
DRIVER_READY = VALIDATIONS / "driver-ready"
CONTAINER_READY = VALIDATIONS / ".driver-ctr-ready"
ROOT = NVIDIA / "driver"
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEPLOY = "nvidia.com/gpu.deploy."
PAUSED = "paused-for-driver-upgrade"
CRI = '[plugins."io.containerd.grpc.v1.cri"]'
RUNC = "io.containerd.runc.v2"
HANDLERS = ("nvidia", "nvidia-cdi", "nvidia-legacy")
MODULES = Path("/sys/module")

BIND, DETACH = 0x1000, 2
libc = ctypes.CDLL(None, use_errno=True)

Json = dict[str, Any]


class PlayError(Exception):
    """Error that a program prints before it exits with 1."""


def say(text: str) -> None:
    print(text, flush=True)


def write(path: Path, text: str = "") -> None:
    """Write a file atomically; other programs wait for it."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    new.rename(path)


def wait_for(done: Callable[[], bool], what: str) -> None:
    while not done():
        say(f"waiting for {what}")
        time.sleep(1)


def run_until_told() -> None:
    while True:
        signal.pause()


def ask(method: str, path: str, body: Json | None = None) -> Json:
    """Send a request to the API server as the pod's ServiceAccount."""
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    request = urllib.request.Request(
        f"https://kubernetes.default.svc{path}",
        json.dumps(body).encode() if body else None,
        {"Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}", "Content-Type": kind},
        method=method,
    )
    context = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    try:
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            found: Json = json.load(answer)
            return found
    except urllib.error.HTTPError as error:
        raise PlayError(f"{method} {path}: {error.read().decode()}") from error


def node_path() -> str:
    return f"/api/v1/nodes/{os.environ['NODE_NAME']}"


def pods_path() -> str:
    return f"/api/v1/namespaces/{os.environ['OPERATOR_NAMESPACE']}/pods"


def label_node(labels: dict[str, str]) -> None:
    ask("PATCH", node_path(), {"metadata": {"labels": labels}})


def mount(point: Path, source: str = "", flags: int = 0) -> None:
    """Mount a directory, or an empty tmpfs; the base image has no program for it."""
    words = (source or "tmpfs", str(point), "tmpfs")
    if libc.mount(*map(os.fsencode, words), ctypes.c_ulong(flags), None):
        raise PlayError(f"mounting {point}: {os.strerror(ctypes.get_errno())}")


def unmount(point: Path) -> None:
    while os.path.ismount(point):
        if libc.umount2(os.fsencode(point), DETACH):
            raise PlayError(f"unmounting {point}: {os.strerror(ctypes.get_errno())}")


def load_module(name: str) -> None:
    """`modprobe`: make a kernel module visible to this container; a real kernel shows it to all."""
    if not os.path.ismount(MODULES):
        mount(MODULES)
    (MODULES / name).mkdir(exist_ok=True)
    (MODULES / name / "refcnt").write_text("0\n")
    say(f"the kernel module {name} is loaded")


def manage_driver() -> None:
    """`driver-manager uninstall_driver`: stop the clients of the old driver, if there is one."""
    if DRIVER_READY.exists():
        labels = ask("GET", node_path())["metadata"]["labels"]
        ours = [key for key in labels if key.startswith(DEPLOY) and key != f"{DEPLOY}driver"]
        paused = [key for key in ours if labels[key] == "true"]
        label_node(dict.fromkeys(paused, PAUSED))
        wait_for(lambda: not operands(), "the pods that use the old driver to end")
        label_node(dict.fromkeys(paused, "true"))
    unmount(ROOT)
    say("no driver is loaded")


def operands() -> list[str]:
    """The pods of DaemonSets on this node, except drivers."""
    node = os.environ["NODE_NAME"]
    return [
        item["metadata"]["name"]
        for item in ask("GET", f"{pods_path()}?fieldSelector=spec.nodeName={node}")["items"]
        if item["metadata"].get("ownerReferences", [{}])[0].get("kind") == "DaemonSet"
        and item["metadata"]["labels"].get("app.kubernetes.io/component") != "nvidia-driver"
    ]


def install_driver() -> None:
    """`nvidia-driver init`: load the module, and share the files of this container."""
    load_module("nvidia")
    mount(ROOT, "/", BIND)
    write(VALIDATIONS / ".driver-daemons-status", "Ready\n")
    try:
        run_until_told()
    finally:
        unmount(ROOT)


def ask_driver() -> None:
    """`nvidia-smi`."""
    if (NVIDIA / "broken").exists():
        raise PlayError(
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver"
        )
    say("GPU 0: played")


def install_module(name: str) -> None:
    load_module(name)
    run_until_told()


def validate() -> None:
    checks: dict[str, Callable[[], None]] = {
        "driver": validate_driver,
        "toolkit": validate_toolkit,
        "cuda": validate_cuda,
        "plugin": validate_plugin,
        "metrics": lambda: serve_http(int(os.environ["METRICS_PORT"])),
    }
    checks[os.environ["COMPONENT"]]()


def validate_driver() -> None:
    """Validate the driver through its files, which its container mounted on the node."""
    DRIVER_READY.unlink(missing_ok=True)
    wait_for(CONTAINER_READY.exists, "the driver container")
    subprocess.run(["chroot", str(ROOT), "nvidia-smi"], check=True)
    told = CONTAINER_READY.read_text()
    for key, name in (("GDS_ENABLED", "nvidia-fs"), ("GDRCOPY_ENABLED", "gdrcopy")):
        if f"{key}: true" in told:
            write(VALIDATIONS / f"{name}-ready")
    values = {
        "IS_HOST_DRIVER": "false",
        "NVIDIA_DRIVER_ROOT": str(ROOT),
        "DRIVER_ROOT_CTR_PATH": "/driver-root",
        "NVIDIA_DEV_ROOT": "/",
        "DEV_ROOT_CTR_PATH": "/host",
    }
    write(DRIVER_READY, "".join(f"{name}={value}\n" for name, value in values.items()))
    say("the driver is valid")


def validate_toolkit() -> None:
    subprocess.run(["nvidia-smi"], check=True)
    write(VALIDATIONS / "toolkit-ready")
    say("the toolkit is valid")


def validate_cuda() -> None:
    """Validate with a pod, which is deleted with the policy."""
    namespace = os.environ["OPERATOR_NAMESPACE"]
    of_ours = f"/apis/apps/v1/namespaces/{namespace}/daemonsets/nvidia-operator-validator"
    owners = ask("GET", of_ours)["metadata"]["ownerReferences"]
    name = "nvidia-cuda-validator"
    pod = {
        "metadata": {"name": name, "labels": {"app": name}, "ownerReferences": owners},
        "spec": {
            "nodeName": os.environ["NODE_NAME"],
            "runtimeClassName": os.environ["VALIDATOR_RUNTIME_CLASS"],
            "restartPolicy": "OnFailure",
            "terminationGracePeriodSeconds": 1,
            "containers": [
                {"name": name, "image": os.environ["VALIDATOR_IMAGE"], "command": ["nvidia-smi"]}
            ],
        },
    }
    path = f"{pods_path()}/{name}"
    found = [item["metadata"]["name"] for item in ask("GET", pods_path())["items"]]
    if name in found:
        ask("DELETE", f"{path}?gracePeriodSeconds=0")
    ask("POST", pods_path(), pod)
    wait_for(lambda: bool(ask("GET", path)["status"].get("phase") == "Succeeded"), name)
    write(VALIDATIONS / "cuda-ready")
    say("CUDA is valid")


def validate_plugin() -> None:
    def offers() -> bool:
        return int(ask("GET", node_path())["status"]["allocatable"].get("nvidia.com/gpu", 0)) > 0

    wait_for(offers, "the node to offer GPUs")
    write(VALIDATIONS / "plugin-ready")
    say("the device plugin is valid")


def configure_runtime() -> None:
    """`nvidia-toolkit`: add the RuntimeClass handlers to containerd, and stop it to reload them."""
    programs = Path(os.environ["ROOT"], "toolkit")
    programs.mkdir(exist_ok=True)
    shutil.copy(__file__, programs / "nvidia-cdi-hook")
    text = Path(os.environ["RUNTIME_CONFIG"]).read_text()
    # A file that is imported replaces the whole section.
    section = text[text.index(CRI) :]
    for name in HANDLERS:
        section += f'\n{CRI[:-1]}.containerd.runtimes.{name}]\nruntime_type = "{RUNC}"\n'
    wanted = f"version = 2\n{section}"
    drop_in = Path(os.environ["RUNTIME_DROP_IN_CONFIG"])
    if not drop_in.exists() or drop_in.read_text() != wanted:
        write(drop_in, wanted)
        os.kill(pid_behind(os.environ["RUNTIME_SOCKET"]), signal.SIGTERM)
    pid_file = Path(os.environ["TOOLKIT_PID_FILE"])
    pid_file.write_text(f"{os.getpid()}\n")
    say(f"containerd knows {', '.join(HANDLERS)}")
    try:
        run_until_told()
    finally:
        pid_file.unlink()


def pid_behind(path: str) -> int:
    """The process that listens on a socket."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int(struct.unpack("3i", credentials)[0])


def offer_devices() -> None:
    """`nvidia-device-plugin`, without the kubelet's API."""
    if not Path("/var/lib/kubelet/device-plugins/kubelet.sock").is_socket():
        raise PlayError("the kubelet does not listen")
    told = ("IS_HOST_DRIVER", "NVIDIA_DRIVER_ROOT", "DEV_ROOT_CTR_PATH", "GDS_ENABLED")
    config = Path(os.environ["CONFIG_FILE"]).read_text().strip()
    say(f"offering GPUs: {' '.join(f'{name}={os.environ[name]}' for name in told)} {config}")
    run_until_told()


def manage_config() -> None:
    """`config-manager`, without the label of the node."""
    source = Path(os.environ["CONFIG_FILE_SRCDIR"], os.environ["DEFAULT_CONFIG"])
    shutil.copy(source, os.environ["CONFIG_FILE_DST"])
    say(f"the configuration is {os.environ['DEFAULT_CONFIG']}")
    if os.environ["ONESHOT"] != "true":
        run_until_told()


def share_gpus(words: list[str]) -> None:
    """`mps-control-daemon`, and `mount-shm` before it."""
    if words == ["mount-shm"]:
        shm = Path("/mps/shm")
        shm.mkdir(exist_ok=True)
        if not os.path.ismount(shm):
            mount(shm)
        return
    if not os.path.ismount("/dev/shm"):
        raise PlayError("/dev/shm is not that of MPS")
    say("sharing GPUs")
    run_until_told()


def discover() -> None:
    """`gpu-feature-discovery`: a file for Node Feature Discovery."""
    features = Path("/etc/kubernetes/node-feature-discovery/features.d/gfd")
    write(features, "nvidia.com/gpu.count=8\n")
    say("the features of the GPUs are written")
    try:
        run_until_told()
    finally:
        features.unlink()


def divide_gpus() -> None:
    """`nvidia-mig-manager`."""
    for name in ("DEFAULT_CONFIG_FILE", "GPU_CLIENTS_FILE"):
        say(Path(os.environ[name]).read_text().splitlines()[0])
    label_node({"nvidia.com/mig.config.state": "success"})
    say(f"WITH_SHUTDOWN_HOST_GPU_CLIENTS={os.environ['WITH_SHUTDOWN_HOST_GPU_CLIENTS']}")
    run_until_told()


def count() -> None:
    """`nv-hostengine`."""
    with socketserver.ThreadingTCPServer(("", 5555), socketserver.BaseRequestHandler) as server:
        serve_forever(server)


def export() -> None:
    """`dcgm-exporter`: it measures nothing."""
    host, _colon, port = os.environ["DCGM_REMOTE_HOSTENGINE_INFO"].partition(":")

    def is_there() -> bool:
        try:
            socket.create_connection((host, int(port)), timeout=2).close()
        except OSError:
            return False
        return True

    wait_for(is_there, "DCGM")
    serve_http(int(os.environ["DCGM_EXPORTER_LISTEN"].removeprefix(":")))


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers each GET with an empty body."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base class's name
        """Suppress the log line of each probe."""


def serve_http(port: int) -> None:
    serve_forever(http.server.ThreadingHTTPServer(("", port), Handler))


def serve_forever(server: socketserver.BaseServer) -> None:
    say("serving")
    server.serve_forever()


def main() -> int:
    """Run the program with this name."""
    name, *words = sys.argv[1:]
    programs: dict[str, Callable[[], None]] = {
        "modprobe": lambda: load_module(words[0]),
        "driver-manager": manage_driver,
        "nvidia-driver": install_driver,
        "nvidia-smi": ask_driver,
        "nvidia-gds-driver": lambda: install_module("nvidia_fs"),
        "nvidia-gdrcopy-driver": lambda: install_module("gdrdrv"),
        "nvidia-validator": validate,
        "nvidia-toolkit": configure_runtime,
        "nvidia-device-plugin": offer_devices,
        "config-manager": manage_config,
        "mps-control-daemon": lambda: share_gpus(words),
        "nv-hostengine": count,
        "dcgm-exporter": export,
        "gpu-feature-discovery": discover,
        "nvidia-mig-manager": divide_gpus,
    }
    # Process 1 of a container gets only the signals that it handles.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        programs[name]()
    except (PlayError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
