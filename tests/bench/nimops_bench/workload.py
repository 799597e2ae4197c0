# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The custom resources that are measured, and the namespace that they are in."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import time
import typing as t
from pathlib import Path

from .cluster import CHILDREN, DEPLOYMENTS, NIMSERVICES, Api, Json, path_of
from .errors import BenchError
from .progress import Deadline, Every, say
from .runtime import ROOT, SUPERVISE, Operator

MARK = "bench.nimops.nim/touched"
MODELS = ROOT / "sandbox" / "model_server.py"
RUNS = Path("/tmp/ansible-operator/runner/apps.nvidia.com/v1alpha1/NIMService")
SECRETS = {
    "ngc-secret": ("kubernetes.io/dockerconfigjson", ".dockerconfigjson", '{"auths": {}}'),
    "ngc-api-secret": ("Opaque", "NGC_API_KEY", "not-a-real-key"),
}


def make_nimservice(name: str) -> Json:
    """A NIMService that needs nothing but itself: its model is in an emptyDir."""
    return {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMService",
        "metadata": {"name": name},
        "spec": {
            "image": {
                "repository": "nvcr.io/nim/meta/llama-3.2-1b-instruct",
                "tag": "1.12.0",
                "pullPolicy": "IfNotPresent",
                "pullSecrets": ["ngc-secret"],
            },
            "authSecret": "ngc-api-secret",
            "storage": {"emptyDir": {"sizeLimit": "50Gi"}},
            "replicas": 1,
            "resources": {"limits": {"nvidia.com/gpu": 1}},
            "expose": {"service": {"type": "ClusterIP", "port": 8000}},
        },
    }


def state_of(resource: Json) -> str:
    return str((resource.get("status") or {}).get("state") or "new")


def is_settled(resource: Json) -> bool:
    """Ready, and that is said of the spec as it is now."""
    status = resource.get("status") or {}
    observed = status.get("observedGeneration")
    return state_of(resource) == "Ready" and observed in (None, resource["metadata"]["generation"])


def describe_unready(resources: t.Iterable[Json], most: int = 3) -> str:
    """The first few that are not Ready, with what their conditions say."""
    lines = []
    for resource in resources:
        if not is_settled(resource):
            said = [
                condition["message"]
                for condition in (resource.get("status") or {}).get("conditions") or []
                if condition["status"] == "True" and condition.get("message")
            ]
            name = resource["metadata"]["name"]
            lines.append(f"{name} is {state_of(resource)}: {'; '.join(said)}"[:300])
    more = [f"and {len(lines) - most} more"] if len(lines) > most else []
    return ", ".join(lines[:most] + more)


class Workload:
    """NIMServices in a namespace of the bench's own."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace

    def path(self, name: str = "") -> str:
        return path_of(NIMSERVICES, self.namespace, name)

    def create_namespace(self) -> None:
        """The namespace, anew if an earlier bench left it, and what the NIMServices name."""
        if self.api.find(f"/api/v1/namespaces/{self.namespace}"):
            say(f"removing the namespace {self.namespace} of an earlier bench")
            self.remove()
        self.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        for name, (kind, key, value) in SECRETS.items():
            secret = {"metadata": {"name": name}, "type": kind, "stringData": {key: value}}
            self.api.request("POST", path_of(("api/v1", "secrets"), self.namespace), secret)

    def remove(self) -> None:
        """The namespace and what the runtime keeps of its runs; no operator need run."""
        self._discard_all()
        place = f"/api/v1/namespaces/{self.namespace}"
        if self.api.find(place):
            self.api.request("DELETE", place)
        deadline = Deadline(600, f"deletion of the namespace {self.namespace}")
        while self.api.find(place):
            deadline.check()
            time.sleep(0.5)
        shutil.rmtree(RUNS / self.namespace, ignore_errors=True)

    def clear(self) -> None:
        """No NIMService, no Deployment; no operator need run."""
        self._discard_all()
        deadline = Deadline(300, f"deletion of what is in the namespace {self.namespace}")
        while self.list_all() or self.api.get(path_of(DEPLOYMENTS, self.namespace))["items"]:
            deadline.check()
            time.sleep(0.5)

    def _discard_all(self) -> None:
        for resource in self.list_all():
            place = self.path(resource["metadata"]["name"])
            if resource["metadata"].get("finalizers"):
                self.api.patch(place, {"metadata": {"finalizers": None}})
            if not resource["metadata"].get("deletionTimestamp"):
                self.api.request("DELETE", place)

    def list_all(self) -> list[Json]:
        return t.cast(list[Json], self.api.get(self.path())["items"])

    def create(self, name: str) -> None:
        self.api.request("POST", self.path(), make_nimservice(name))

    def touch(self, name: str, value: str) -> Json:
        """The NIMService after a change that means nothing and is reconciled all the same."""
        return self.api.patch(self.path(name), {"metadata": {"annotations": {MARK: value}}})

    def wait_until_ready(self, name: str, operator: Operator, limit: float = 120.0) -> None:
        deadline = Deadline(limit, f"{name} Ready")
        while not is_settled(resource := self.api.get(self.path(name))):
            operator.check()
            deadline.check(describe_unready([resource]))
            time.sleep(0.1)

    def delete(self, name: str, operator: Operator, limit: float = 120.0) -> None:
        """Until it and its children are gone; the operator's finalizer has its part in it.

        The end of each child is a reconcile of nothing, which would be taken for that of another.
        """
        self.api.request("DELETE", self.path(name))
        deadline = Deadline(limit, f"deletion of {name}")
        places = [self.path(name), *(path_of(kind, self.namespace, name) for kind in CHILDREN)]
        while any(self.api.find(place) for place in places):
            operator.check()
            deadline.check()
            time.sleep(0.1)

    def apply_all(self, names: t.Sequence[str], operator: Operator, limit: float) -> list[float]:
        """Apply these by one kubectl; when each became Ready, in seconds since its start, sorted."""
        version = self.api.get(self.path())["metadata"]["resourceVersion"]
        text = json.dumps({
            "apiVersion": "v1", "kind": "List", "items": [make_nimservice(name) for name in names],
        })  # fmt: skip
        began, due = time.monotonic(), Every(10)
        ready: dict[str, float] = {}
        latest: dict[str, Json] = {}
        with _start_apply(self.namespace, text) as process:
            for event in self.api.follow(NIMSERVICES, self.namespace, version, began + limit):
                if event and (name := event["object"]["metadata"]["name"]) in names:
                    latest[name] = event["object"]
                    if is_settled(latest[name]):
                        ready.setdefault(name, time.monotonic() - began)
                if len(ready) == len(names):
                    return sorted(ready.values())
                if due.is_due():
                    say(f"{len(ready)} of {len(names)} Ready")
                operator.check()
                if process.poll():
                    raise BenchError(f"kubectl apply ended with exit code {process.returncode}")
        missing = [latest.get(name, make_nimservice(name)) for name in names if name not in ready]
        raise BenchError(
            f"{len(missing)} of {len(names)} NIMServices not Ready within {limit:g} s: "
            + describe_unready(missing)
        )

    def check_all_ready(self, operator: Operator, limit: float = 120.0) -> None:
        """Until every NIMService of the namespace is Ready."""
        deadline = Deadline(limit, "all NIMServices Ready")
        while unready := describe_unready(self.list_all()):
            operator.check()
            deadline.check(unready)
            time.sleep(1)


@contextlib.contextmanager
def _start_apply(namespace: str, text: str) -> t.Iterator[subprocess.Popen[bytes]]:
    """kubectl apply of a manifest; it has ended when the block has."""
    command = ["kubectl", "apply", "--namespace", namespace, "--filename", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        try:
            assert process.stdin is not None
            process.stdin.write(text.encode())
            process.stdin.close()
            yield process
        finally:
            process.terminate()


@contextlib.contextmanager
def play_models(log: Path) -> t.Iterator[None]:
    """The sandbox's model server runs during the block: without it no NIMService becomes Ready."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-IS", str(SUPERVISE), sys.executable, str(MODELS)],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
    try:
        yield
    finally:
        process.terminate()
        process.wait()
