# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Shared API discovery: the key, sharing among runs, and expiry."""

from __future__ import annotations

import base64
import http.server
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from harness import age

from ansible_prefork import discovery

pytest.importorskip("ansible_collections.kubernetes.core", reason="kubernetes.core comes with the package ansible")
pytest.importorskip("kubernetes", reason="the client that kubernetes.core uses")


def owner(name: str, **changes: str) -> str:
    """The owner reference that ansible-operator puts into the user part of the URL."""
    text = {"apiVersion": "example.com/v1", "kind": "Thing", "name": name, "uid": f"u-{name}", "namespace": "n"}
    return base64.urlsafe_b64encode(json.dumps(text | changes).encode()).decode().rstrip("=")


def configuration(host: str = "https://server:6443", **changes: object) -> SimpleNamespace:
    plain = dict.fromkeys(discovery.CREDENTIALS)
    return SimpleNamespace(**{**plain, "host": host, "api_key": {}, **changes})


SAME = [
    (
        "the owner in the URL",
        configuration(f"http://{owner('a')}:unused@localhost:8888"),
        configuration(f"http://{owner('b')}:unused@localhost:8888"),
    ),
    (
        "the owner as user name",
        configuration("http://localhost:8888", username=owner("a"), password="unused"),
        configuration("http://localhost:8888", username=owner("b"), password="unused"),
    ),
    (
        "the header that the client makes of the owner",
        configuration(f"http://{owner('a')}@localhost", api_key={"authorization": "Basic YQ=="}),
        configuration(f"http://{owner('b')}@localhost", api_key={"authorization": "Basic Yg=="}),
    ),
    (
        "an owner with every letter of the alphabet of URLs",
        configuration(f"http://{owner('ÿþ?>')}@localhost:8888"),
        configuration(f"http://{owner('a')}@localhost:8888"),
    ),
    ("fields that are not credentials", configuration(verify_ssl=True), configuration(verify_ssl=True, retries=3)),
]
OTHER = [
    ("the host", configuration("https://a:6443"), configuration("https://b:6443")),
    ("the port", configuration("https://a:6443"), configuration("https://a:6444")),
    ("the scheme", configuration("https://a:6443"), configuration("http://a:6443")),
    ("the path", configuration("https://a/clusters/1"), configuration("https://a/clusters/2")),
    ("a token", configuration(api_key={"authorization": "Bearer a"}), configuration(api_key={"authorization": "b"})),
    ("a certificate", configuration(cert_file="/a"), configuration(cert_file="/b")),
    ("a user", configuration(username="a", password="p"), configuration(username="b", password="p")),
    ("a password", configuration(username="a", password="p"), configuration(username="a", password="q")),
    ("a user in the URL", configuration("https://a@server"), configuration("https://b@server")),
    ("no user", configuration(username="a", password="p"), configuration()),
    (
        "the proxy's server",
        configuration(f"http://{owner('a')}:unused@localhost:8888"),
        configuration(f"http://{owner('a')}:unused@localhost:8889"),
    ),
    (
        "a user that is text in base64, but no owner",
        configuration(f"http://{base64.b64encode(b'[1]').decode()}@server"),
        configuration(f"http://{base64.b64encode(b'[2]').decode()}@server"),
    ),
    (
        "a token beside an owner",
        configuration(f"http://{owner('a')}@server", api_key={"authorization": "a"}),
        configuration(f"http://{owner('a')}@server", api_key={"authorization": "b"}),
    ),
]


@pytest.mark.parametrize(
    ("is_same", "name", "one", "two"), [*((True, *case) for case in SAME), *((False, *case) for case in OTHER)]
)
def test_cluster_key(is_same, name, one, two):
    assert (discovery.cluster_key(one) == discovery.cluster_key(two)) is is_same, name


@pytest.mark.parametrize("name", discovery.CREDENTIAL_FILES)
def test_cluster_key_file_content(tmp_path, name):
    """The client writes what a kubeconfig contains into files with random names."""
    keys = []
    for number, text in enumerate(("one", "one", "two")):
        file = tmp_path / str(number)
        file.write_text(text)
        keys.append(discovery.cluster_key(configuration(**{name: str(file)})))
    assert keys[0] == keys[1] != keys[2]


def test_cluster_key_without_credentials():
    key = discovery.cluster_key(configuration(username="user", password="secret", api_key={"authorization": "token"}))
    assert len(key) == 64
    assert int(key, 16)


class ApiServer(http.server.ThreadingHTTPServer):
    """The part of an API server that a discovery requests; tests can add kinds."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.kinds = ["ConfigMap"]
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def discoveries(self) -> int:
        return self.asked.count("/api/v1")

    def answer(self, path: str) -> dict:
        answers = {
            "/version": {"major": "1", "minor": "34", "gitVersion": "v1.34.4"},
            "/api": {"kind": "APIVersions", "versions": ["v1"]},
            "/apis": {"kind": "APIGroupList", "groups": []},
            "/api/v1": {
                "kind": "APIResourceList",
                "groupVersion": "v1",
                "resources": [
                    {
                        "name": f"{kind.lower()}s",
                        "singularName": kind.lower(),
                        "namespaced": True,
                        "kind": kind,
                        "verbs": ["get", "list", "create", "patch"],
                    }
                    for kind in self.kinds
                ],
            },
        }
        return answers[path]


class _Handler(http.server.BaseHTTPRequestHandler):
    server: ApiServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.server.asked.append(path)
        body = json.dumps(self.server.answer(path)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server():
    made = ApiServer()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


# One run of a module: it finds each given kind and prints the result.
RUN = """
import os, sys
from pathlib import Path
from ansible_prefork import discovery, modules
directory, host, owner = sys.argv[1:4]
modules.add_collections_to_path()
discovery.install(Path(directory))
import importlib, kubernetes
from ansible_collections.kubernetes.core.plugins.module_utils.client.discovery import LazyDiscoverer
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.client import get_api_client
configuration = kubernetes.client.Configuration()
configuration.host = host
if owner:
    configuration.host = host.replace("//", "//" + owner + ":unused@")
client = kubernetes.dynamic.DynamicClient(kubernetes.client.ApiClient(configuration), discoverer=LazyDiscoverer)
try:
    for kind in sys.argv[4:]:
        try:
            print(client.resources.get(api_version="v1", kind=kind).name)
        except kubernetes.dynamic.exceptions.ResourceNotFoundError:
            print("none")
finally:
    discovery.publish()
"""


@pytest.fixture
def runs(tmp_path, server):
    """Start runs of a module that share discoveries, each in its own process."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    shared = tmp_path / "shared"
    shared.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "NO_PROXY": "*"}

    class Runs:
        def __init__(self) -> None:
            self.temporary = temporary
            self.server = server

        def start(self, *kinds: str, name: str = "a", host: str = "") -> subprocess.Popen[str]:
            command = [sys.executable, "-c", RUN, str(shared), host or server.url, name and owner(name), *kinds]
            return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

        def run(self, *kinds: str, **options: str) -> list[str]:
            process = self.start(*kinds, **options)
            out, _err = process.communicate(timeout=60)
            assert process.returncode == 0
            return out.split()

        def files(self) -> list[Path]:
            return sorted((shared / "discovery").iterdir())

    return Runs()


def test_discovery_shared_by_owners(runs):
    for name in ("a", "b", "c"):
        assert runs.run("ConfigMap", name=name) == ["configmaps"]
    assert runs.server.discoveries() == 1
    (file,) = runs.files()
    assert file.parent.stat().st_mode & 0o077 == 0
    assert owner("a") not in f"{file} {file.read_text()}"
    assert list(runs.temporary.iterdir()) == []


def test_discovery_without_owner(runs):
    runs.run("ConfigMap", name="a")
    runs.run("ConfigMap", name="")
    assert runs.server.discoveries() == 2
    assert len(runs.files()) == 2


def test_discovery_missing_kind(runs):
    assert runs.run("ConfigMap", "Secret") == ["configmaps", "none"]
    before = runs.server.discoveries()
    runs.server.kinds.append("Secret")
    assert runs.run("Secret", name="b") == ["secrets"]
    assert runs.server.discoveries() == before + 1
    assert runs.run("Secret", "ConfigMap", name="c") == ["secrets", "configmaps"]
    assert runs.server.discoveries() == before + 1


def test_discovery_expired(runs):
    runs.run("ConfigMap")
    (file,) = runs.files()
    age(file, discovery.LIFETIME_SECONDS + 1)
    assert runs.run("ConfigMap", name="b") == ["configmaps"]
    assert runs.server.discoveries() == 2
    assert time.time() - file.stat().st_mtime < 60
    runs.run("ConfigMap", name="c")
    assert runs.server.discoveries() == 2


def test_publish_removes_expired(runs):
    runs.run("ConfigMap", name="a")
    (file,) = runs.files()
    age(file, discovery.LIFETIME_SECONDS + 1)
    runs.run("ConfigMap", name="")
    assert len(runs.files()) == 1
    assert runs.files() != [file]


def test_discovery_use_keeps_age(runs):
    runs.run("ConfigMap")
    (file,) = runs.files()
    old = age(file, discovery.LIFETIME_SECONDS / 2)
    runs.run("ConfigMap", name="b")
    assert abs(file.stat().st_mtime - old) < 1


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"library_version": ', "\0" * 100, "{}"])
def test_discovery_broken_file(runs, content):
    runs.run("ConfigMap")
    (file,) = runs.files()
    file.write_text(content)
    assert runs.run("ConfigMap", name="b") == ["configmaps"]
    assert runs.run("ConfigMap", name="c") == ["configmaps"]
    assert runs.server.discoveries() == 2
    assert list(runs.temporary.iterdir()) == []


def test_publish_atomic(runs):
    # Each run finds another kind, so all read and write.
    runs.server.kinds += [f"Kind{number}" for number in range(6)]
    stop = threading.Event()
    broken: list[str] = []

    def read() -> None:
        while not stop.is_set():
            try:
                for file in runs.files():
                    if file.suffix == ".json":
                        json.loads(file.read_text())
            except OSError:
                continue
            except ValueError as problem:
                broken.append(str(problem))

    reader = threading.Thread(target=read)
    reader.start()
    started = [runs.start("ConfigMap", f"Kind{number}", name=f"o{number}") for number in range(6)]
    answers = [process.communicate(timeout=90)[0].split() for process in started]
    stop.set()
    reader.join()
    assert answers == [["configmaps", f"kind{number}s"] for number in range(6)]
    assert broken == []
    assert [file.suffix for file in runs.files()] == [".json"]
    assert list(runs.temporary.iterdir()) == []


def test_discovery_failed_run(runs):
    runs.server.shutdown()
    process = runs.start("ConfigMap", host="http://127.0.0.1:1")
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert list(runs.temporary.iterdir()) == []


@pytest.mark.parametrize(("value", "wanted"), [("/of/this/run", "/of/this/run"), (None, "~/.kube/config")])
def test_use_kubeconfig(monkeypatch, value, wanted):
    """The package kubernetes read the kubeconfig of the parent."""
    config = pytest.importorskip("kubernetes.config.kube_config")
    monkeypatch.setattr(config, "KUBE_CONFIG_DEFAULT_LOCATION", "/of/the/parent")
    monkeypatch.delenv("KUBECONFIG", raising=False)
    if value:
        monkeypatch.setenv("KUBECONFIG", value)
    discovery.use_kubeconfig()
    assert wanted == config.KUBE_CONFIG_DEFAULT_LOCATION
