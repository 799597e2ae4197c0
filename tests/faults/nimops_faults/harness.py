# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The harness of a fault: a namespace with resources in progress, and the operator's replicas."""

from __future__ import annotations

import contextlib
import json
import socket
import time
import typing as t
from dataclasses import dataclass
from pathlib import Path

from nimops_harness.cases import recording
from nimops_harness.cluster import Api, Json, path_of
from nimops_harness.errors import HarnessError
from nimops_harness.forward import Forwarder
from nimops_harness.progress import Every, poll, say, wait_until
from nimops_harness.runtime import ContainedOperator
from nimops_harness.sandbox import Sandbox
from nimops_harness.workload import (
    create_namespace,
    describe_unready,
    discard_resources,
    is_settled,
    make_nimcache,
    make_nimservice,
    play_models,
)

from .judge import KINDS, Census, Listing, judge_deleted, judge_paths, judge_settled, list_work

OURS = ("NIMService", "NIMCache")
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


def make_resources(sizes: Sizes) -> list[Json]:
    """NIMCaches spread among the NIMServices."""
    services = [make_nimservice(f"nim-{number:02}") for number in range(sizes.alone)]
    for number in range(sizes.waiting):
        storage = {"nimCache": {"name": f"cache-{number % sizes.caches}"}}
        services.append(make_nimservice(f"cached-{number}", storage=storage))
    step = len(services) // sizes.caches + 1
    for number in range(sizes.caches):
        services.insert(number * step, make_nimcache(f"cache-{number}"))
    return services


class Replica:
    """A container of the operator; `keep` does what a kubelet would do."""

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
        """Restart it if it ended, or did not answer its liveness probe for a minute."""
        if not self._api_port and self._probe.is_due():
            self._failures = 0 if self.operator.is_live() else self._failures + 1
            if self._failures >= PROBE_FAILURES:
                self.end("liveness probe failed")
        if not self.operator.is_running:
            self.restart()

    def end(self, why: str) -> None:
        """End it as a container ends: kill all its processes at once, and keep its /tmp."""
        self._is_ended = True
        self.deaths.append(why)
        say(f"  {self.name}: {why}")
        self.clear()

    def clear(self) -> list[str]:
        """Kill the processes that are left, and return them."""
        self._models.close()
        return sorted(f"{stat.name} ({pid})" for pid, stat in self.operator.clear().items())

    def restart(self) -> None:
        if not self._is_ended:
            self.end(f"ended with exit code {self.operator.exit_code}")
        time.sleep(KUBELET_PAUSE)
        self.operator = self._start()

    def count_runs(self) -> int:
        """The number of runs that succeeded, also before restarts."""
        return self.log.read_text(errors="replace").count("Ansible-runner exited successfully")


class Harness:
    """One fault: `notes` are observations, `problems` are violations."""

    def __init__(
        self, sandbox: Sandbox, name: str, sizes: Sizes, environment: t.Mapping[str, str]
    ) -> None:
        self.sandbox = sandbox
        self.api: Api = sandbox.api
        self.name = name
        self.sizes = sizes
        self.namespace = f"faults-{name}"
        self.notes: list[str] = []
        self.problems: list[str] = []
        self.census = Census()
        self.replicas: list[Replica] = []
        self.environment = dict(environment)
        self.proxy: Forwarder | None = None
        create_namespace(self.api, self.namespace)

    def note(self, text: str) -> None:
        say(f"  {text}")
        self.notes.append(text)

    def object(self, text: str) -> None:
        say(f"  NOT OK: {text}")
        self.problems.append(text)

    def judge_time(self, seconds: float | None, what: str, limit: float) -> None:
        """Note when it happened; None is a problem."""
        if seconds is None:
            self.object(f"{what}: not within {limit:g} s")
        else:
            self.note(f"{what} after {seconds:.1f} s")

    def recording(self) -> contextlib.AbstractContextManager[None]:
        """Record an error as a problem, and continue."""
        return recording(lambda error: self.object(f"not completed: {error}"))

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

    def forward(self) -> None:
        """The operator reaches the API server through connections that we forward."""
        kubeconfig = self.sandbox.folder / "proxy.kubeconfig"
        config = json.loads(self.sandbox.kubeconfig.read_text())
        listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        address = f"https://127.0.0.1:{listener.getsockname()[1]}"
        config["clusters"][0]["cluster"]["server"] = address
        kubeconfig.touch(mode=0o600)
        kubeconfig.write_text(json.dumps(config))
        self.environment["KUBECONFIG"] = str(kubeconfig)
        self.proxy = Forwarder(listener, self.sandbox.api_port)

    def keep(self) -> None:
        for replica in self.replicas:
            replica.keep()

    def wait(self, seconds: float) -> None:
        """Wait, and restart containers that end."""
        poll(lambda: False, seconds, self.keep)

    # --- resources -------------------------------------------------------------------------------

    def apply(self) -> None:
        for resource in make_resources(self.sizes):
            self.api.request("POST", path_of(resource["kind"], self.namespace), resource)

    def list_resources(self) -> list[Json]:
        return [
            item | {"kind": kind} for kind in OURS for item in self.api.items(kind, self.namespace)
        ]

    def list_children(self) -> Listing:
        listing = {kind: self.api.list_metadata(kind, self.namespace) for kind in KINDS}
        self.census.note(listing)
        return listing

    def touch(self) -> None:
        """Change an annotation of each NIMService, which triggers a reconcile."""
        for item in self.api.items("NIMService", self.namespace):
            place = path_of("NIMService", self.namespace, item["metadata"]["name"])
            self.api.patch(place, {"metadata": {"annotations": {"faults.nimops.nim/touched": "1"}}})

    def wait_until_midway(self, part: float = 0.25) -> None:
        """Wait until a part of the resources is Ready; the rest is in progress."""
        wanted = max(1, round(self.sizes.total * part))

        def is_midway() -> bool:
            return sum(map(is_settled, self.list_resources())) >= wanted

        wait_until(is_midway, f"{wanted} resources Ready", SETTLE_SECONDS, self.keep)
        say(f"  {wanted} of {self.sizes.total} Ready, the rest in progress")

    def settle(self, limit: float = SETTLE_SECONDS) -> float | None:
        """Seconds until all are Ready; None, and a problem, if the limit passes."""
        due, unready = Every(15), "nothing could be read"

        def is_done() -> bool:
            nonlocal unready
            with contextlib.suppress(HarnessError):
                resources = self.list_resources()
                self.list_children()
                unready = describe_unready(resources)
                if due.is_due():
                    say(f"  {sum(map(is_settled, resources))} of {self.sizes.total} Ready")
                return len(resources) == self.sizes.total and not unready
            return False

        seconds = poll(is_done, limit, self.keep, pause=LOOK_SECONDS)
        more = f" ({unready})" if unready else ""
        self.judge_time(seconds, f"all Ready{more}", limit)
        return seconds

    def judge(self) -> None:
        """Compare the children with the expected ones."""
        for problem in judge_settled(self.list_resources(), self.list_children(), self.census):
            self.object(problem)

    def delete(self) -> None:
        for kind in OURS:
            self.api.request("DELETE", path_of(kind, self.namespace))

    def wait_until_deleted(self, limit: float = DELETE_SECONDS) -> None:
        """Wait until the resources and their children are gone."""
        left = ["all"]

        def is_done() -> bool:
            with contextlib.suppress(HarnessError):
                left[:] = self._list_left()
            return not left

        seconds = poll(is_done, limit, self.keep, pause=LOOK_SECONDS)
        names = f", {len(left)} left: {', '.join(left[:4])}" if left else ""
        self.judge_time(seconds, f"all deleted{names}", limit)

    def _list_left(self) -> list[str]:
        resources = [it for kind in OURS for it in self.api.list_metadata(kind, self.namespace)]
        return [it["metadata"]["name"] for it in resources] or judge_deleted(self.list_children())

    # --- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Stop the replicas, check for leftovers, and clean up for the next fault."""

        def is_swept() -> bool:
            return not any(judge_paths(list_work(it.operator.list_files())) for it in self.replicas)

        # Work folders are removed some seconds after the last run of a resource.
        poll(is_swept, SWEEP_SECONDS, pause=LOOK_SECONDS)
        for replica in self.replicas:
            replica.operator.stop()
        for replica in self.replicas:
            poll(lambda: not replica.operator.processes(), 10)  # noqa: B023 called at once
            if left := replica.clear():
                self.object(f"processes left: {', '.join(left[:4])}")
            for problem in judge_paths(replica.operator.list_files(), replica.operator.kept):
                self.object(f"/tmp: {problem}")
        if self.proxy:
            self.proxy.close()
        with contextlib.suppress(HarnessError):
            discard_resources(self.api, self.namespace)
            self.api.request("DELETE", f"/api/v1/namespaces/{self.namespace}")
