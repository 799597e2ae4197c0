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
from pathlib import Path

from nimops_harness.cluster import Json, kubectl, path_of
from nimops_harness.errors import HarnessError
from nimops_harness.proc import send, stopped
from nimops_harness.progress import poll, say, wait_until
from nimops_harness.runtime import ROOT
from nimops_harness.workload import is_settled

from .harness import Harness, Replica
from .proxy import Proxy, Trouble, render_kubeconfig

ALWAYS = "all Ready; nothing lost, made twice, of a foreign owner or left behind"
LEASE = path_of("Lease", "kube-system", "a0715c6e.nvidia.com")
SERVICE_MONITORS = ROOT / "sandbox" / "crds" / "monitoring.coreos.com_servicemonitors.yaml"
ELECT = {"LEADER_ELECT": "1"}
OWN_DEFINITIONS = ROOT / "config" / "crd" / "bases"

Inject = t.Callable[[Harness], None]
Function = t.TypeVar("Function", bound=Inject)
Surround = t.Callable[[Harness], contextlib.AbstractContextManager[t.Any]]


@dataclass(frozen=True)
class Fault:
    """`inject` is called when a part of the resources, `midway`, is Ready; before they exist if it is 0.

    `surround` is entered before the operator starts, which gets `environment`.
    """

    name: str
    expected: str
    inject: Inject
    midway: float = 0.25
    surround: Surround = contextlib.nullcontext
    environment: t.Mapping[str, str] = field(default_factory=dict)

    def play(self, harness: Harness) -> None:
        if self.midway:
            harness.apply()
            harness.wait_until_midway(self.midway)
        self.inject(harness)


FAULTS: list[Fault] = []


def fault(name: str, expected: str = "", **options: t.Any) -> t.Callable[[Function], Function]:
    """Add a function to FAULTS."""

    def add(inject: Function) -> Function:
        whole = f"{expected}; {ALWAYS}" if expected else ALWAYS
        FAULTS.append(Fault(name, whole, inject, **options))
        return inject

    return add


@fault("none", midway=0)
def do_nothing(harness: Harness) -> None:
    """No fault, for comparison."""
    harness.apply()


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
    harness.census.forget()
    harness.apply()


def wait_for_runs(harness: Harness, replica: Replica, seconds: float) -> float | None:
    """Seconds until one more run of this replica succeeds; None if none does in time."""
    before = replica.count_runs()
    return poll(lambda: replica.count_runs() > before, seconds, harness.keep)


@fault("parent-stopped", "runs succeed within 90 s though it stays stopped")
def stop_parent(harness: Harness, patience: float = 90.0) -> None:
    """Stop the parent: its clients or the liveness probe have to notice."""
    parents = harness.operator.parent_pids()
    if not parents:
        raise HarnessError("no parent of prefork runs")
    with stopped(parents):
        time.sleep(2)  # runs that were almost complete end
        seconds = wait_for_runs(harness, harness.replica, patience)
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


@contextlib.contextmanager
def behind_proxy(harness: Harness) -> t.Iterator[None]:
    """The operator reaches the API server through a proxy of ours."""
    kubeconfig = harness.sandbox.folder / "proxy.kubeconfig"
    with Proxy(harness.sandbox.api_port, harness.sandbox.directory / "pki") as proxy:
        text = render_kubeconfig(harness.sandbox.kubeconfig.read_text(), proxy.server_port)
        kubeconfig.touch(mode=0o600)
        kubeconfig.write_text(text)
        harness.environment["KUBECONFIG"] = str(kubeconfig)
        harness.proxy = proxy
        yield


@fault(
    "api-server-slow",
    "2 s an answer for 60 s, every third write refused (409, 429, 500)",
    surround=behind_proxy,
)
def make_api_slow(harness: Harness) -> None:
    assert harness.proxy
    harness.proxy.trouble = trouble = Trouble(delay=2.0, every=3)
    harness.wait(60)
    harness.proxy.trouble = Trouble()
    harness.note(f"{trouble.refused} writes refused")


@fault(
    "connections-cut",
    "all of the operator's, every 2 s for 20 s",
    midway=0.1,
    surround=behind_proxy,
)
def cut_connections(harness: Harness) -> None:
    assert harness.proxy
    count = 0
    for _ in range(10):
        count += harness.proxy.cut()
        harness.wait(2)
    harness.note(f"{count} connections cut")


# --- kinds ----------------------------------------------------------------------------------------


def apply_files(*paths: Path) -> None:
    arguments = [word for path in paths for word in ("--filename", str(path))]
    kubectl("apply", "--server-side", "--force-conflicts", *arguments)
    kubectl("wait", "--for=condition=Established", "--timeout=60s", *arguments)


def delete_definitions(harness: Harness, *names: str) -> None:
    for name in names:
        harness.api.request("DELETE", path_of("CustomResourceDefinition", "", name))


def wait_until_undefined(harness: Harness, name: str) -> None:
    place = path_of("CustomResourceDefinition", "", name)
    wait_until(lambda: not harness.api.find(place), f"removal of {name}", 180, harness.keep)


@fault(
    "own-kinds-removed",
    "before their resources, some without finalizer; children go, and all can be made again",
)
def remove_own_kinds(harness: Harness) -> None:
    """Delete the CRDs while resources are in progress; some resources lose their finalizer."""
    names = ("nimservices.apps.nvidia.com", "nimcaches.apps.nvidia.com")
    delete_definitions(harness, *names)
    for number in range(0, harness.sizes.alone, 3):
        place = path_of("NIMService", harness.namespace, f"nim-{number:02}")
        with contextlib.suppress(HarnessError):
            harness.api.patch(place, {"metadata": {"finalizers": None}})
    for name in names:
        wait_until_undefined(harness, name)
    harness.wait_until_deleted()
    harness.wait(10)
    apply_files(OWN_DEFINITIONS)
    harness.census.forget()
    harness.apply()


def monitor(service: Json) -> None:
    """Give every third NIMService a child of a kind that will be removed."""
    if int(service["metadata"]["name"].rpartition("-")[2]) % 3 == 0:
        service["spec"]["metrics"] = {"enabled": True, "serviceMonitor": {"interval": "30s"}}


@contextlib.contextmanager
def with_monitors(harness: Harness) -> t.Iterator[None]:
    harness.change = monitor
    try:
        yield
    finally:
        apply_files(SERVICE_MONITORS)


@fault(
    "childs-kind-removed", "only what needs it waits for ServiceMonitors", surround=with_monitors
)
def remove_childs_kind(harness: Harness) -> None:
    name = "servicemonitors.monitoring.coreos.com"
    delete_definitions(harness, name)
    wait_until_undefined(harness, name)
    harness.wait(30)
    unsettled = [it for it in harness.list_resources() if not is_settled(it)]
    others = [it["metadata"]["name"] for it in unsettled if "metrics" not in it["spec"]]
    harness.note(f"{len(unsettled)} not Ready without the kind")
    if others:
        harness.object(f"not Ready, though they need no ServiceMonitor: {', '.join(others[:4])}")
    apply_files(SERVICE_MONITORS)
    harness.census.forget("ServiceMonitor")


# --- all ------------------------------------------------------------------------------------------


def kill_and_stop(harness: Harness) -> None:
    """Two faults, one after the other, for `make quick`."""
    kill_operator(harness)
    harness.settle()
    harness.touch()
    stop_parent(harness, 30)


QUICK_FAULT = Fault("quick", f"operator killed, then its parent stopped; {ALWAYS}", kill_and_stop)
