# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Follows docs/develop/add-a-kind.md literally in a copy of the project, with its own operator."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))

from nimops_harness.cluster import kubectl
from nimops_harness.runtime import find_free_port

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/develop/add-a-kind.md"
BLOCK = re.compile(r"^`([\w./-]+)`:\n\n```\w+\n(.*?)^```$", re.M | re.S)
NAMESPACE, HOME = "nimops-kinds", "nimops-system"
LABEL = "fleet.example.com/agent"
MOST_LINES = 150
CHILDREN = "deploy,svc,ingress,httproute,hpa,servicemonitor,sa,pvc"

Json = dict[str, Any]


def blocks() -> dict[str, str]:
    """Path → content, for each file in the page."""
    return dict(BLOCK.findall(PAGE.read_text()))


def files_of(kind: str) -> dict[str, str]:
    return {path: text for path, text in blocks().items() if kind in path and "samples" not in path}


@pytest.mark.parametrize(("family", "kind"), [("_nim", "webservice"), ("_fleet", "fleetagent")])
def test_new_kind_files(family: str, kind: str) -> None:
    code, source = f"plugins/module_utils/{family}/{kind}/kind.py", f"config/crd/src/{kind}.yaml"
    files = files_of(kind)
    assert set(files) == {code, source}
    assert len(files[code].splitlines()) < MOST_LINES


def run(project: Path, *command: str) -> str:
    venv = ROOT / ".venv"
    path = f"{venv / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=project,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the kinds of the page, generated and installed."""
    if not os.environ.get("KUBECONFIG"):
        pytest.skip("KUBECONFIG is not set")
    folder = tmp_path_factory.mktemp("project")
    listed = run(ROOT, "git", "ls-files", "--cached", "--others", "--exclude-standard")
    for name in listed.splitlines():
        if (ROOT / name).is_file() and not name.startswith("tests/golden"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    run(folder, "git", "init", "--quiet")
    for name, text in blocks().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    run(folder, "make", "generate", f"VENV={ROOT / '.venv'}")
    run(folder, "make", "collection", f"VENV={ROOT / '.venv'}")
    return folder


def test_new_kind_generated_checks(project: Path) -> None:
    run(project, "python", "hack/generate_kinds.py", "--check")
    run(project, "python", "hack/generate_crds.py", "--check")
    run(
        project,
        "yamllint",
        "--strict",
        "config",
        "roles",
        "playbooks",
        "watches.yaml",
        "watches-nim.yaml",
    )
    run(project, "ruff", "check", "plugins")
    run(
        project,
        "mypy",
        "-p",
        "ansible_collections.nimops.nim.plugins.module_utils._nim.webservice.kind",
    )


@pytest.fixture(scope="module")
def operator(project: Path) -> Iterator[Path]:
    """The operator of the copy, with only the generated permissions."""
    kubectl("apply", "--server-side", "--force-conflicts", "-f", str(project / "config/crd/bases"))
    kubectl("create", "namespace", NAMESPACE)
    collections = project / "build/collections"
    environment = {
        **os.environ,
        "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}",
        "ANSIBLE_COLLECTIONS_PATH": str(collections),
        "ANSIBLE_HOME": str(project / "build/ansible"),
        "LEAST_PRIVILEGE": "1",
        "METRICS_PORT": str(find_free_port()),
        "HEALTH_PORT": str(find_free_port()),
    }
    log = project / "operator.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(project / "hack/operator.sh")],
            cwd=project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield log
        kubectl("delete", "webservices,fleetagents", "--all", "-A", "--timeout=60s")
    finally:
        process.terminate()
        process.wait(60)
        kubectl("delete", "namespace", NAMESPACE, "--wait=false")
        for plural in ("webservices.apps.example.com", "fleetagents.fleet.example.com"):
            kubectl("delete", "crd", plural, "--timeout=60s", "--ignore-not-found")


def wait_for(log: Path, what: Callable[[], Any]) -> Any:
    """Wait until a condition holds; fail with the end of the log."""
    end = time.monotonic() + 120
    while not (found := what()):
        assert time.monotonic() < end, log.read_text()[-4000:]
        time.sleep(0.5)
    return found


def get(*arguments: str) -> Json:
    found: Json = json.loads(kubectl("get", *arguments, "-o", "json"))
    return found


def state_of(*arguments: str) -> str:
    return str((get(*arguments).get("status") or {}).get("state"))


def kinds_there() -> set[str]:
    mine = "app.kubernetes.io/part-of=web-service"
    items = get(CHILDREN, "-n", NAMESPACE, "-l", mine)["items"]
    return {item["kind"] for item in items}


def test_new_kind_web_service(project: Path, operator: Path) -> None:
    sample = yaml.safe_load((project / "config/samples/webservice.yaml").read_text())

    def apply(**spec: Any) -> None:
        wanted = sample | {"spec": sample["spec"] | spec}
        wanted["metadata"] = wanted["metadata"] | {"namespace": NAMESPACE}
        kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(wanted))

    gateway = {"name": "g", "namespace": "gw"}
    with pytest.raises(Exception, match="ingress and gateway cannot be specified together"):
        apply(router=sample["spec"]["router"] | {"gateway": gateway})

    apply()
    wait_for(operator, lambda: state_of("webservice", "shop", "-n", NAMESPACE) == "Ready")
    made = {"Deployment", "Service", "Ingress", "ServiceMonitor", "ServiceAccount"}
    assert kinds_there() == made | {"PersistentVolumeClaim"}

    router = {"hostDomainName": "example.com", "gateway": gateway}
    apply(router=router, scale={"enabled": True, "hpa": {"minReplicas": 2, "maxReplicas": 4}})
    wait_for(operator, lambda: "HorizontalPodAutoscaler" in kinds_there())
    wait_for(operator, lambda: "Ingress" not in kinds_there())
    assert "HTTPRoute" in kinds_there()

    kubectl("-n", NAMESPACE, "delete", "service", "shop")
    wait_for(operator, lambda: "Service" in kinds_there())

    kubectl("-n", NAMESPACE, "delete", "webservice", "shop", "--timeout=60s")
    wait_for(operator, lambda: not kinds_there())


def labelled() -> list[str]:
    return [item["metadata"]["name"] for item in get("nodes", "-l", LABEL)["items"]]


def test_new_kind_cluster_agent(operator: Path) -> None:
    first, second, *_rest = (item["metadata"]["name"] for item in get("nodes")["items"])
    image = {"repository": "registry.example/agent", "tag": "1.0"}

    def apply(node: str) -> None:
        agent = {
            "apiVersion": "fleet.example.com/v1",
            "kind": "FleetAgent",
            "metadata": {"name": "agent"},
            "spec": {"node": node, "image": image},
        }
        kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(agent))

    apply(first)
    wait_for(operator, lambda: state_of("fleetagent", "agent") == "Ready")
    assert labelled() == [first]
    owner = get("daemonset", "agent", "-n", HOME)["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["controller"]) == ("FleetAgent", True)

    apply(second)
    wait_for(operator, lambda: labelled() == [second])

    kubectl("label", "node", first, f"{LABEL}=of-somebody-else")
    kubectl("delete", "fleetagent", "agent", "--timeout=60s")
    assert labelled() == [first], "what others have set stays"
    kubectl("label", "node", first, f"{LABEL}-")
    wait_for(operator, lambda: not get("daemonset", "-n", HOME)["items"])
