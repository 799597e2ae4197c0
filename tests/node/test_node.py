# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The environment of pods on a real node, in the order in which a user would notice it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

RESOURCES = Path(__file__).resolve().parent / "resources.yaml"
WEB = "deployment/web"


@pytest.fixture(scope="module")
def web(node: Any, archive: Path) -> Iterator[Any]:
    """The node, with the resources applied and the web server ready."""
    node.sandbox("up")
    node.sandbox("load", str(archive))
    node.kubectl("apply", "--server-side", "--filename", str(RESOURCES))
    node.kubectl("-n", "probe", "rollout", "status", WEB, "--timeout=60s")
    yield node
    node.kubectl("delete", "namespace", "probe", "--ignore-not-found", "--timeout=60s")


def probe(node: Any, *words: str) -> str:
    return str(node.kubectl("-n", "probe", *words)).strip()


def test_up_twice(web: Any) -> None:
    before = web.sandbox("status").stdout
    assert "starting" not in web.sandbox("up").stderr
    assert web.sandbox("status").stdout == before


def test_pod_readiness_probe(web: Any) -> None:
    pod = json.loads(probe(web, "get", "pods", "--selector=app=web", "--output=json"))["items"][0]
    status = pod["status"]["containerStatuses"][0]
    assert pod["spec"]["nodeName"] == "node-0"
    assert pod["status"]["podIP"].startswith("10.244.0.")
    assert (status["ready"], status["restartCount"]) == (True, 0)
    events = probe(web, "get", "events", "--output=jsonpath={.items[*].message}")
    assert "Readiness probe failed: HTTP probe failed with statuscode: 503" in events


def test_exec(web: Any) -> None:
    assert probe(web, "exec", WEB, "--", "/probe", "id") == "1001:0"


def test_read_only_root(web: Any) -> None:
    with pytest.raises(AssertionError, match="read-only file system"):
        probe(web, "exec", WEB, "--", "/probe", "write", "/file", "text")


@pytest.mark.parametrize("host", ["web", "web.probe.svc.cluster.local", "ClusterIP"])
def test_service_from_pod(web: Any, host: str) -> None:
    if host == "ClusterIP":
        host = probe(web, "get", "service", "web", "--output=jsonpath={.spec.clusterIP}")
    answer = probe(web, "exec", WEB, "--", "/probe", "get", f"http://{host}/to-{host}")
    assert answer.startswith("answer of web-")
    assert f"asked for /to-{host}" in probe(web, "logs", WEB)


def test_service_from_host_network(web: Any) -> None:
    address = probe(web, "get", "service", "web", "--output=jsonpath={.spec.clusterIP}")
    script = 'python3 -c "import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read())" $1'
    assert "answer of web-" in web.exec(script, f"http://{address}/")


def test_pod_service_account(web: Any) -> None:
    secrets = "/api/v1/namespaces/probe/secrets"
    answer = json.loads(probe(web, "exec", WEB, "--", "/probe", "api", secrets))
    assert answer["code"] == 403
    assert 'User "system:serviceaccount:probe:default" cannot list' in answer["message"]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        pytest.param("http://no-such-name.example/", "no such host", id="name"),
        pytest.param("http://192.0.2.1/", "unreachable|exceeded", id="address"),
    ],
)
def test_network_isolated(web: Any, url: str, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        probe(web, "exec", WEB, "--", "/probe", "get", url)


def test_job_volume(web: Any) -> None:
    probe(web, "wait", "--for=condition=Complete", "job/write", "--timeout=60s")
    volumes = web.directory / "node/volumes"
    [file] = volumes.glob("*/file")
    assert file.read_text() == "written"
    probe(web, "delete", "job/write", "pvc/data", "--timeout=60s")
    web.kubectl("wait", "--for=delete", "pv", "--all", "--timeout=60s")
    assert list(volumes.iterdir()) == []


def test_pod_changes_only_the_node(web: Any) -> None:
    """Includes mounts that propagate to other pods, like those of drivers."""
    paths = ["/dev/log", "/etc/kubernetes/probe", "/run/nvidia", "/usr/local/nvidia"]
    volumes = [{"name": f"v{i}", "hostPath": {"path": path}} for i, path in enumerate(paths)]
    mounts = [
        {"name": item["name"], "mountPath": f"/{item['name']}", "mountPropagation": "Bidirectional"}
        for item in volumes
    ]
    container = {
        "name": "host",
        "image": "nimops.test/probe:1",
        "args": ["serve"],
        "securityContext": {"privileged": True, "runAsUser": 0},
        "volumeMounts": mounts,
    }
    override = {"spec": {"containers": [container], "volumes": volumes}}
    web.kubectl("run", "host", "--image=any", f"--overrides={json.dumps(override)}")
    web.kubectl("wait", "--for=condition=Ready", "pod/host", "--timeout=30s")
    for item in volumes:
        web.kubectl("exec", "host", "--", "/probe", "write", f"/{item['name']}/file", "text")
    assert [path for path in paths if Path(path, "file").exists()] == []
    web.kubectl("delete", "pod", "host", "--now")


def test_simulated_pods_separate(web: Any) -> None:
    override = {
        "spec": {
            "nodeSelector": {"sandbox.nimops/simulated": "true"},
            "tolerations": [{"key": "sandbox.nimops/simulated", "operator": "Exists"}],
        }
    }
    web.kubectl(
        *("run", "simulated", "--image=example.com/none", f"--overrides={json.dumps(override)}")
    )
    web.kubectl("wait", "--for=condition=Ready", "pod/simulated", "--timeout=30s")
    pods = web.kubectl("get", "pods", "--all-namespaces", "--output=json")
    real = {
        pod["metadata"]["name"]: pod["spec"]["nodeName"] == "node-0"
        for pod in json.loads(pods)["items"]
    }
    assert real.pop("simulated") is False
    assert set(real.values()) == {True}
    web.kubectl("delete", "pod", "simulated", "--wait=false")


def test_up_after_kill(web: Any) -> None:
    pids = dict(line.split(" pid ") for line in web.sandbox("status").stdout.splitlines()[3:])
    killed = [pids[name] for name in pids if name.strip() in ("containerd", "kubelet")]
    subprocess.run(["kill", "-KILL", *killed], check=True)
    reported = web.sandbox("up").stderr
    assert "starting containerd\n" in reported
    assert "starting kubelet\n" in reported
    # A new kubelet needs a moment to know its pods.
    web.exec(
        "timeout 30 sh -c 'until kubectl -n probe exec deployment/web -- /probe id; do :; done'"
    )
    assert probe(web, "get", "pods", "--output=jsonpath={..restartCount}").strip("0 ") == ""
