# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The table of faults: what each does to the operator or its cluster, and what must hold besides what always must."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
import typing as t
from dataclasses import dataclass
from pathlib import Path

from nimops_harness.cluster import Json, kubectl
from nimops_harness.errors import HarnessError
from nimops_harness.progress import Deadline, say
from nimops_harness.runtime import ROOT
from nimops_harness.workload import is_settled

from .harness import Harness, Replica
from .proxy import Proxy, Trouble, render_kubeconfig

ALWAYS = "all Ready; nothing lost, made twice, of a foreign owner or left behind"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/a0715c6e.nvidia.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVICE_MONITORS = ROOT / "sandbox" / "crds" / "monitoring.coreos.com_servicemonitors.yaml"
OWN_DEFINITIONS = ROOT / "config" / "crd" / "bases"


@contextlib.contextmanager
def without_more(_: Harness) -> t.Iterator[None]:
    yield


@dataclass(frozen=True)
class Fault:
    """`play` gets a harness whose operator is ready; it puts resources in flight, and does its worst.

    `surround` is around the whole harness.
    """

    name: str
    expected: str
    play: t.Callable[[Harness], None]
    surround: t.Callable[[Harness], contextlib.AbstractContextManager[None]] = without_more


def send(pids: t.Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


@contextlib.contextmanager
def stopped(pids: t.Iterable[int]) -> t.Iterator[None]:
    """SIGSTOP, and SIGCONT in the end."""
    held = list(pids)
    send(held, signal.SIGSTOP)
    try:
        yield
    finally:
        send(held, signal.SIGCONT)


def play_nothing(harness: Harness) -> None:
    """What the others are compared with."""
    harness.apply()


# --- the operator's processes ---------------------------------------------------------------------


def kill_operator(harness: Harness) -> None:
    """The runtime alone dies: what it started has to end by itself, as outside of containers."""
    operator = harness.operator
    send([operator.runtime_pid], signal.SIGKILL)
    deadline = time.monotonic() + 10
    while not operator.is_running and operator.processes() and time.monotonic() < deadline:
        time.sleep(0.1)
    if not operator.is_running and (left := operator.processes()):
        harness.object(f"{len(left)} processes outlived the operator by 10 s")
    harness.keep()


def kill_operator_midway(harness: Harness) -> None:
    harness.apply()
    harness.wait_until_midway()
    kill_operator(harness)


def kill_container(harness: Harness) -> None:
    """As by the kernel for want of memory: the supervisor and all it has started, at once."""
    harness.apply()
    harness.wait_until_midway()
    harness.replica.end("killed as a whole")
    harness.keep()


def kill_operator_while_deleting(harness: Harness) -> None:
    """All are Ready, deleted, and some gone, when it dies; then all are made again."""
    harness.apply()
    harness.settle()
    harness.delete()
    deadline = Deadline(120, "some resources deleted")
    while len(harness.list_resources()) > harness.sizes.total * 0.75:
        deadline.check()
        time.sleep(0.1)
    kill_operator(harness)
    harness.wait_until_deleted()
    harness.census.forget()
    harness.apply()


def wait_for_runs(harness: Harness, replica: Replica, seconds: float) -> float | None:
    """Seconds until one more run of this replica has succeeded; None if none does so in time."""
    began, before = time.monotonic(), replica.count_runs()
    while time.monotonic() - began < seconds:
        if replica.count_runs() > before:
            return time.monotonic() - began
        harness.keep()
        time.sleep(0.2)
    return None


def stop_parent(harness: Harness, patience: float = 90.0) -> None:
    """SIGSTOP for good: somebody has to notice, the clients or the liveness probe."""
    parents = harness.operator.parent_pids()
    if not parents:
        raise HarnessError("no parent of prefork runs")
    with stopped(parents):
        time.sleep(2)  # runs that were on their last steps end
        seconds = wait_for_runs(harness, harness.replica, patience)
    if seconds is None:
        harness.object(f"no run succeeded in {patience:g} s with the parent stopped")
    else:
        harness.note(f"parent stopped: next run succeeded after {seconds + 2:.0f} s")


def stop_parent_midway(harness: Harness) -> None:
    harness.apply()
    harness.wait_until_midway()
    stop_parent(harness)


def kill_parent(harness: Harness) -> None:
    harness.apply()
    harness.wait_until_midway()
    for _ in range(2):
        send(harness.operator.parent_pids(), signal.SIGKILL)
        harness.wait(4)


def kill_api_proxy(harness: Harness) -> None:
    """The supervisor starts it again, with the runtime, which cannot do without."""
    harness.apply()
    harness.wait_until_midway()
    for _ in range(2):
        former = wait_for_api_proxy(harness, set())
        send(former, signal.SIGKILL)
        began = time.monotonic()
        wait_for_api_proxy(harness, former)
        harness.note(f"nimops-apiproxy is back after {time.monotonic() - began:.0f} s")


def wait_for_api_proxy(harness: Harness, former: set[int]) -> set[int]:
    """The process ID of another one; HarnessError if there is none for a minute."""
    deadline = Deadline(60, "nimops-apiproxy")
    while not (pids := set(harness.operator.api_proxy_pids()) - former):
        deadline.check()
        harness.keep()
        time.sleep(0.1)
    return pids


def limiting_runs(seconds: int) -> t.Callable[[Harness], contextlib.AbstractContextManager[None]]:
    """Give runs a short time limit, so that nobody has to wait for those that never end."""

    @contextlib.contextmanager
    def limit(harness: Harness) -> t.Iterator[None]:
        harness.environment["NIMOPS_RUN_SECONDS"] = str(seconds)
        yield

    return limit


def stop_runs(harness: Harness) -> None:
    """SIGSTOP for good to all that the runtime waits for: only the liveness probe can notice."""
    harness.apply()
    harness.wait_until_midway(0.1)
    runtime, began = harness.operator.runtime_pid, time.monotonic()
    deadline = Deadline(30, "runs that can be stopped")
    while not (runs := harness.operator.child_pids(runtime)):
        deadline.check()
        time.sleep(0.01)
    with stopped(runs):
        while not harness.replica.deaths and time.monotonic() - began < 240:
            harness.wait(1)
    if harness.replica.deaths:
        harness.note(f"{len(runs)} runs stopped, noticed after {time.monotonic() - began:.0f} s")
    else:
        harness.object(f"{len(runs)} runs stopped, and nobody noticed in 240 s")


def hit_memory_limit(harness: Harness) -> None:
    """Runs under way get an address space that is full, others are killed as by the kernel."""
    harness.apply()
    harness.wait_until_midway()
    hit: set[int] = set()
    deadline = time.monotonic() + 20
    while len(hit) < 8 and time.monotonic() < deadline:
        for pid in set(harness.operator.run_pids()) - hit:
            with contextlib.suppress(ProcessLookupError):
                if len(hit) % 2:
                    os.kill(pid, signal.SIGKILL)
                else:
                    resource.prlimit(pid, resource.RLIMIT_AS, (1 << 20, 1 << 20))
                hit.add(pid)
        time.sleep(0.2)
    harness.note(f"{len(hit)} runs hit")
    if not hit:
        harness.object("no run was hit")


def fill_tmp(harness: Harness) -> None:
    harness.apply()
    harness.wait_until_midway()
    filler = harness.replica.tmp / "filler"
    with contextlib.suppress(OSError), filler.open("wb") as file:
        while True:
            file.write(bytes(1 << 20))
    if os.statvfs(harness.replica.tmp).f_bavail:
        with contextlib.suppress(OSError), filler.open("ab", buffering=0) as file:
            while True:
                file.write(bytes(4096))
    harness.wait(30)
    filler.unlink()


# --- two replicas ---------------------------------------------------------------------------------


@contextlib.contextmanager
def electing(harness: Harness) -> t.Iterator[None]:
    harness.environment["LEADER_ELECT"] = "1"
    yield


def read_leader(harness: Harness) -> str:
    lease = harness.api.find(LEASE)
    return str((lease or {}).get("spec", {}).get("holderIdentity") or "")


def start_second(harness: Harness) -> Replica:
    """Another replica in another network; the first one leads."""
    deadline = Deadline(60, "a leader")
    while not read_leader(harness):
        deadline.check()
        time.sleep(0.2)
    second = harness.start_replica(api_port=harness.sandbox.api_port)
    deadline = Deadline(60, f"a second replica that waits, see {second.log}")
    while "attempting to acquire leader lease" not in second.log.read_text(errors="replace"):
        second.operator.check()
        deadline.check()
        time.sleep(0.2)
    return second


def wait_for_second(harness: Harness, second: Replica, first: str, limit: float = 60.0) -> None:
    """Until the lease is another's and that one's first run has succeeded."""
    began, before = time.monotonic(), second.count_runs()
    leads = None
    while time.monotonic() - began < limit:
        if leads is None and read_leader(harness) not in ("", first):
            leads = time.monotonic() - began
        if second.count_runs() > before:
            worked = time.monotonic() - began
            harness.note(
                f"the other replica led after {leads or worked:.1f} s, worked after {worked:.1f} s"
            )
            return
        time.sleep(0.1)
    harness.object(f"the other replica did not work within {limit:g} s")


def kill_leader(harness: Harness) -> None:
    """A node is lost: the replica is gone, and started again half a minute later."""
    second = start_second(harness)
    harness.apply()
    harness.wait_until_midway()
    first = read_leader(harness)
    harness.replica.end("killed with its node")
    wait_for_second(harness, second, first)
    say("  the first replica comes back")
    harness.keep()


def pause_leader(harness: Harness) -> None:
    """A replica hangs, loses its lease, and wakes up in the belief that it leads."""
    second = start_second(harness)
    harness.apply()
    harness.wait_until_midway()
    first, operator = read_leader(harness), harness.operator
    runtime = operator.runtime_pid
    with stopped(operator.processes()):
        wait_for_second(harness, second, first)
    began = time.monotonic()
    while runtime in operator.processes() and time.monotonic() - began < 15:
        time.sleep(0.1)
    if runtime in operator.processes():
        harness.object("two replicas think that they lead: the one that was paused goes on")
    else:
        harness.note(f"the paused one gave up {time.monotonic() - began:.1f} s after it woke up")


# --- the cluster ----------------------------------------------------------------------------------


def stop_api(harness: Harness) -> None:
    harness.apply()
    harness.wait_until_midway()
    send([harness.sandbox.pid_of("kube-apiserver")], signal.SIGKILL)
    harness.wait(30)
    harness.sandbox.repair()


def pause(component: str, seconds: float) -> t.Callable[[Harness], None]:
    def play(harness: Harness) -> None:
        harness.apply()
        harness.wait_until_midway()
        with stopped([harness.sandbox.pid_of(component)]):
            harness.wait(seconds)

    return play


@contextlib.contextmanager
def behind_proxy(harness: Harness) -> t.Iterator[None]:
    """The operator's way to the API server leads through a proxy of ours."""
    kubeconfig = harness.sandbox.folder / "proxy.kubeconfig"
    with Proxy(harness.sandbox.api_port, harness.sandbox.directory / "pki") as proxy:
        text = render_kubeconfig(harness.sandbox.kubeconfig.read_text(), proxy.port)
        kubeconfig.touch(mode=0o600)
        kubeconfig.write_text(text)
        harness.environment["KUBECONFIG"] = str(kubeconfig)
        harness.proxy = proxy
        yield


def make_api_slow(harness: Harness) -> None:
    assert harness.proxy
    harness.apply()
    harness.wait_until_midway()
    trouble = Trouble(delay=2.0, every=3)
    harness.proxy.make(trouble)
    harness.wait(60)
    harness.proxy.make(Trouble())
    harness.note(f"{trouble.refused} writes refused")


def cut_connections(harness: Harness) -> None:
    assert harness.proxy
    harness.apply()
    harness.wait_until_midway(0.1)
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


def wait_until_undefined(harness: Harness, name: str) -> None:
    deadline = Deadline(180, f"removal of {name}")
    while harness.api.find(f"{DEFINITIONS}/{name}"):
        harness.keep()
        deadline.check()
        time.sleep(0.2)


def remove_own_kinds(harness: Harness) -> None:
    """The CRDs go first, with everything in flight; of some resources the finalizer is torn off."""
    harness.apply()
    harness.wait_until_midway()
    names = ["nimservices.apps.nvidia.com", "nimcaches.apps.nvidia.com"]
    for name in names:
        harness.api.request("DELETE", f"{DEFINITIONS}/{name}")
    for number in range(0, harness.sizes.alone, 3):
        place = f"/apis/apps.nvidia.com/v1alpha1/namespaces/{harness.namespace}/nimservices/nim-{number:02}"
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
    """Every third has a child of a kind that will go."""
    if int(service["metadata"]["name"].rpartition("-")[2]) % 3 == 0:
        service["spec"]["metrics"] = {"enabled": True, "serviceMonitor": {"interval": "30s"}}


@contextlib.contextmanager
def with_monitors(harness: Harness) -> t.Iterator[None]:
    harness.change = monitor
    try:
        yield
    finally:
        apply_files(SERVICE_MONITORS)


def remove_childs_kind(harness: Harness) -> None:
    harness.apply()
    harness.wait_until_midway()
    name = "servicemonitors.monitoring.coreos.com"
    harness.api.request("DELETE", f"{DEFINITIONS}/{name}")
    wait_until_undefined(harness, name)
    harness.wait(30)
    unsettled = [it for it in harness.list_resources() if not is_settled(it)]
    strangers = [it["metadata"]["name"] for it in unsettled if "metrics" not in it["spec"]]
    harness.note(f"{len(unsettled)} not Ready without the kind")
    if strangers:
        harness.object(f"not Ready, though they need no ServiceMonitor: {', '.join(strangers[:4])}")
    apply_files(SERVICE_MONITORS)
    harness.census.forget("servicemonitors")


# --- all ------------------------------------------------------------------------------------------


def kill_and_stop(harness: Harness) -> None:
    """For `make test`: two faults, one after the other, on few resources."""
    harness.apply()
    harness.wait_until_midway()
    kill_operator(harness)
    harness.settle()
    harness.touch()
    stop_parent(harness, 30)


FAULTS = (
    Fault("none", ALWAYS, play_nothing),
    Fault(
        "operator-killed", f"its runs end with it, it starts again; {ALWAYS}", kill_operator_midway
    ),
    Fault(
        "container-killed", f"started again after 1 s, with the same /tmp; {ALWAYS}", kill_container
    ),
    Fault(
        "operator-killed-while-deleting",
        f"all deleted all the same; {ALWAYS}",
        kill_operator_while_deleting,
    ),
    Fault("api-server-away", f"for 30 s; {ALWAYS}", stop_api),
    Fault(
        "api-server-slow",
        f"2 s an answer for 60 s, every third write refused (409, 429, 500); {ALWAYS}",
        make_api_slow,
        behind_proxy,
    ),
    Fault(
        "connections-cut",
        f"all of the operator's, every 2 s for 20 s; {ALWAYS}",
        cut_connections,
        behind_proxy,
    ),
    Fault("etcd-paused", f"for 20 s; {ALWAYS}", pause("etcd", 20)),
    Fault("controller-manager-paused", f"for 30 s; {ALWAYS}", pause("kube-controller-manager", 30)),
    Fault("leader-killed", f"the other replica works within 60 s; {ALWAYS}", kill_leader, electing),
    Fault(
        "leader-paused",
        f"the other replica works within 60 s, the paused one gives up; {ALWAYS}",
        pause_leader,
        electing,
    ),
    Fault(
        "parent-stopped",
        f"runs succeed within 90 s though it stays stopped; {ALWAYS}",
        stop_parent_midway,
    ),
    Fault(
        "runs-stopped",
        f"runs that never end fail the liveness probe; {ALWAYS}",
        stop_runs,
        limiting_runs(20),
    ),
    Fault("parent-killed", f"twice; {ALWAYS}", kill_parent),
    Fault(
        "api-proxy-killed", f"twice; it starts again, with the runtime; {ALWAYS}", kill_api_proxy
    ),
    Fault("tmp-full", f"for 30 s; {ALWAYS}", fill_tmp),
    Fault(
        "run-out-of-memory",
        f"eight runs hit their memory limit or are killed, and end, at the latest with their time; {ALWAYS}",
        hit_memory_limit,
        limiting_runs(60),
    ),
    Fault(
        "own-kinds-removed",
        f"before their resources, some without finalizer; children go, and all can be made again; {ALWAYS}",
        remove_own_kinds,
    ),
    Fault(
        "childs-kind-removed",
        f"only what needs it waits for ServiceMonitors; {ALWAYS}",
        remove_childs_kind,
        with_monitors,
    ),
)
QUICK_FAULT = Fault("quick", f"operator killed, then its parent stopped; {ALWAYS}", kill_and_stop)
