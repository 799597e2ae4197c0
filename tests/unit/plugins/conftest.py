# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Servers on loopback: one with answers of a test, and one that simulates an API server."""

from __future__ import annotations

import contextlib
import copy
import fcntl
import functools
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine import digests
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import KINDS

Json = dict[str, t.Any]

# A digest takes 40 ms, on purpose. Passes of many tests need those of the same few texts.
digests._digest = functools.cache(digests._digest)

# Each new context of TLS reads the certificates of the machine, which takes 10 ms and which no test needs.
os.environ["SSL_CERT_FILE"] = os.devnull


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: t.Any
    content: bytes = b""


@dataclass
class Answer:
    status: int = 200
    body: t.Any = ""
    headers: dict[str, str] = field(default_factory=dict)

    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


class Server:
    """Answers with the result of ``respond``, and records the requests."""

    def __init__(self, respond: t.Callable[[Request], Answer]) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self.respond = respond
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one packet

            def setup(self) -> None:
                outer.connections += 1
                super().setup()

            def handle(self) -> None:
                with contextlib.suppress(ConnectionError):  # the client may read no further
                    super().handle()

            def handle_any(self) -> None:
                url = urlsplit(self.path)
                content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                request = Request(
                    self.command,
                    url.path,
                    {key: values[-1] for key, values in parse_qs(url.query).items()},
                    {key.lower(): value for key, value in self.headers.items()},
                    json.loads(content) if content else None,
                    content,
                )
                outer.requests.append(request)
                answer = outer.respond(request)
                answered = answer.content()
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(answered)))
                for key, value in answer.headers.items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(answered)

            do_GET = do_PATCH = do_POST = do_DELETE = handle_any  # noqa: N815

            def log_message(self, *args: t.Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{self.host}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def serve() -> Iterator[t.Callable[..., Server]]:
    """Start servers that end with the test."""
    servers: list[Server] = []

    def start(respond: t.Callable[[Request], Answer]) -> Server:
        servers.append(Server(respond))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def raw() -> Iterator[t.Callable[..., str]]:
    """Serve one connection with these chunks of bytes, a pause before each; returns the URL."""
    stop = threading.Event()
    listeners = []

    def start(
        chunks: t.Iterable[bytes],
        pause: float = 0.0,
        family: int = socket.AF_INET,
        address: str = "127.0.0.1",
    ) -> str:
        listener = socket.create_server((address, 0), family=family)
        listeners.append(listener)

        def answer() -> None:
            with contextlib.suppress(OSError):
                connection, _peer = listener.accept()
                with connection:
                    connection.recv(65536)
                    for chunk in chunks:
                        if pause and stop.wait(pause):
                            return
                        connection.sendall(chunk)

        threading.Thread(target=answer, daemon=True).start()
        host = f"[{address}]" if ":" in address else address
        return f"http://{host}:{listener.getsockname()[1]}/v1/models"

    yield start
    stop.set()
    for listener in listeners:
        listener.close()


@pytest.fixture(scope="session")
def warm(request):
    """Return the environment of prefork's ansible-playbook, warm for an environment of a run.

    A hundred runs share one import of Ansible and of the collection, which takes three seconds: also those of the
    other processes of pytest-xdist. Prefork's parent ends with the first process, and removes the folder.
    """
    is_worker = hasattr(request.config, "workerinput")
    first = os.getppid() if is_worker else os.getpid()
    # ansible-core 2.18 parses its paths as Python, which warns of `6or` in `nimops-6or_`, but not in `nimops_6or_`.
    if is_worker:
        folder = Path(tempfile.gettempdir(), f"nimops_{request.config.workerinput['testrunuid']}")
        folder.mkdir(mode=0o700, exist_ok=True)
    else:
        folder = Path(tempfile.mkdtemp(prefix="nimops_"))
    settings = {
        "ANSIBLE_HOME": str(folder / "ansible"),
        "PATH": f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PREFORK_DIR": str(folder),
        "PREFORK_FOLLOW": str(first),
        "PREFORK_PRELOAD": "nimops.nim",
    }
    for name in {"ANSIBLE_COLLECTIONS_PATH", "PYTHONPATH"} & os.environ.keys():
        # With a relative path each working directory needs a parent of its own.
        paths = filter(None, os.environ[name].split(os.pathsep))
        settings[name] = os.pathsep.join(map(os.path.abspath, paths))
    known = set()

    @contextlib.contextmanager
    def alone():
        with (folder / "tests.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    with alone():
        if not (folder / "bin").exists():
            clients = [sys.executable, "-m", "ansible_prefork", "clients", str(folder / "bin")]
            subprocess.run(clients, check=True, capture_output=True)

    def warm_up(environment):
        environment = environment | settings
        key = tuple(sorted(item for item in environment.items() if item[0].startswith("ANSIBLE")))
        if key not in known:
            command = [str(folder / "bin/ansible-playbook"), "--version"]
            with alone():
                subprocess.run(
                    command, env=environment, cwd=folder, check=True, capture_output=True
                )
            known.add(key)
        return environment

    return warm_up


@pytest.fixture
def answer() -> type[Answer]:
    return Answer


def kube_status(code: int, message: str, reason: str = "") -> Answer:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message}
    return Answer(code, body | {"reason": reason, "code": code})


READY = {
    "state": "Ready",
    "conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": "it serves"}],
    "model": {"name": "acme/llm", "clusterEndpoint": "10.0.0.1:8000", "externalEndpoint": ""},
}
"""The status that an operator gives a custom resource."""


class FakeCluster:
    """Objects by path, merge patches, server-side apply without conflicts, and discovery.

    ``refuse`` maps (method, path) to answers that are given first, one a request; ``texts`` paths,
    such as those of logs, to the live object, or to its source. ``keeps_finalizers``: a deleted
    object with finalizers stays until they are removed.
    """

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {}
        self.texts: dict[str, str | t.Callable[[Request], str]] = {}
        self.kinds = {kind: (item.version, item.plural) for kind, item in KINDS.items()}
        self.refuse: dict[tuple[str, str], list[Answer]] = {}
        self.missing_kinds: set[str] = set()
        self.cluster_scoped_kinds = {kind for kind, item in KINDS.items() if not item.is_namespaced}
        self.has_controllers = False
        self.keeps_finalizers = False
        self._version = 100
        self.server = Server(self._respond)

    def kubeconfig(self, folder: Path, **user: t.Any) -> str:
        path = folder / "kubeconfig"
        path.write_text(make_kubeconfig(self.server.url, **user))
        return str(path)

    def put(self, path: str, item: Json) -> Json:
        self._version += 1
        stored = copy.deepcopy(item) | self._control(path)
        stored["metadata"]["resourceVersion"] = str(self._version)
        stored["metadata"].setdefault("uid", f"uid-{self._version}")
        self.objects[path] = stored
        return stored

    def _control(self, path: str) -> Json:
        """The status that controllers give an object at once."""
        true = [{"type": name, "status": "True"} for name in ("NamesAccepted", "Established")]
        statuses = {
            "customresourcedefinitions": {"conditions": true},
            "deployments": {"updatedReplicas": 1, "availableReplicas": 1},
            **dict.fromkeys(("nimbuilds", "nimcaches", "nimpipelines", "nimservices"), READY),
        }
        kind = path.split("/")[-2] if self.has_controllers else ""
        return {"status": statuses[kind]} if kind in statuses else {}

    def calls(self, method: str) -> list[Request]:
        return [item for item in self.server.requests if item.method == method]

    def _respond(self, request: Request) -> Answer:
        if planned := self.refuse.get((request.method, request.path)):
            return planned.pop(0)
        if request.method == "GET" and (found := self._discover(request.path)):
            return Answer(200, found)
        return getattr(self, f"_{request.method.lower()}")(request)

    def _get(self, request: Request) -> Answer:
        if request.path in self.texts:
            text = self.texts[request.path]
            return Answer(200, text(request) if callable(text) else text)
        if request.path in self.objects:
            return Answer(200, self.objects[request.path])
        if request.path.rsplit("/", 1)[-1] in {plural for _version, plural in self.kinds.values()}:
            folder, plural = request.path.rsplit("/", 1)
            everywhere = re.compile(f"{re.escape(folder)}(/namespaces/[^/]+)?/{plural}/[^/]+")
            below = [item for path, item in self.objects.items() if everywhere.fullmatch(path)]
            if selector := request.query.get("fieldSelector"):
                below = [x for x in below if _has_fields(x, selector)]
            if selector := request.query.get("labelSelector"):
                below = [x for x in below if _has_labels(x, selector)]
            return Answer(200, {"kind": "List", "metadata": {}, "items": below})
        return kube_status(404, f"{request.path} not found", "NotFound")

    def _patch(self, request: Request) -> Answer:
        if "yaml" in request.headers["content-type"] and re.search(
            rb"\\u[dD][89abAB]", request.content
        ):
            return kube_status(400, "yaml: found invalid Unicode character escape code")
        path = request.path.removesuffix("/status").removesuffix("/scale")
        if path.split("/")[-2] in {self.kinds[kind][1] for kind in self.missing_kinds}:
            return Answer(404, "404 page not found\n")
        live = self.objects.get(path)
        if live is None and request.headers["content-type"] != "application/apply-patch+yaml":
            return kube_status(404, f"{path} not found", "NotFound")
        metadata = request.body.get("metadata") or {}
        wanted = metadata.get("resourceVersion")
        if live and wanted and wanted != live["metadata"]["resourceVersion"]:
            return kube_status(409, "the object has been modified", "Conflict")
        uid = metadata.get("uid")
        if uid and uid != (live or {"metadata": {}})["metadata"].get("uid"):
            fault = f'metadata.uid: Invalid value: "{uid}": field is immutable'
            answers = {False: (409, "uid mismatch", "Conflict"), True: (422, fault, "Invalid")}
            return kube_status(*answers[bool(live)])
        done = merge(live or {}, request.body)
        if manager := request.query.get("fieldManager"):
            entry = {"manager": manager, "operation": "Apply", "fieldsV1": {}}
            done["metadata"]["managedFields"] = [entry]
        return Answer(200, done if request.query.get("dryRun") else self._store(path, done))

    def _store(self, path: str, item: Json) -> Json:
        """Store an object, or end it with its last finalizer."""
        metadata = item["metadata"]
        is_over = "deletionTimestamp" in metadata and not metadata.get("finalizers")
        if self.keeps_finalizers and is_over:
            return self.objects.pop(path)
        return self.put(path, item)

    def _delete(self, request: Request) -> Answer:
        live = self.objects.get(request.path)
        if live is None:
            return kube_status(404, f"{request.path} not found", "NotFound")
        uid = ((request.body or {}).get("preconditions") or {}).get("uid")
        if uid and uid != live["metadata"]["uid"]:
            return kube_status(409, "the UID in the precondition does not match", "Conflict")
        if self.keeps_finalizers and live["metadata"].get("finalizers"):
            live["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
        else:
            del self.objects[request.path]
        return Answer(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def _post(self, request: Request) -> Answer:
        """Evict a pod: that is the only thing that anybody posts."""
        path, _slash, what = request.path.rpartition("/")
        live = self.objects.get(path)
        if what != "eviction" or live is None:
            return kube_status(404, f"{request.path} not found", "NotFound")
        uid = (request.body.get("deleteOptions") or {}).get("preconditions", {}).get("uid")
        if uid and uid != live["metadata"]["uid"]:
            return kube_status(409, "the UID in the precondition does not match", "Conflict")
        del self.objects[path]
        return Answer(201, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def _discover(self, path: str) -> Json | None:
        groups = sorted({version for version, _plural in self._kinds().values()} - {"v1"})
        if path == "/version":
            return {"major": "1", "minor": "34", "gitVersion": "v1.34.0"}
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            return {"kind": "APIGroupList", "groups": [_group_of(version) for version in groups]}
        version = path.removeprefix("/apis/").removeprefix("/api/")
        if version not in (*groups, "v1"):
            return None
        resources = [
            {
                "name": plural,
                "kind": kind,
                "namespaced": kind not in self.cluster_scoped_kinds,
                "verbs": ["get", "patch"],
            }
            for kind, (where, plural) in self._kinds().items()
            if where == version
        ]
        return {"kind": "APIResourceList", "groupVersion": version, "resources": resources}

    def _kinds(self) -> dict[str, tuple[str, str]]:
        return {kind: item for kind, item in self.kinds.items() if kind not in self.missing_kinds}


def _has_fields(item: Json, selector: str) -> bool:
    """Whether an object matches `metadata.name=…`, `metadata.name!=…`, or such of other fields."""
    for part in selector.split(","):
        operator = "!=" if "!=" in part else "="
        path, wanted = part.split(operator)
        found: t.Any = item
        for name in path.split("."):
            found = (found or {}).get(name)
        if (found == wanted) is not (operator == "="):
            return False
    return True


def _has_labels(item: Json, selector: str) -> bool:
    wanted = set(selector.split(","))
    absent = {name for name in wanted if name.startswith("!")}
    found = _labels_of(item)
    return wanted - absent <= found and not {name[1:] for name in absent} & found


def _labels_of(item: Json) -> set[str]:
    """The requirements of a selector that an object meets."""
    labels = item["metadata"].get("labels") or {}
    return {*labels, *(f"{key}={value}" for key, value in labels.items())}


def _group_of(version: str) -> Json:
    name = version.split("/", maxsplit=1)[0]
    entry = {"groupVersion": version, "version": version.split("/")[1]}
    return {"name": name, "versions": [entry], "preferredVersion": entry}


def merge(old: t.Any, patch: t.Any) -> t.Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def make_kubeconfig(url: str, **user: t.Any) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": url}}],
            "users": [{"name": "u", "user": user}],
        }
    )


@pytest.fixture
def merge_json() -> t.Callable[[t.Any, t.Any], t.Any]:
    return merge


@pytest.fixture
def kubeconfig_text() -> t.Callable[..., str]:
    return make_kubeconfig


@pytest.fixture(scope="session")
def refused() -> t.Callable[..., Answer]:
    """Answers as the API server refuses."""
    return kube_status


@pytest.fixture(scope="session")
def new_cluster() -> type[FakeCluster]:
    return FakeCluster


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    fake = FakeCluster()
    yield fake
    fake.server.close()


@pytest.fixture
def controllers(cluster: FakeCluster) -> FakeCluster:
    """The cluster, with controllers."""
    cluster.has_controllers = True
    cluster.kinds |= {
        "ClusterServiceVersion": ("operators.coreos.com/v1alpha1", "clusterserviceversions"),
        "Lease": ("coordination.k8s.io/v1", "leases"),
        "ReplicaSet": ("apps/v1", "replicasets"),
        "Subscription": ("operators.coreos.com/v1alpha1", "subscriptions"),
    }
    return cluster


class GpuObjects:
    """Nodes and pods as an upgrade of drivers sees them."""

    state = "nvidia.com/gpu-driver-upgrade-state"

    def node(self, name, state="", *, cordoned=False, ready=True, gpus=8, labels=(), **annotations):
        labels = {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.deploy.driver": "true"} | dict(
            labels
        )
        if state:
            labels[self.state] = state
        spec = {"unschedulable": True} if cordoned else {}
        conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
        return {
            "metadata": {
                "name": name,
                "uid": f"uid-{name}",
                "labels": labels,
                "annotations": {
                    key.replace("__", "/"): value for key, value in annotations.items()
                },
            },
            "spec": spec,
            "status": {"allocatable": {"nvidia.com/gpu": str(gpus)}, "conditions": conditions},
        }

    def pod(
        self, name, node="", *, namespace="nim", owner="ReplicaSet", labels=(), gpus=0, ready=True
    ):
        owners = [{"kind": owner, "name": "o", "uid": f"uid-{owner}", "controller": True}]
        resources = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
        return {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": f"uid-{namespace}-{name}",
                "labels": dict(labels),
                "ownerReferences": owners if owner else [],
            },
            "spec": {"containers": [{"name": "c", "resources": resources}]}
            | ({"nodeName": node} if node else {}),
            "status": {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
                "containerStatuses": [{"name": "c", "ready": ready, "restartCount": 0}],
            },
        }

    def driver(self, node, revision="new", **options):
        labels = {
            "app.kubernetes.io/component": "nvidia-driver",
            "controller-revision-hash": revision,
        }
        return self.pod(
            f"driver-{node}", node, namespace="gpu", owner="DaemonSet", labels=labels, **options
        )

    def validator(self, node, **options):
        labels = {"app": "nvidia-operator-validator"}
        return self.pod(
            f"validator-{node}", node, namespace="gpu", owner="DaemonSet", labels=labels, **options
        )

    def replica(self, name, node="", service="llm", **options):
        labels = {
            "app": service,
            "app.kubernetes.io/name": service,
            "app.kubernetes.io/part-of": "nim-service",
        }
        return self.pod(name, node, labels=labels, **({"gpus": 1} | options))

    def workload(self, replicas, service="llm", gpus=1):
        labels = {"app.kubernetes.io/name": service, "app.kubernetes.io/part-of": "nim-service"}
        pod = self.pod("", gpus=gpus)["spec"]
        return {
            "metadata": {"name": service, "namespace": "nim", "labels": labels},
            "spec": {"replicas": replicas, "template": {"spec": pod}},
        }

    def revision(self, name, number, digest=""):
        env = [{"name": "DRIVER_CONFIG_DIGEST", "value": digest}] if digest else []
        return {
            "metadata": {
                "name": f"o-{name}",
                "namespace": "gpu",
                "labels": {
                    "controller-revision-hash": name,
                    "app.kubernetes.io/component": "nvidia-driver",
                },
                "ownerReferences": [
                    {"kind": "DaemonSet", "name": "o", "uid": "uid-DaemonSet", "controller": True}
                ],
            },
            "revision": number,
            "data": {"spec": {"template": {"spec": {"containers": [{"env": env}]}}}},
        }

    def budget(self, name="b", *, app="llm", expected=2, wanted=1, healthy=2, **spec):
        return {
            "metadata": {"name": name, "namespace": "nim"},
            "spec": {"selector": {"matchLabels": {"app": app}}, **spec},
            "status": {
                "expectedPods": expected,
                "desiredHealthy": wanted,
                "currentHealthy": healthy,
                "disruptionsAllowed": max(0, healthy - wanted),
            },
        }


@pytest.fixture(scope="session")
def gpu_objects():
    """Makes the objects of a cluster with GPUs."""
    return GpuObjects()


@pytest.fixture(scope="session")
def gpu(gpu_objects):
    """The same, where no kind has something of its own by that name."""
    return gpu_objects
