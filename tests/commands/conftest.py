# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""An API server with our CRDs, and accounts with few permissions."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sandbox"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "release"))

from nimops_harness.api_server import api_server
from nimops_harness.cluster import kubectl
from nimops_harness.progress import wait_until
from nimops_openshift import DEFINITION, SCC, serves_constraints

__all__ = ["api_server"]

NAMESPACE = "nimops-commands"

Json = dict[str, Any]


@pytest.fixture(scope="session", autouse=True)
def no_deprecations() -> Iterator[None]:
    """Fail after all tests if the API server warned a command of this process of a deprecation."""
    found: set[str] = set()
    send = urllib3.HTTPConnectionPool.urlopen

    def note(pool: Any, method: str, url: str, *arguments: Any, **more: Any) -> Any:
        answer = send(pool, method, url, *arguments, **more)
        texts = answer.headers.getlist("Warning")
        found.update(f"{method} {url}: {it}" for it in texts if "deprecated" in it)
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(urllib3.HTTPConnectionPool, "urlopen", note)
        yield
    assert not found


@pytest.fixture(scope="module")
def namespace(api_server: Any, request: pytest.FixtureRequest) -> Iterator[str]:
    """The namespace of a module, which may name its own in `NAMESPACE`."""
    name = getattr(request.module, "NAMESPACE", NAMESPACE)
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=true")


@pytest.fixture
def openshift(api_server: Any) -> Iterator[None]:
    kubectl("create", "-f", "-", stdin=json.dumps(DEFINITION))
    wait_until(serves_constraints, "the API of SCCs", 60)
    yield
    kubectl("delete", "--ignore-not-found", "customresourcedefinition", SCC)


@pytest.fixture
def act_as(namespace: str, tmp_path: Path) -> Iterator[Any]:
    """A client of an account with these permissions in the namespace and in the cluster."""
    roles: list[str] = []

    def make(name: str, rights: list[str | Json], of_cluster: list[str]) -> Client:
        kubectl("-n", namespace, "create", "serviceaccount", name)
        subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
        metadata = {"name": f"{NAMESPACE}-{name}"}
        items = []
        for kind, given in (("Role", rights), ("ClusterRole", of_cluster)):
            where = {"namespace": namespace} if kind == "Role" else {}
            role = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": metadata["name"]}
            binding = {"roleRef": role, "subjects": [subject]}
            for suffix, fields in (("", {"rules": list(map(rule, given))}), ("Binding", binding)):
                api = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": f"{kind}{suffix}"}
                items.append({**api, "metadata": metadata | where, **fields})
        kubectl(
            "apply",
            "-f",
            "-",
            stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}),
        )
        roles.append(metadata["name"])
        token = kubectl("-n", namespace, "create", "token", name).strip()
        shown = json.loads(
            kubectl("config", "view", "--raw", "--minify", "--flatten", "-o", "json")
        )
        shown["users"][0]["user"] = {"token": token}
        file = tmp_path / name
        file.touch(mode=0o600)
        file.write_text(json.dumps(shown))
        return Client(str(file))

    yield make
    for name in roles:
        kubectl("delete", "clusterrole,clusterrolebinding", name)


def rule(text: str | Json) -> Json:
    """Verbs and a resource, such as `get,list deployments.apps`, as a rule; or one as it is."""
    if not isinstance(text, str):
        return text
    verbs, _space, resource = text.partition(" ")
    plural, _dot, group = resource.partition(".")
    return {"apiGroups": [group], "resources": [plural], "verbs": verbs.split(",")}
