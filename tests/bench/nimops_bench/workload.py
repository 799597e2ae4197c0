# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The custom resources that are measured, and the namespace that they are in."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
import typing as t

from nimops_harness.cluster import CHILDREN, Api, Json, kubectl, path_of
from nimops_harness.errors import HarnessError
from nimops_harness.progress import Deadline, Every, say, wait_until
from nimops_harness.runtime import ROOT
from nimops_harness.workload import (
    create_namespace,
    describe_unready,
    discard_resources,
    is_settled,
    make_nimservice,
    remove_namespace,
    remove_runs,
)

from .runtime import MeasuredOperator

SAMPLES = ROOT / "config" / "samples"
MARK = "bench.nimops.nim/touched"


class Workload:
    """NIMServices in a namespace of the bench."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace

    def path(self, name: str = "") -> str:
        return path_of("NIMService", self.namespace, name)

    def create_namespace(self) -> None:
        """Create the namespace, without what an earlier bench left, and the Secrets of the NIMServices."""
        if self.exists:
            say(f"removing the namespace {self.namespace} of an earlier bench")
            self.remove()
        create_namespace(self.api, self.namespace)

    def remove(self) -> None:
        """Remove the namespace and the work folders of its runs; no operator is needed."""
        remove_namespace(self.api, self.namespace)
        remove_runs(self.namespace)

    def clear(self) -> None:
        """Delete all custom resources and Deployments; no operator is needed."""
        discard_resources(self.api, self.namespace)
        wait_until(
            lambda: not self.list_all() and not self.api.items("Deployment", self.namespace),
            f"deletion of everything in the namespace {self.namespace}", 300, pause=0.5,
        )  # fmt: skip

    @property
    def exists(self) -> bool:
        return self.api.find(path_of("Namespace", "", self.namespace)) is not None

    def are_deployed(self, names: t.Iterable[str]) -> bool:
        """Whether these Deployments have all their pods."""
        ready = {
            item["metadata"]["name"]
            for item in self.api.items("Deployment", self.namespace)
            if (item.get("status") or {}).get("readyReplicas") == item["spec"]["replicas"]
        }
        return ready.issuperset(names)

    def list_all(self) -> list[Json]:
        return self.api.items("NIMService", self.namespace)

    def create(self, name: str) -> None:
        self.create_by(self.api, name)

    def create_by(self, api: Api, name: str) -> None:
        """Create a NIMService over this connection."""
        api.request("POST", self.path(), make_nimservice(name))

    def touch(self, place: str, value: str) -> Json:
        """The resource after a change without meaning, which triggers a reconcile."""
        return self.api.patch(place, {"metadata": {"annotations": {MARK: value}}})

    def create_samples(self) -> dict[str, str]:
        """Create the samples of the NeMo kinds, and their prerequisites; kind → path."""
        files = [SAMPLES / "nemo-prerequisites.yaml", *sorted(SAMPLES.glob("nemo_*.yaml"))]
        options = ("--namespace", self.namespace, "--output", "json")
        applied = kubectl("apply", *options, *(f"--filename={file}" for file in files))
        return {
            item["kind"]: path_of(
                item["kind"],
                self.namespace,
                item["metadata"]["name"],
            )
            for item in json.loads(applied)["items"]
            if item["kind"].startswith("Nemo")
        }

    def wait_until_ready(
        self, place: str, operator: MeasuredOperator, limit: float = 120.0
    ) -> None:
        deadline = Deadline(limit, f"{place} Ready")
        while not is_settled(resource := self.api.get(place)):
            operator.check()
            deadline.check(describe_unready([resource]))
            time.sleep(0.1)

    def delete(self, name: str, operator: MeasuredOperator, limit: float = 120.0) -> None:
        """Delete it, and wait until it and its children are gone.

        The deletion of each child triggers a reconcile, which must not be counted as another's.
        """
        self.api.request("DELETE", self.path(name))
        places = [self.path(name), *(path_of(kind, self.namespace, name) for kind in CHILDREN)]
        wait_until(
            lambda: not any(map(self.api.find, places)),
            f"deletion of {name}", limit, operator.check, pause=0.1,
        )  # fmt: skip

    def apply_all(
        self, names: t.Sequence[str], operator: MeasuredOperator, limit: float
    ) -> list[float]:
        """Apply these by one kubectl; the seconds from its start until each is Ready, sorted."""
        version = self.api.get(self.path())["metadata"]["resourceVersion"]
        text = json.dumps({
            "apiVersion": "v1", "kind": "List", "items": [make_nimservice(name) for name in names],
        })  # fmt: skip
        began, due = time.monotonic(), Every(10)
        ready: dict[str, float] = {}
        latest: dict[str, Json] = {}
        with _start_apply(self.namespace, text) as process:
            for event in self.api.follow("NIMService", self.namespace, version, began + limit):
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
                    raise HarnessError(f"kubectl apply ended with exit code {process.returncode}")
        missing = [latest.get(name, make_nimservice(name)) for name in names if name not in ready]
        raise HarnessError(
            f"{len(missing)} of {len(names)} NIMServices not Ready within {limit:g} s: "
            + describe_unready(missing)
        )

    def check_all_ready(self, operator: MeasuredOperator, limit: float = 120.0) -> None:
        """Wait until every NIMService of the namespace is Ready."""
        deadline = Deadline(limit, "all NIMServices Ready")
        while unready := describe_unready(self.list_all()):
            operator.check()
            deadline.check(unready)
            time.sleep(1)


@contextlib.contextmanager
def _start_apply(namespace: str, text: str) -> t.Iterator[subprocess.Popen[bytes]]:
    """Run kubectl apply of a manifest during the block."""
    command = ["kubectl", "apply", "--namespace", namespace, "--filename", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        try:
            assert process.stdin is not None
            process.stdin.write(text.encode())
            process.stdin.close()
            yield process
        finally:
            process.terminate()
