# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The faults: what each does to the operator or its cluster, and the expected outcome."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
import typing as t
from dataclasses import dataclass, field
from functools import partial

from nimops_harness.api_server import apply_our_crds
from nimops_harness.cases import Cases, F
from nimops_harness.cluster import path_of
from nimops_harness.errors import HarnessError
from nimops_harness.proc import send, stopped
from nimops_harness.progress import poll, say, wait_until

from .harness import Harness, Replica

ALWAYS = "all Ready; nothing lost, made twice, of a foreign owner or left behind"
LEASE = path_of("Lease", "kube-system", "a0715c6e.nvidia.com")
ELECT = {"LEADER_ELECT": "1"}


@dataclass(frozen=True)
class Fault:
    """`run` gets a Harness when a part of the resources, `midway`, is Ready; before they exist if it is 0.

    The operator gets `environment`; with `is_forwarded`, it reaches the API server through us.
    """

    name: str
    expected: str
    run: t.Callable[[Harness], None]
    midway: float = 0.25
    is_forwarded: bool = False
    environment: t.Mapping[str, str] = field(default_factory=dict)

    def play(self, harness: Harness) -> None:
        if self.midway:
            harness.apply()
            harness.wait_until_midway(self.midway)
        self.run(harness)


FAULTS = Cases(Fault)


def fault(name: str, outcome: str, **options: t.Any) -> t.Callable[[F], F]:
    """Add a function as a fault."""
    return FAULTS.add(name, f"{outcome}; {ALWAYS}", **options)


# --- the operator's processes ---------------------------------------------------------------------


@fault("operator-killed", "its runs end with it, it starts again")
def kill_operator(harness: Harness) -> None:
    """Kill the runtime alone: its processes have to end by themselves, as outside of containers."""
    operator = harness.operator
    send([operator.runtime_pid], signal.SIGKILL)
    poll(lambda: operator.is_running or not operator.processes(), 10)
    if not operator.is_running and (left := operator.processes()):
        harness.object(f"{len(left)} processes outlived the operator by 10 s")
    harness.keep()


@fault("container-killed", "started again after 1 s, with the same /tmp")
def kill_container(harness: Harness) -> None:
    """Kill all processes at once, as the kernel does when memory is short."""
    harness.replica.end("killed as a whole")
    harness.keep()


@fault("operator-killed-while-deleting", "all are deleted", midway=0)
def kill_operator_while_deleting(harness: Harness) -> None:
    """Kill the operator when some of the deleted resources are gone; then create all again."""
    harness.apply()
    harness.settle()
    harness.delete()
    limit = harness.sizes.total * 0.75
    wait_until(
        lambda: len(harness.list_resources()) <= limit, "some resources deleted", 120, pause=0.1
    )
    kill_operator(harness)
    harness.wait_until_deleted()
    harness.census.uids.clear()
    harness.apply()


@fault("parent-stopped", "runs succeed within 90 s though it stays stopped")
def stop_parent(harness: Harness, patience: float = 90.0) -> None:
    """Stop the parent: its clients or the liveness probe have to notice."""
    parents = harness.operator.parent_pids()
    if not parents:
        raise HarnessError("no parent of prefork runs")
    with stopped(parents):
        time.sleep(2)  # runs that were almost complete end
        before = harness.replica.count_runs()
        seconds = poll(lambda: harness.replica.count_runs() > before, patience, harness.keep)
    harness.judge_time(seconds, "parent stopped: next run succeeded", patience)


@fault("parent-killed", "twice")
def kill_parent(harness: Harness) -> None:
    for _ in range(2):
        send(harness.operator.parent_pids(), signal.SIGKILL)
        harness.wait(4)


@fault("api-proxy-killed", "twice; it starts again, with the runtime")
def kill_api_proxy(harness: Harness) -> None:
    """Kill nimops-apiproxy: the supervisor restarts it together with the runtime."""

    operator = harness.operator  # the container stays
    for _ in range(2):
        former = wait_until(operator.api_proxy_pids, "nimops-apiproxy", 60, harness.keep)
        send(former, signal.SIGKILL)
        seconds = poll(lambda: set(operator.api_proxy_pids()) - {*former}, 60, harness.keep)  # noqa: B023 called at once
        harness.judge_time(seconds, "nimops-apiproxy is back", 60)


@fault(
    "runs-stopped",
    "runs that never end fail the liveness probe",
    midway=0.1,
    environment={"NIMOPS_RUN_SECONDS": "20"},
)
def stop_runs(harness: Harness) -> None:
    """Stop everything that the runtime waits for: only the liveness probe can notice."""
    runtime = harness.operator.runtime_pid
    runs = wait_until(
        lambda: harness.operator.child_pids(runtime), "runs that can be stopped", 30, pause=0.01
    )
    with stopped(runs):
        seconds = poll(lambda: harness.replica.deaths, 240, harness.keep)
    harness.judge_time(seconds, f"{len(runs)} runs stopped, noticed", 240)


@fault(
    "run-out-of-memory",
    "eight runs hit their memory limit or are killed, and end, at the latest with their time",
    environment={"NIMOPS_RUN_SECONDS": "60"},
)
def hit_memory_limit(harness: Harness) -> None:
    """Give some runs no more memory, and kill others, as the kernel does."""
    hit: set[int] = set()

    def hit_some() -> bool:
        for pid in set(harness.operator.run_pids()) - hit:
            with contextlib.suppress(ProcessLookupError):
                if len(hit) % 2:
                    os.kill(pid, signal.SIGKILL)
                else:
                    resource.prlimit(pid, resource.RLIMIT_AS, (1 << 20, 1 << 20))
                hit.add(pid)
        return len(hit) >= 8

    poll(hit_some, 20)
    harness.note(f"{len(hit)} runs hit")
    if not hit:
        harness.object("no run was hit")


@fault("tmp-full", "for 30 s")
def fill_tmp(harness: Harness) -> None:
    filler = harness.replica.tmp / "filler"
    for size in (1 << 20, 4096):
        with contextlib.suppress(OSError), filler.open("ab", buffering=0) as file:
            while file.write(bytes(size)):
                pass
    harness.wait(30)
    filler.unlink()


# --- two replicas ---------------------------------------------------------------------------------


def read_leader(harness: Harness) -> str:
    lease = harness.api.find(LEASE)
    return str((lease or {}).get("spec", {}).get("holderIdentity") or "")


def apply_to_two(harness: Harness) -> Replica:
    """Start another replica in another network, and wait until midway; the first replica leads."""
    wait_until(lambda: read_leader(harness), "a leader", 60)
    second = harness.start_replica(api_port=harness.sandbox.api_port)
    wait_until(
        lambda: "attempting to acquire leader lease" in second.log.read_text(errors="replace"),
        f"a second replica that waits, see {second.log}", 60, second.operator.check,
    )  # fmt: skip
    harness.apply()
    harness.wait_until_midway()
    return second


def wait_for_second(harness: Harness, second: Replica, first: str, limit: float = 60.0) -> None:
    """Wait until the second replica has the lease and its first run has succeeded."""
    before = second.count_runs()
    led = poll(lambda: read_leader(harness) not in ("", first), limit)
    harness.judge_time(led, "the other replica led", limit)
    worked = poll(lambda: second.count_runs() > before, limit - (led or limit))
    harness.judge_time(worked, "then its first run succeeded", limit)


@fault("leader-killed", "the other replica works within 60 s", midway=0, environment=ELECT)
def kill_leader(harness: Harness) -> None:
    """A node is lost: its replica is killed, and started again later."""
    second, first = apply_to_two(harness), read_leader(harness)
    harness.replica.end("killed with its node")
    wait_for_second(harness, second, first)
    say("  the first replica comes back")
    harness.keep()


@fault(
    "leader-paused",
    "the other replica works within 60 s, the paused one gives up",
    midway=0,
    environment=ELECT,
)
def pause_leader(harness: Harness) -> None:
    """A replica hangs, loses its lease, and resumes as if it were the leader."""
    second, first, operator = apply_to_two(harness), read_leader(harness), harness.operator
    runtime = operator.runtime_pid
    with stopped(operator.processes()):
        wait_for_second(harness, second, first)
    seconds = poll(lambda: runtime not in operator.processes(), 15)
    harness.judge_time(seconds, "the paused one resumed and gave up: two do not lead", 15)


# --- the cluster ----------------------------------------------------------------------------------


@fault("api-server-away", "for 30 s")
def stop_api(harness: Harness) -> None:
    send([harness.sandbox.pid_of("kube-apiserver")], signal.SIGKILL)
    harness.wait(30)
    harness.sandbox.repair()


def pause(component: str, seconds: float, harness: Harness) -> None:
    with stopped([harness.sandbox.pid_of(component)]):
        harness.wait(seconds)


fault("etcd-paused", "for 20 s")(partial(pause, "etcd", 20))
fault("controller-manager-paused", "for 30 s")(partial(pause, "kube-controller-manager", 30))


@fault("api-server-slow", "1 s more for each part of an answer, for 60 s", is_forwarded=True)
def make_api_slow(harness: Harness) -> None:
    assert harness.proxy
    harness.proxy.delay = 1.0
    harness.wait(60)
    harness.proxy.delay = 0.0


# --- kinds ----------------------------------------------------------------------------------------


@fault(
    "own-kinds-removed",
    "before their resources, some without finalizer; children go, and all can be made again",
)
def remove_own_kinds(harness: Harness) -> None:
    """Delete the CRDs while resources are in progress; some resources lose their finalizer."""
    crds = [path_of("CustomResourceDefinition", "", f"{name}.apps.nvidia.com") for name in ("nimservices", "nimcaches")]  # fmt: skip
    for crd in crds:
        harness.api.request("DELETE", crd)
    for number in range(0, harness.sizes.alone, 3):
        place = path_of("NIMService", harness.namespace, f"nim-{number:02}")
        with contextlib.suppress(HarnessError):
            harness.api.patch(place, {"metadata": {"finalizers": None}})
    wait_until(
        lambda: not any(map(harness.api.find, crds)), "removal of the CRDs", 180, harness.keep
    )
    harness.wait_until_deleted()
    harness.wait(10)
    apply_our_crds()
    harness.census.uids.clear()
    harness.apply()


# --- all ------------------------------------------------------------------------------------------


def kill_and_stop(harness: Harness) -> None:
    """Two faults, one after the other, for `make quick`."""
    kill_operator(harness)
    harness.settle()
    harness.touch()
    stop_parent(harness, 30)


QUICK_FAULT = Fault("quick", f"operator killed, then its parent stopped; {ALWAYS}", kill_and_stop)
