# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Runs Envoy Gateway, the Envoys that it deploys, and the model servers behind them.

The controller runs as in its chart, with certificates of its own command. The pods of its Envoys
are simulated; for the newest one, this program runs a real Envoy with the arguments, variables,
Secrets and ConfigMaps of the container.

All of them are in a network of their own, without a connection to the machine's, which has the API
server at its usual address of loopback and all addresses of simulated pods. The pods answer on the
ports 8000 (HTTP) and 8001 (gRPC): the former to a question to a model as `model_server.py`, to all
else with JSON, the pod's name in `pod`, after the seconds in the query, as in
/v1/models?seconds=2; the latter with the health of a server.

Connections to --http and --https on loopback lead to port 80 and 443 of a Gateway, so only one
Gateway can be used at a time. They are open as soon as the controller is ready.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import typing as t
import urllib.parse
from pathlib import Path

from model_server import ANNOTATION, DEFAULT_MODEL, NAME_ANNOTATION, answer_to, send
from run_pods import (
    Json,
    Network,
    api_address,
    arguments_of,
    environment_of,
    kubectl,
    pod_at,
    relay,
)

NAMESPACE = "envoy-gateway-system"
CONTROLLER = f"envoy-gateway.{NAMESPACE}.svc.cluster.local"
SECRET_OF_CONTROLLER = "envoy-gateway"
GRPC_PORT = 8001
READY_URL = "http://127.0.0.1:8081/readyz"
# Envoy Gateway listens on unprivileged ports.
PORT_SHIFT = 10000
PERIOD = 0.5
LARGEST_DELAY = 60.0


class Options(t.NamedTuple):
    controller: Path
    envoy: Path
    backend: Path
    state: Path
    http: int
    https: int


class Pods:
    """The simulated pods and the Services, read from time to time.

    The sandbox deletes simulated pods at once, unlike a kubelet: those with a preStop hook that
    sleeps stay here for as long.
    """

    def __init__(self) -> None:
        self.items: list[Json] = []
        self.services: dict[tuple[str, str], Json] = {}
        self._ending: dict[str, tuple[float, Json]] = {}

    def read(self) -> None:
        text = kubectl("get", "pods,services", "--all-namespaces", "--output=json", check=False)
        if text:
            self.replace(json.loads(text)["items"], time.monotonic())

    def replace(self, items: list[Json], now: float) -> None:
        """Take over what the cluster has at a time in seconds."""
        pods = [item for item in items if item["kind"] == "Pod"]
        uids = {pod["metadata"]["uid"] for pod in pods}
        for pod in self.items:
            uid = pod["metadata"]["uid"]
            if uid not in uids and uid not in self._ending:
                self._ending[uid] = now + sleep_of(pod), pod
        self._ending = {uid: found for uid, found in self._ending.items() if found[0] > now}
        self.items = [*pods, *(pod for _end, pod in self._ending.values())]
        self.services = {
            (item["metadata"]["namespace"], item["metadata"]["name"]): item
            for item in items
            if item["kind"] == "Service"
        }

    def annotations_of(self, address: str) -> dict[str, str]:
        """Annotations of the Service of the pod with an address, named as the pod's application."""
        metadata = (pod_at(self.items, address) or {}).get("metadata") or {}
        key = str(metadata.get("namespace")), str((metadata.get("labels") or {}).get("app"))
        return (self.services.get(key) or {}).get("metadata", {}).get("annotations") or {}

    def name_of(self, address: str) -> str:
        """The name of the pod with an address; empty if there is none."""
        if pod_at(self.items, address) is None:
            self.read()
        pod = pod_at(self.items, address)
        return str(pod["metadata"]["name"]) if pod else ""

    def newest_proxy(self) -> Json | None:
        """The last pod of an Envoy that is not being deleted."""
        found = [
            pod
            for pod in self.items
            if pod["metadata"]["namespace"] == NAMESPACE
            and pod["spec"]["containers"][0]["name"] == "envoy"
            and not pod["metadata"].get("deletionTimestamp")
        ]
        return max(found, key=lambda pod: pod["metadata"]["creationTimestamp"], default=None)


def sleep_of(pod: Json) -> float:
    """The seconds for which a pod still answers after its deletion."""
    hook = (pod["spec"]["containers"][0].get("lifecycle") or {}).get("preStop") or {}
    return float((hook.get("sleep") or {}).get("seconds", 0))


class _Models(http.server.ThreadingHTTPServer):
    daemon_threads = True
    pods: Pods

    def handle_error(self, *_: t.Any) -> None:
        """Clients and Envoys drop connections."""


class _Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        address = self.connection.getsockname()[0]
        path, _, query = self.path.partition("?")
        name = t.cast(_Models, self.server).pods.name_of(address)
        time.sleep(min(seconds_of(query), LARGEST_DELAY))
        text = {"pod": name, "path": path, "host": self.headers["Host"]}
        send(self, 200 if name else 404, json.dumps(text).encode())

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        question = question_of(content)
        if question is None:
            self.do_GET()
            return
        pods = t.cast(_Models, self.server).pods
        notes = pods.annotations_of(self.connection.getsockname()[0])
        mode, model = notes.get(ANNOTATION, "models"), notes.get(NAME_ANNOTATION, DEFAULT_MODEL)
        send(self, *answer_to(mode, self.path, model, question))

    def log_message(self, format: str, *args: t.Any) -> None:  # noqa: A002 the base class's name
        """Log nothing."""


def question_of(content: bytes) -> Json | None:
    """The question to a model in the body of a request; None if there is none."""
    with contextlib.suppress(ValueError):
        found = json.loads(content)
        return found if isinstance(found, dict) and "model" in found else None
    return None


def seconds_of(query: str) -> float:
    """The delay that the query of a request asks for; 0 if there is none."""
    text = urllib.parse.parse_qs(query).get("seconds", ["0"])[0]
    return float(text) if re.fullmatch(r"\d{1,4}(\.\d{1,3})?", text) else 0.0


def files_of(pod: Json, container: Json, read: t.Callable[[str, str], Json]) -> dict[str, bytes]:
    """The files of a container's Secrets and ConfigMaps, by path; read(kind, name) returns one."""
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes") or []}
    files: dict[str, bytes] = {}
    for mount in container.get("volumeMounts") or []:
        volume = volumes[mount["name"]]
        if "configMap" in volume:
            data = read("configmap", volume["configMap"]["name"]).get("data") or {}
            contents = {key: text.encode() for key, text in data.items()}
        elif "secret" in volume:
            contents = decode(read("secret", volume["secret"]["secretName"]))
        else:
            continue
        files |= {f"{mount['mountPath']}/{key}": content for key, content in contents.items()}
    return files


def decode(secret: Json) -> dict[str, bytes]:
    """The content of a Secret."""
    return {key: base64.b64decode(text) for key, text in (secret.get("data") or {}).items()}


def libraries_of(program: Path) -> list[Path]:
    """The shared libraries of a program and their loader; none for a static one."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    return [Path(word) for word in re.findall(r"(?:=>\s+|^\s+)(/\S+)", done.stdout, re.MULTILINE)]


def read_object(kind: str, name: str) -> Json:
    """An object of the controller's namespace."""
    words = ("get", kind, name, f"--namespace={NAMESPACE}", "--output=json")
    return t.cast(Json, json.loads(kubectl(*words)))


class Root:
    """The root folder of a program: its files, and what it needs of the machine's."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        for path in [program, *libraries_of(program)]:
            target = self._place("/program" if path == program else str(path))
            shutil.copy(path, target)
        self.write("/etc/hosts", f"127.0.0.1 localhost {CONTROLLER} {CONTROLLER}.\n".encode())
        # Regular files: an Envoy appends its access log.
        for name in ("null", "stdout", "stderr"):
            self.write(f"/dev/{name}", b"")
        for name in ("dev/shm", "proc", "tmp"):
            (folder / name).mkdir()

    def enter(self) -> list[str]:
        """The command that runs the program in this folder, in which it also finds /proc."""
        script = 'mount --rbind /proc "$0/proc" && exec chroot "$0" /program "$@"'
        return ["unshare", "--mount", "sh", "-c", script, str(self.folder)]

    def write(self, path: str, content: bytes) -> None:
        self._place(path).write_bytes(content)

    def _place(self, path: str) -> Path:
        target = self.folder / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        return target


class Programs:
    """Programs in the network, which end with this one."""

    def __init__(self, network: Network, state: Path) -> None:
        self._network, self._state = network, state
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(
        self,
        name: str,
        command: list[str],
        environment: t.Mapping[str, str] | None = None,
        descriptors: t.Sequence[int] = (),
    ) -> None:
        """Start a program; its log is in the state folder."""
        with (self._state / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                [*self._network.enter(), "setpriv", "--pdeathsig=TERM", *command],
                env={"PATH": os.environ["PATH"], **(environment or {})},
                stdout=log,
                stderr=log,
                cwd="/",
                pass_fds=tuple(descriptors),
            )

    def run(self, command: list[str], environment: t.Mapping[str, str]) -> None:
        """Run a program to its end; CalledProcessError if it fails."""
        environ = {"PATH": os.environ["PATH"], **environment}
        subprocess.run([*self._network.enter(), *command], env=environ, check=True, cwd="/")

    def ended(self, name: str) -> int | None:
        """The exit code of a program that ended; None while it runs."""
        return self._running[name].poll()

    def stop(self, name: str) -> None:
        child = self._running.pop(name, None)
        if child is None:
            return
        child.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(5.0)
        child.kill()
        child.wait()

    def stop_all(self) -> None:
        for name in list(self._running):
            self.stop(name)


class Gateway:
    """The controller, an Envoy and the model servers."""

    def __init__(self, options: Options, network: Network, server: tuple[str, int]) -> None:
        self.options, self.pods = options, Pods()
        self.programs = Programs(network, options.state)
        self.proxy = ""
        models = _Models(("", 0), _Answer, bind_and_activate=False)
        models.socket.close()
        models.socket, models.pods = network.models, self.pods
        threading.Thread(target=models.serve_forever, daemon=True).start()
        parts = (network.api, server)
        threading.Thread(target=relay, args=parts, daemon=True).start()
        self.programs.start("grpc", [str(options.backend), "serve", str(GRPC_PORT)])

    def start_controller(self, configuration: bytes) -> None:
        root = Root(self.options.state / "controller", self.options.controller)
        flat = kubectl("config", "view", "--raw", "--flatten", "--minify")
        root.write("/kubeconfig", flat.encode())
        root.write("/config.yaml", configuration)
        inside = root.enter()
        environment = {"KUBECONFIG": "/kubeconfig", "HOME": "/"}
        self.programs.run([*inside, "certgen", "--disable-topology-injector"], environment)
        for name, content in decode(read_object("secret", SECRET_OF_CONTROLLER)).items():
            root.write(f"/certs/{name}", content)
        self.programs.start(
            "controller", [*inside, "server", "--config-path=/config.yaml"], environment
        )

    def is_ready(self) -> bool:
        """Whether the controller answers its probe; SystemExit if it ended."""
        self._check_controller()
        command = [sys.executable, "-c", f"import urllib.request as r; r.urlopen('{READY_URL}')"]
        with contextlib.suppress(subprocess.CalledProcessError):
            self.programs.run(command, {"PYTHONWARNINGS": "ignore"})
            return True
        return False

    def follow(self) -> None:
        """Run the newest Envoy, until the kubeconfig is gone."""
        while Path(os.environ["KUBECONFIG"]).is_file():
            self.pods.read()
            pod = self.pods.newest_proxy()
            uid = pod["metadata"]["uid"] if pod else ""
            if uid != self.proxy or (uid and self.programs.ended("envoy") is not None):
                self.programs.stop("envoy")
                if pod is not None:
                    self._start_envoy(pod)
                self.proxy = uid
            self._check_controller()
            time.sleep(PERIOD)

    def _check_controller(self) -> None:
        """SystemExit if the controller ended."""
        if (code := self.programs.ended("controller")) is not None:
            raise SystemExit(f"run_gateway: envoy-gateway ended with {code}: see controller.log")

    def _start_envoy(self, pod: Json) -> None:
        container = pod["spec"]["containers"][0]
        environment = environment_of(pod, container)
        root = Root(self.options.state / "envoy", self.options.envoy)
        for path, content in files_of(pod, container, read_object).items():
            root.write(path, content)
        command = [*root.enter(), *arguments_of(container, environment)]
        self.programs.start("envoy", command, environment)

    def open_ports(self) -> None:
        """Listen on the ports of loopback, and connect them with the Gateway's in the network."""
        listeners = {
            socket.create_server(("127.0.0.1", port)): inside + PORT_SHIFT
            for port, inside in ((self.options.http, 80), (self.options.https, 443))
        }
        words = [f"{listener.fileno()}:{inside}" for listener, inside in listeners.items()]
        descriptors = [listener.fileno() for listener in listeners]
        command = [sys.executable, __file__, "--relay", *words]
        self.programs.start("relay", command, descriptors=descriptors)
        for listener in listeners:
            listener.close()


def relay_all(words: list[str]) -> None:
    """Connect listening sockets, given as FD:PORT, with ports of this network's loopback."""
    for word in words:
        descriptor, port = map(int, word.split(":"))
        parts = (socket.socket(fileno=descriptor), ("127.0.0.1", port))
        threading.Thread(target=relay, args=parts).start()


def read_options(words: list[str]) -> tuple[Options, bytes]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("controller", type=Path, help="the program envoy-gateway, beside envoy")
    parser.add_argument("--config", required=True, type=Path, help="of the controller")
    parser.add_argument("--kubeconfig", required=True, type=Path)
    parser.add_argument("--state", required=True, type=Path, help="folder of files and logs")
    parser.add_argument("--http", required=True, type=int, help="port of loopback")
    parser.add_argument("--https", required=True, type=int, help="port of loopback")
    given = parser.parse_args(words)
    beside = given.controller.parent
    os.environ["KUBECONFIG"] = str(given.kubeconfig)
    os.environ["PATH"] = f"{beside}{os.pathsep}{os.environ['PATH']}"
    given.state.mkdir(parents=True, exist_ok=True)
    programs = (given.controller, beside / "envoy", beside / "grpc-backend")
    options = Options(*programs, given.state.resolve(), given.http, given.https)
    return options, given.config.read_bytes()


def main() -> int:
    """Run the gateway until interrupted."""
    if sys.argv[1:2] == ["--relay"]:
        relay_all(sys.argv[2:])
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    options, configuration = read_options(sys.argv[1:])
    address = api_address()
    network = Network(address[1])
    gateway = Gateway(options, network, address)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            gateway.start_controller(configuration)
            while not gateway.is_ready():
                time.sleep(PERIOD)
            gateway.open_ports()
            gateway.follow()
    finally:
        gateway.programs.stop_all()
        network.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
