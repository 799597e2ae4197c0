# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The custom resources that are measured, their namespace, and changes to them."""

from __future__ import annotations

import contextlib
import json
import random
import statistics
import threading
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor

from nimops_harness.cluster import CHILDREN, Api, Json, kubectl, path_of
from nimops_harness.crds import SAMPLES
from nimops_harness.errors import HarnessError
from nimops_harness.progress import Deadline, Every, say, wait_until
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

MARK = "bench.nimops.nim/touched"
SERVE_SECONDS = 120.0
PATIENCE = 3600.0


class Workload:
    """NIMServices in a namespace of the bench."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace

    def path(self, name: str = "") -> str:
        return path_of("NIMService", self.namespace, name)

    @property
    def exists(self) -> bool:
        return self.api.find(path_of("Namespace", "", self.namespace)) is not None

    def create_namespace(self) -> None:
        """Create the namespace, without what an earlier bench left, with the Secrets of NIMServices."""
        self.remove()
        create_namespace(self.api, self.namespace)

    def remove(self) -> None:
        """Remove the namespace and the work folders of its runs; no operator is needed."""
        if self.exists:
            say(f"removing the namespace {self.namespace}")
            remove_namespace(self.api, self.namespace)
            remove_runs(self.namespace)

    def clear(self) -> None:
        """Delete all custom resources and Deployments; no operator is needed."""
        discard_resources(self.api, self.namespace)
        wait_until(
            lambda: not self.list_all() and not self.api.items("Deployment", self.namespace),
            f"deletion of the NIMServices in {self.namespace}", 300, pause=1,
        )  # fmt: skip

    def list_all(self) -> list[Json]:
        return self.api.items("NIMService", self.namespace)

    def version_of(self, kind: str) -> str:
        """The current version of a collection, to watch what changes later."""
        listing = self.api.get(path_of(kind, self.namespace, limit="1"))
        return str(listing["metadata"]["resourceVersion"])

    def are_deployed(self, names: t.Iterable[str]) -> bool:
        """Whether these Deployments have all their pods."""
        ready = {
            item["metadata"]["name"]
            for item in self.api.items("Deployment", self.namespace)
            if (item.get("status") or {}).get("readyReplicas") == item["spec"]["replicas"]
        }
        return ready.issuperset(names)

    def create(self, name: str) -> None:
        """Create a NIMService."""
        self.api.request("POST", self.path(), make_nimservice(name))

    def touch(self, place: str, value: str) -> Json:
        """The resource after a change without meaning, which triggers a reconcile."""
        return self.api.patch(place, {"metadata": {"annotations": {MARK: value}}})

    def create_samples(self) -> dict[str, str]:
        """Create the samples of the NeMo kinds, and their prerequisites; kind → path."""
        files = [SAMPLES / "nemo-prerequisites.yaml", *sorted(SAMPLES.glob("nemo_*.yaml"))]
        options = ("--namespace", self.namespace, "--output", "json")
        applied = kubectl("apply", *options, *(f"--filename={file}" for file in files))
        return {
            item["kind"]: path_of(item["kind"], self.namespace, item["metadata"]["name"])
            for item in json.loads(applied)["items"]
            if item["kind"].startswith("Nemo")
        }

    def wait_until_ready(
        self, operator: MeasuredOperator, *places: str, limit: float = 120.0
    ) -> None:
        """Wait until these are Ready, by default all NIMServices of the namespace."""
        deadline = Deadline(limit, f"{', '.join(places) or 'all NIMServices'} Ready")
        while unready := describe_unready(map(self.api.get, places) if places else self.list_all()):
            operator.check()
            deadline.check(unready)
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
        version, items = self.version_of("NIMService"), [make_nimservice(name) for name in names]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        began, due = time.monotonic(), Every(10)
        ready: dict[str, float] = {}
        with ThreadPoolExecutor(1) as pool:
            options = ("--namespace", self.namespace, "--filename=-")
            applied = pool.submit(kubectl, "apply", *options, stdin=text)
            for event in self.api.follow("NIMService", self.namespace, version, began + limit):
                if event and is_settled(event["object"]):
                    ready.setdefault(event["object"]["metadata"]["name"], time.monotonic() - began)
                if ready.keys() >= set(names):
                    return sorted(ready[name] for name in names)
                if due.is_due():
                    say(f"  {len(ready)} of {len(names)} Ready")
                operator.check()
                if applied.done():
                    applied.result()
        raise HarnessError(f"not Ready within {limit:g} s: {describe_unready(self.list_all())}")


def change_replicas(
    work: Workload,
    names: t.Sequence[str],
    pause: float,
    most: int,
    end: threading.Event,
    seconds: list[float],
) -> None:
    """Change `spec.replicas` of one NIMService after another, in no order, at most so many times.

    `seconds` gets for each the time from the write until the Deployment has it.
    """
    api, version = work.api, work.version_of("Deployment")
    events = api.follow("Deployment", work.namespace, version, time.monotonic() + PATIENCE)
    for name in random.Random(1).choices(names, k=most):
        place = work.path(name)
        replicas = 3 - api.get(place)["spec"]["replicas"]
        began = time.monotonic()
        api.patch(place, {"spec": {"replicas": replicas}})
        wait_for_replicas(events, name, replicas)
        seconds.append(time.monotonic() - began)
        if end.wait(pause):
            return


@contextlib.contextmanager
def changing(work: Workload, names: t.Sequence[str], pause: float) -> t.Iterator[list[float]]:
    """While the block runs, NIMServices change; the list is complete after it."""
    end, seconds = threading.Event(), list[float]()
    with ThreadPoolExecutor(1) as pool:
        changes = pool.submit(change_replicas, work, names, pause, 1000, end, seconds)
        try:
            yield seconds
        finally:
            end.set()
        changes.result()


def wait_for_replicas(events: t.Iterator[Json | None], name: str, replicas: int) -> None:
    """Wait for the event of a Deployment that asks for so many; HarnessError if that takes long."""
    limit = Deadline(SERVE_SECONDS, f"the change of {name} in its Deployment")
    for event in events:
        found = event["object"] if event else {"metadata": {}}
        if found["metadata"].get("name") == name and found["spec"]["replicas"] == replicas:
            return
        limit.check()
    raise HarnessError(f"no events of Deployments for {PATIENCE:g} s")


def describe(seconds: t.Sequence[float]) -> str:
    if not seconds:
        return "no changes"
    median = statistics.median(seconds)
    return f"{len(seconds)} changes, each served after {median:.2f} s, {max(seconds):.2f} at most"
