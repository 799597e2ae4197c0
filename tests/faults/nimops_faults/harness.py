# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Where a fault takes place: a namespace of resources in flight, and the operator's replicas."""

from __future__ import annotations

import contextlib
import time
import typing as t
from dataclasses import dataclass
from pathlib import Path

from nimops_harness.cluster import NIMCACHES, NIMSERVICES, Api, Json, path_of
from nimops_harness.errors import HarnessError
from nimops_harness.files import list_paths
from nimops_harness.progress import Deadline, Every, say
from nimops_harness.runtime import ContainedOperator
from nimops_harness.sandbox import Sandbox
from nimops_harness.workload import (
    create_namespace,
    describe_unready,
    is_settled,
    make_nimcache,
    make_nimservice,
    play_models,
)

from .children import KINDS, Census, Listing, judge_deleted, judge_settled
from .leftovers import judge_paths, list_work
from .proxy import Proxy

OURS = (NIMSERVICES, NIMCACHES)
# As in config/manager, the probes too.
KUBELET_PAUSE = 1.0
PROBE_SECONDS, PROBE_FAILURES = 20.0, 3
SETTLE_SECONDS = 300.0
DELETE_SECONDS = 180.0
SWEEP_SECONDS = 20.0
LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Sizes:
    """How many: NIMServices alone, NIMServices that wait for a NIMCache, NIMCaches."""

    alone: int = 45
    waiting: int = 5
    caches: int = 10

    @property
    def total(self) -> int:
        return self.alone + self.waiting + self.caches


QUICK = Sizes(alone=5, waiting=1, caches=2)


def make_resources(sizes: Sizes, change: t.Callable[[Json], None] | None = None) -> list[Json]:
    """NIMCaches spread among the NIMServices; `change` is made to each NIMService."""
    services = [make_nimservice(f"nim-{number:02}") for number in range(sizes.alone)]
    for number in range(sizes.waiting):
        service = make_nimservice(f"cached-{number}")
        service["spec"]["storage"] = {"nimCache": {"name": f"cache-{number % sizes.caches}"}}
        services.append(service)
    for service in services if change else ():
        t.cast(t.Callable[[Json], None], change)(service)
    caches = [make_nimcache(f"cache-{number}") for number in range(sizes.caches)]
    step = max(1, len(services) // max(1, len(caches)))
    for number, cache in enumerate(caches):
        services.insert(number * (step + 1), cache)
    return services


class Replica:
    """A container of the operator: what a kubelet would do for it is done in `keep`."""

    def __init__(
        self, sandbox: Sandbox, name: str, api_port: int, environment: dict[str, str]
    ) -> None:
        self.name = name
        self.deaths: list[str] = []
        self.tmp = sandbox.make_tmp(name)
        self._sandbox = sandbox
        self._api_port = api_port
        self._environment: dict[str, t.Any] = dict(environment)
        self._probe, self._failures = Every(PROBE_SECONDS), 0
        self._is_ended = False
        self._models = contextlib.ExitStack()
        self.operator = self._start()

    def _start(self) -> ContainedOperator:
        self._failures, self._is_ended = 0, False
        operator = self._sandbox.start_operator(
            self.name, tmp=self.tmp, api_port=self._api_port, **self._environment
        )
        if self._api_port:
            models = play_models(self._sandbox.logs / f"{self.name}-models.log", operator.pid)
            self._models.enter_context(models)
        return operator

    @property
    def log(self) -> Path:
        return self.operator.log

    def keep(self) -> None:
        """Start it again if it has ended, or does not answer its liveness probe for a minute."""
        if not self._api_port and self._probe.is_due():
            self._failures = 0 if self.operator.is_live() else self._failures + 1
            if self._failures >= PROBE_FAILURES:
                self.end("liveness probe failed")
        if not self.operator.is_running:
            self.restart()

    def end(self, why: str) -> None:
        """As at the end of a container: all its processes are gone at once, its /tmp is not."""
        self._is_ended = True
        self.deaths.append(why)
        say(f"  {self.name}: {why}")
        self.clear()

    def clear(self) -> list[str]:
        """End what is left of it; what that was."""
        self._models.close()
        return sorted(f"{stat.name} ({pid})" for pid, stat in self.operator.clear().items())

    def restart(self) -> None:
        if not self._is_ended:
            self.end(f"ended with exit code {self.operator.exit_code}")
        time.sleep(KUBELET_PAUSE)
        self.operator = self._start()

    def count_runs(self) -> int:
        """Runs that have succeeded, of all its lives."""
        return self.log.read_text(errors="replace").count("Ansible-runner exited successfully")


class Harness:
    """One fault: `notes` are what was seen, `problems` what should not have been."""

    def __init__(self, sandbox: Sandbox, name: str, sizes: Sizes) -> None:
        self.sandbox = sandbox
        self.api: Api = sandbox.api
        self.name = name
        self.sizes = sizes
        self.namespace = f"faults-{name}"
        self.notes: list[str] = []
        self.problems: list[str] = []
        self.census = Census()
        self.replicas: list[Replica] = []
        self.environment: dict[str, str] = {}
        self.proxy: Proxy | None = None
        self.change: t.Callable[[Json], None] | None = None
        create_namespace(self.api, self.namespace)

    def note(self, text: str) -> None:
        say(f"  {text}")
        self.notes.append(text)

    def object(self, text: str) -> None:
        say(f"  NOT OK: {text}")
        self.problems.append(text)

    # --- the operator ----------------------------------------------------------------------------

    @property
    def replica(self) -> Replica:
        return self.replicas[0]

    @property
    def operator(self) -> ContainedOperator:
        return self.replica.operator

    def start_replica(self, api_port: int = 0, **environment: str) -> Replica:
        name = f"{self.name}-{'abc'[len(self.replicas)]}"
        replica = Replica(self.sandbox, name, api_port, self.environment | environment)
        self.replicas.append(replica)
        return replica

    def keep(self) -> None:
        for replica in self.replicas:
            replica.keep()

    def wait(self, seconds: float) -> None:
        """Let time pass; containers that end are started again."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.keep()
            time.sleep(min(left, LOOK_SECONDS))

    # --- resources -------------------------------------------------------------------------------

    def apply(self) -> None:
        for resource in make_resources(self.sizes, self.change):
            kind = NIMCACHES if resource["kind"] == "NIMCache" else NIMSERVICES
            self.api.request("POST", path_of(kind, self.namespace), resource)

    def list_resources(self) -> list[Json]:
        found = []
        for kind in OURS:
            listing = self.api.get(path_of(kind, self.namespace))
            found += [
                item | {"kind": listing["kind"].removesuffix("List")} for item in listing["items"]
            ]
        return found

    def list_children(self) -> Listing:
        listing = {kind[1]: self.api.list_metadata(kind, self.namespace) for kind in KINDS}
        self.census.note(listing)
        return listing

    def touch(self) -> None:
        """Change each NIMService in a way that means nothing: it is reconciled all the same."""
        for item in self.api.get(path_of(NIMSERVICES, self.namespace))["items"]:
            place = path_of(NIMSERVICES, self.namespace, item["metadata"]["name"])
            self.api.patch(place, {"metadata": {"annotations": {"faults.nimops.nim/touched": "1"}}})

    def count_settled(self) -> int:
        return sum(map(is_settled, self.list_resources()))

    def wait_until_midway(self, part: float = 0.25) -> None:
        """Until so many have settled: the rest is in flight."""
        wanted = max(1, round(self.sizes.total * part))
        deadline = Deadline(SETTLE_SECONDS, f"{wanted} resources Ready")
        while (count := self.count_settled()) < wanted:
            self.keep()
            deadline.check(f"{count} so far")
            time.sleep(0.2)
        say(f"  {count} of {self.sizes.total} Ready, the rest in flight")

    def settle(self, limit: float = SETTLE_SECONDS) -> float | None:
        """Seconds until all are Ready; None, and a problem, if they are not within the limit."""
        began, due = time.monotonic(), Every(15)
        unready = "nothing could be read"
        while time.monotonic() - began < limit:
            self.keep()
            with contextlib.suppress(HarnessError):
                resources = self.list_resources()
                self.list_children()
                unready = describe_unready(resources)
                if len(resources) == self.sizes.total and not unready:
                    return time.monotonic() - began
                if due.is_due():
                    say(f"  {sum(map(is_settled, resources))} of {self.sizes.total} Ready")
            time.sleep(LOOK_SECONDS)
        self.object(f"not settled {limit:g} s after the fault: {unready}")
        return None

    def judge(self) -> None:
        """Compare the children with what there must be."""
        for problem in judge_settled(self.list_resources(), self.list_children(), self.census):
            self.object(problem)

    def delete(self) -> None:
        for kind in OURS:
            self.api.request("DELETE", path_of(kind, self.namespace))

    def wait_until_deleted(self, limit: float = DELETE_SECONDS) -> None:
        """Until the resources, as far as their kinds are there, and their children are gone."""
        began = time.monotonic()
        left = [""]
        while left and time.monotonic() - began < limit:
            self.keep()
            time.sleep(LOOK_SECONDS)
            with contextlib.suppress(HarnessError):
                left = self._list_left()
        if left:
            self.object(f"after {limit:g} s, {len(left)} not deleted: {', '.join(left[:4])}")
        else:
            self.note(f"deleted in {time.monotonic() - began:.0f} s")

    def _list_left(self) -> list[str]:
        resources = [it for kind in OURS for it in self.api.list_metadata(kind, self.namespace)]
        return [it["metadata"]["name"] for it in resources] or judge_deleted(self.list_children())

    # --- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Stop the replicas, see what they leave, and leave nothing that disturbs the next harness."""
        self._wait_until_swept()
        for replica in self.replicas:
            replica.operator.stop()
        for replica in self.replicas:
            deadline = time.monotonic() + 10
            while replica.operator.processes() and time.monotonic() < deadline:
                time.sleep(0.1)
            if left := replica.clear():
                self.object(f"processes left: {', '.join(left[:4])}")
            for problem in judge_paths(list_paths(replica.tmp), replica.operator.kept):
                self.object(f"/tmp: {problem}")
        self._discard()

    def _wait_until_swept(self) -> None:
        """Work folders go some seconds after the last run of a resource that is gone."""
        deadline = time.monotonic() + SWEEP_SECONDS
        while time.monotonic() < deadline:
            if not any(judge_paths(list_work(replica.tmp)) for replica in self.replicas):
                return
            time.sleep(LOOK_SECONDS)

    def _discard(self) -> None:
        with contextlib.suppress(HarnessError):
            for kind in OURS:
                for item in self.api.get(path_of(kind, self.namespace))["items"]:
                    place = path_of(kind, self.namespace, item["metadata"]["name"])
                    self.api.patch(place, {"metadata": {"finalizers": None}})
            self.api.request("DELETE", f"/api/v1/namespaces/{self.namespace}")
