# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Runs the containers of some simulated pods, as a kubelet does.

A pod of the sandbox runs nothing, so an endpoint picker that the operator deploys is never tried.
For each pod whose container has the given name, this program runs a static program instead of the
container's image, with its arguments, environment, ConfigMaps, service account and probes, and
reports the outcome in the pod's status. The pods must have the behavior `hold`, so that the sandbox
leaves them alone. It needs permission to create networks, as root or by user namespaces.

Each pod has a network of its own, without a connection to the machine's: a port that is open there
is not open anywhere else. Two things are in it: the API server, at its usual address of loopback,
and the simulated pods with their addresses, which answer /v1/metrics on port 8000. The annotation
`sandbox.nimops/waiting` of a pod is its number of waiting requests.

Restarts are delayed by 1 to 8 seconds. The logs are in the folder of --state.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
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
from dataclasses import dataclass, field
from pathlib import Path

Json = dict[str, t.Any]

POD_RANGE = "198.18.0.1/16"
MODEL_PORT = 8000
WAITING = "sandbox.nimops/waiting"
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
METRICS = """\
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting {waiting}
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running {waiting}
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc 0
"""
LOG_BYTES, LOG_LINES = 2048, 80
FIRST_PAUSE, LAST_PAUSE = 1.0, 8.0  # seconds before a restart
GRACE_SECONDS = 5.0
_KEYED = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")
AS_ROOT = os.geteuid() == 0
UNSHARE = ["unshare", "--net", *([] if AS_ROOT else ["--map-root-user"])]
NSENTER = ["nsenter", "--net", *([] if AS_ROOT else ["--user", "--preserve-credentials"])]


@dataclass(frozen=True)
class Options:
    namespace: str
    container: str
    program: Path
    client: Path
    state: Path
    server: tuple[str, int]


def kubectl(*words: str, check: bool = True) -> str:
    """The output of kubectl; CalledProcessError, or an empty text unless ``check``."""
    done = subprocess.run(["kubectl", *words], stdout=subprocess.PIPE, text=True, check=check)
    return done.stdout if done.returncode == 0 else ""


def environment_of(pod: Json, container: Json) -> dict[str, str]:
    """The variables of a container, by name; KeyError for a source other than a field."""
    fields = {
        "metadata.name": pod["metadata"]["name"],
        "metadata.namespace": pod["metadata"]["namespace"],
    }

    def read(path: str) -> str:
        if match := _KEYED.fullmatch(path):
            return str((pod["metadata"].get(match[1]) or {}).get(match[2], ""))
        return str(fields[path])

    return {
        item["name"]: item["value"]
        if "value" in item
        else read(item["valueFrom"]["fieldRef"]["fieldPath"])
        for item in container.get("env") or []
    }


def arguments_of(container: Json, environment: t.Mapping[str, str]) -> list[str]:
    """The arguments of a container, with references such as $(NAME) replaced."""

    def value(match: re.Match[str]) -> str:
        return environment.get(match[1], match[0])

    return [re.sub(r"\$\((\w+)\)", value, word) for word in container.get("args") or []]


def config_maps_of(pod: Json, container: Json) -> dict[str, str]:
    """Mount path → name of the ConfigMap mounted there."""
    names = {
        volume["name"]: volume["configMap"]["name"]
        for volume in pod["spec"].get("volumes") or []
        if "configMap" in volume
    }
    mounts = container.get("volumeMounts") or []
    return {it["mountPath"]: names[it["name"]] for it in mounts if it["name"] in names}


def metrics_of(pods: t.Iterable[Json], address: str) -> str | None:
    """The metrics of the simulated model server at an address; None if no pod has it."""
    if (pod := pod_at(pods, address)) is None:
        return None
    waiting = (pod["metadata"].get("annotations") or {}).get(WAITING, "0")
    return METRICS.format(waiting=int(waiting))


def pod_at(pods: t.Iterable[Json], address: str) -> Json | None:
    """The pod with an address; None if there is none."""
    return next((it for it in pods if (it.get("status") or {}).get("podIP") == address), None)


def api_address() -> tuple[str, int]:
    """Host and port of the API server of the kubeconfig."""
    server = "jsonpath={.clusters[0].cluster.server}"
    url = urllib.parse.urlsplit(kubectl("config", "view", "--minify", "--output", server))
    return str(url.hostname), int(url.port or 443)


def last_output(log: bytes) -> str:
    """The end of a log as a kubelet keeps it for a container that ended with an error."""
    lines = log[-LOG_BYTES:].decode(errors="replace").splitlines()
    return "\n".join(lines[-LOG_LINES:])


@dataclass
class Probe:
    """A probe of a container, and when it was due. Times are in seconds.

    passes: None before the first result; failures: in sequence, since the last success.
    """

    spec: Json
    started: float
    passes: bool | None = None
    failures: int = 0
    asked: float = 0.0

    def is_due(self, now: float) -> bool:
        first = self.started + float(self.spec.get("initialDelaySeconds", 0))
        return now >= max(first, self.asked + float(self.spec.get("periodSeconds", 10)))

    def record(self, passed: bool, now: float) -> None:
        self.asked = now
        self.failures = 0 if passed else self.failures + 1
        if passed or self.has_failed:
            self.passes = passed

    @property
    def has_failed(self) -> bool:
        return self.failures >= int(self.spec.get("failureThreshold", 3))


@dataclass
class Container:
    """The state of the only container of a pod, as its status shows it."""

    name: str
    image: str
    ready: bool = False
    restarts: int = 0
    state: Json = field(default_factory=lambda: {"waiting": {"reason": "ContainerCreating"}})
    last: Json = field(default_factory=dict)

    def status(self) -> Json:
        return {
            "name": self.name,
            "image": self.image,
            "imageID": "",
            "ready": self.ready,
            "started": "running" in self.state,
            "restartCount": self.restarts,
            "state": self.state,
            "lastState": self.last,
        }


def status_of(container: Container, started: str) -> Json:
    """The status of a pod with this container."""
    ready = str(container.ready)
    reason = None if container.ready else "ContainersNotReady"
    conditions = [{"type": "Initialized", "status": "True"}]
    conditions += [
        {"type": kind, "status": ready, **({"reason": reason} if reason else {})}
        for kind in ("ContainersReady", "Ready")
    ]
    return {
        "phase": "Pending" if "waiting" in container.state and not container.last else "Running",
        "startTime": started,
        "conditions": conditions,
        "containerStatuses": [container.status()],
    }


def now_text() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Network:
    """A network of its own, which a process holds; it ends with this object's channel."""

    def __init__(self, api_port: int) -> None:
        ours, theirs = socket.socketpair()
        command = [*UNSHARE, sys.executable, __file__, "--hold", str(theirs.fileno())]
        self._holder = subprocess.Popen([*command, str(api_port)], pass_fds=[theirs.fileno()])
        theirs.close()
        ours.settimeout(10.0)
        try:
            _, files, _, _ = socket.recv_fds(ours, 1, 2)
        except OSError:
            files = []
        if len(files) != 2:
            raise SystemExit("run_pods: this machine forbids a network of a pod")
        self._channel = ours
        self.api, self.models = (socket.socket(fileno=it) for it in files)

    def enter(self) -> list[str]:
        """The command that runs another one in this network."""
        return [*NSENTER, f"--target={self._holder.pid}"]

    def close(self) -> None:
        for it in (self.api, self.models):
            with contextlib.suppress(OSError):
                it.shutdown(socket.SHUT_RDWR)
            it.close()
        self._channel.close()
        self._holder.wait()


def hold(channel: socket.socket, api_port: int) -> None:
    """Set up the network of this process, send its listening sockets, wait for the end."""
    for command in ("link set lo up", f"address add {POD_RANGE} dev lo"):
        subprocess.run(["ip", *command.split()], check=True)
    api = socket.create_server(("127.0.0.1", api_port))
    models = socket.create_server(("0.0.0.0", MODEL_PORT))
    socket.send_fds(channel, [b"."], [api.fileno(), models.fileno()])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel.recv(1)


def relay(listener: socket.socket, target: tuple[str, int]) -> None:
    """Connect everything that connects to the listener with the target, until it is closed.

    A connection ends at once while the target does not listen.
    """
    with contextlib.suppress(OSError):
        while True:
            inside, _ = listener.accept()
            try:
                outside = socket.create_connection(target)
            except OSError:
                inside.close()
                continue
            for pair in ((inside, outside), (outside, inside)):
                threading.Thread(target=_copy, args=pair, daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for it in (source, target):
        with contextlib.suppress(OSError):
            it.shutdown(socket.SHUT_RDWR)


class _Models(http.server.ThreadingHTTPServer):
    daemon_threads = True
    pods: t.Callable[[], list[Json]]

    def handle_error(self, *_: t.Any) -> None:
        """A picker that ends drops its connections."""


class _Metrics(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        pods = t.cast(_Models, self.server).pods()
        found = metrics_of(pods, self.connection.getsockname()[0])
        text = found if self.path == "/v1/metrics" else None
        body = (text or "").encode()
        self.send_response(404 if text is None else 200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: t.Any) -> None:  # noqa: A002 the base class's name
        """Log nothing: pickers ask twenty times a second."""


class PodRunner:
    """Runs one pod in a thread, until it is stopped."""

    def __init__(self, pod: Json, options: Options, pods: t.Callable[[], list[Json]]) -> None:
        self.pod, self.options, self.pods = pod, options, pods
        self.name: str = pod["metadata"]["name"]
        self.spec: Json = pod["spec"]["containers"][0]
        self.container = Container(self.spec["name"], self.spec["image"])
        self.started = now_text()
        self.reported: Json = {}
        self.stopping = threading.Event()
        self.folder: Path = options.state / self.name
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.stopping.set()

    def run(self) -> None:
        network = Network(self.options.server[1])
        try:
            self._serve(network)
            pause = FIRST_PAUSE
            while not self.stopping.is_set():
                if self._write_files():
                    self._run_once(network)
                    self._report()
                    self.stopping.wait(pause)
                    pause = min(2 * pause, LAST_PAUSE)
                else:
                    self._report()
                    self.stopping.wait(1.0)
        finally:
            network.close()

    def _serve(self, network: Network) -> None:
        server = _Models(("", 0), _Metrics, bind_and_activate=False)
        server.socket.close()
        server.socket, server.pods = network.models, self.pods
        threading.Thread(target=server.serve_forever, daemon=True).start()
        parts = (network.api, self.options.server)
        threading.Thread(target=relay, args=parts, daemon=True).start()
        (self.options.state / f"{self.name}.enter").write_text(" ".join(network.enter()))

    @property
    def _root(self) -> Path:
        return self.folder / "root"

    def _write_files(self) -> bool:
        """Write the root folder of the container; False if a ConfigMap does not exist."""
        shutil.rmtree(self._root, ignore_errors=True)
        for path, name in config_maps_of(self.pod, self.spec).items():
            if (data := self._config_map(name)) is None:
                return False
            for key, value in data.items():
                self._write(f"{path}/{key}", value)
        account = self.pod["spec"]["serviceAccountName"]
        self._write(f"{ACCOUNT}/token", self._kubectl("create", "token", account))
        self._write(f"{ACCOUNT}/namespace", self.options.namespace)
        self._write(f"{ACCOUNT}/ca.crt", (self._config_map("kube-root-ca.crt") or {})["ca.crt"])
        self._write("/etc/hosts", "127.0.0.1 localhost\n")
        self._root.joinpath("tmp").mkdir()
        shutil.copy(self.options.program, self._root / "program")
        return True

    def _config_map(self, name: str) -> Json | None:
        text = self._kubectl("get", "configmap", name, "--output=json", check=False)
        return json.loads(text).get("data") or {} if text else None

    def _write(self, path: str, text: str) -> None:
        target = self._root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def _run_once(self, network: Network) -> None:
        """Run the program until it ends; record its end."""
        host, port = self.options.server
        environment = environment_of(self.pod, self.spec)
        environment |= {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": str(port)}
        command = [*network.enter(), "chroot", str(self._root), "/program"]
        command += arguments_of(self.spec, environment)
        log = self.options.state / f"{self.name}.log"
        start, begun = log.stat().st_size if log.exists() else 0, now_text()
        path = {"PATH": os.environ["PATH"]}
        with log.open("ab") as output:
            child = subprocess.Popen(
                command, env=environment | path, stdout=output, stderr=output, cwd="/"
            )
        self.container.state = {"running": {"startedAt": begun}}
        self._report()
        self._watch(child, network)
        with log.open("rb") as text:
            text.seek(start)
            said = last_output(text.read())
        self._record_end(child.returncode, begun, said)

    def _watch(self, child: subprocess.Popen[bytes], network: Network) -> None:
        """Probe a program until it ends; end it if it is not alive, or the pod is deleted."""
        now = time.monotonic()
        ready = Probe(self.spec.get("readinessProbe") or {}, now)
        alive = Probe(self.spec.get("livenessProbe") or {}, now)
        while child.poll() is None:
            for probe in (ready, alive):
                if probe.spec and probe.is_due(time.monotonic()):
                    probe.record(self._ask(probe.spec, network), time.monotonic())
            self.container.ready = bool(ready.passes) or not ready.spec
            self._report()
            if self.stopping.is_set() or alive.has_failed:
                child.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(GRACE_SECONDS)
                child.kill()
            self.stopping.wait(0.2)
        child.wait()

    def _ask(self, probe: Json, network: Network) -> bool:
        """Whether a probe passes; only gRPC is supported."""
        port, service = probe["grpc"]["port"], probe["grpc"].get("service") or ""
        words = ["health", f"--address=127.0.0.1:{port}", f"--service={service}"]
        command = [*network.enter(), str(self.options.client), *words]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def _record_end(self, code: int, begun: str, said: str) -> None:
        policy = self.spec.get("terminationMessagePolicy")
        shows = code and policy == "FallbackToLogsOnError"
        end = {
            "exitCode": code if code >= 0 else 128 - code,
            "reason": "Error" if code else "Completed",
            "startedAt": begun,
            "finishedAt": now_text(),
            **({"message": said} if shows else {}),
        }
        item = self.container
        item.ready, item.last = False, {"terminated": end}
        item.restarts += 1
        item.state = {"waiting": {"reason": "CrashLoopBackOff"}}

    def _report(self) -> None:
        """Write the pod's status if it changed; the pod may be deleted meanwhile."""
        status = status_of(self.container, self.started)
        if status != self.reported and not self.stopping.is_set():
            patch = json.dumps({"status": status})
            words = ("--subresource=status", "--type=strategic", f"--patch={patch}")
            if self._kubectl("patch", f"pod/{self.name}", *words, check=False):
                self.reported = json.loads(json.dumps(status))

    def _kubectl(self, *words: str, check: bool = True) -> str:
        return kubectl(*words, f"--namespace={self.options.namespace}", check=check)


def is_run(pod: Json, container: str) -> bool:
    """Whether a pod has this container and a node, and is not being deleted."""
    is_deleted = bool(pod["metadata"].get("deletionTimestamp"))
    has_node = bool(pod["spec"].get("nodeName"))
    return pod["spec"]["containers"][0]["name"] == container and has_node and not is_deleted


def follow(options: Options) -> None:
    """Run the pods that exist, until interrupted or until the kubeconfig is gone."""
    runners: dict[str, PodRunner] = {}
    pods: list[Json] = []
    try:
        while Path(os.environ["KUBECONFIG"]).is_file():
            text = kubectl(
                "get", "pods", f"--namespace={options.namespace}", "--output=json", check=False
            )
            if text:
                pods[:] = json.loads(text)["items"]
                wanted = {p["metadata"]["uid"]: p for p in pods if is_run(p, options.container)}
                for uid in runners.keys() - wanted.keys():
                    runners.pop(uid).stop()
                for uid in wanted.keys() - runners.keys():
                    runners[uid] = PodRunner(wanted[uid], options, lambda: pods)
            time.sleep(0.5)
    finally:
        for runner in runners.values():
            runner.stop()
        for runner in runners.values():
            runner.thread.join(2 * GRACE_SECONDS)


def read_options() -> Options:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--container", required=True, help="the name of the pods' container")
    parser.add_argument("--program", required=True, help="on PATH, static")
    parser.add_argument("--client", required=True, help="on PATH, asks for the health")
    parser.add_argument("--state", required=True, type=Path, help="folder of logs")
    given = parser.parse_args()
    found = {name: shutil.which(getattr(given, name)) for name in ("program", "client")}
    for name, path in found.items():
        if path is None:
            parser.error(f"{getattr(given, name)} is not on PATH: start the sandbox with it")
    given.state.mkdir(parents=True, exist_ok=True)
    return Options(
        given.namespace,
        given.container,
        Path(str(found["program"])),
        Path(str(found["client"])),
        given.state.resolve(),
        api_address(),
    )


def main() -> int:
    """Run pods until interrupted."""
    if sys.argv[1:2] == ["--hold"]:
        hold(socket.socket(fileno=int(sys.argv[2])), int(sys.argv[3]))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with contextlib.suppress(KeyboardInterrupt):
        follow(read_options())
    return 0


if __name__ == "__main__":
    sys.exit(main())
