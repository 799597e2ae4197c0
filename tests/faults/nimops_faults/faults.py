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

from nimops_live.cluster import Json, kubectl
from nimops_live.errors import LiveError
from nimops_live.progress import Deadline, say
from nimops_live.runtime import ROOT
from nimops_live.workload import is_settled

from .proxy import Proxy, Trouble, render_kubeconfig
from .scene import Replica, Scene

ALWAYS = "all Ready; nothing lost, made twice, of a foreign owner or left behind"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/a0715c6e.nvidia.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVICE_MONITORS = ROOT / "sandbox" / "crds" / "monitoring.coreos.com_servicemonitors.yaml"
OWN_DEFINITIONS = ROOT / "config" / "crd" / "bases"


@contextlib.contextmanager
def without_more(_: Scene) -> t.Iterator[None]:
    yield


@dataclass(frozen=True)
class Fault:
    """`play` gets a scene whose operator is ready; it puts resources in flight, and does its worst.

    `surround` is around the whole scene.
    """

    name: str
    expected: str
    play: t.Callable[[Scene], None]
    surround: t.Callable[[Scene], contextlib.AbstractContextManager[None]] = without_more


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


def play_nothing(scene: Scene) -> None:
    """What the others are compared with."""
    scene.apply()


# --- the operator's processes ---------------------------------------------------------------------


def kill_operator(scene: Scene) -> None:
    """The runtime alone dies: what it started has to end by itself, as outside of containers."""
    operator = scene.operator
    send([operator.runtime_pid], signal.SIGKILL)
    deadline = time.monotonic() + 10
    while not operator.is_running and operator.processes() and time.monotonic() < deadline:
        time.sleep(0.1)
    if not operator.is_running and (left := operator.processes()):
        scene.object(f"{len(left)} processes outlived the operator by 10 s")
    scene.keep()


def kill_operator_midway(scene: Scene) -> None:
    scene.apply()
    scene.wait_until_midway()
    kill_operator(scene)


def kill_container(scene: Scene) -> None:
    """As by the kernel for want of memory: the supervisor and all it has started, at once."""
    scene.apply()
    scene.wait_until_midway()
    scene.replica.end("killed as a whole")
    scene.keep()


def kill_operator_while_deleting(scene: Scene) -> None:
    """All are Ready, deleted, and some gone, when it dies; then all are made again."""
    scene.apply()
    scene.settle()
    scene.delete()
    deadline = Deadline(120, "some resources deleted")
    while len(scene.list_resources()) > scene.sizes.total * 0.75:
        deadline.check()
        time.sleep(0.1)
    kill_operator(scene)
    scene.wait_until_deleted()
    scene.census.forget()
    scene.apply()


def wait_for_runs(scene: Scene, replica: Replica, seconds: float) -> float | None:
    """Seconds until one more run of this replica has succeeded; None if none does so in time."""
    began, before = time.monotonic(), replica.count_runs()
    while time.monotonic() - began < seconds:
        if replica.count_runs() > before:
            return time.monotonic() - began
        scene.keep()
        time.sleep(0.2)
    return None


def stop_parent(scene: Scene, patience: float = 90.0) -> None:
    """SIGSTOP for good: somebody has to notice, the clients or the liveness probe."""
    parents = scene.operator.parent_pids()
    if not parents:
        raise LiveError("no parent of prefork runs")
    with stopped(parents):
        time.sleep(2)  # runs that were on their last steps end
        seconds = wait_for_runs(scene, scene.replica, patience)
    if seconds is None:
        scene.object(f"no run succeeded in {patience:g} s with the parent stopped")
    else:
        scene.note(f"parent stopped: next run succeeded after {seconds + 2:.0f} s")


def stop_parent_midway(scene: Scene) -> None:
    scene.apply()
    scene.wait_until_midway()
    stop_parent(scene)


def kill_parent(scene: Scene) -> None:
    scene.apply()
    scene.wait_until_midway()
    for _ in range(2):
        send(scene.operator.parent_pids(), signal.SIGKILL)
        scene.wait(4)


def kill_api_proxy(scene: Scene) -> None:
    """The supervisor starts it again, with the runtime, which cannot do without."""
    scene.apply()
    scene.wait_until_midway()
    for _ in range(2):
        former = wait_for_api_proxy(scene, set())
        send(former, signal.SIGKILL)
        began = time.monotonic()
        wait_for_api_proxy(scene, former)
        scene.note(f"nimops-apiproxy is back after {time.monotonic() - began:.0f} s")


def wait_for_api_proxy(scene: Scene, former: set[int]) -> set[int]:
    """The process ID of another one; LiveError if there is none for a minute."""
    deadline = Deadline(60, "nimops-apiproxy")
    while not (pids := set(scene.operator.api_proxy_pids()) - former):
        deadline.check()
        scene.keep()
        time.sleep(0.1)
    return pids


def limiting_runs(seconds: int) -> t.Callable[[Scene], contextlib.AbstractContextManager[None]]:
    """Give runs a short time limit, so that nobody has to wait for those that never end."""

    @contextlib.contextmanager
    def limit(scene: Scene) -> t.Iterator[None]:
        scene.environment["NIMOPS_RUN_SECONDS"] = str(seconds)
        yield

    return limit


def stop_runs(scene: Scene) -> None:
    """SIGSTOP for good to all that the runtime waits for: only the liveness probe can notice."""
    scene.apply()
    scene.wait_until_midway(0.1)
    runtime, began = scene.operator.runtime_pid, time.monotonic()
    deadline = Deadline(30, "runs that can be stopped")
    while not (runs := scene.operator.child_pids(runtime)):
        deadline.check()
        time.sleep(0.01)
    with stopped(runs):
        while not scene.replica.deaths and time.monotonic() - began < 240:
            scene.wait(1)
    if scene.replica.deaths:
        scene.note(f"{len(runs)} runs stopped, noticed after {time.monotonic() - began:.0f} s")
    else:
        scene.object(f"{len(runs)} runs stopped, and nobody noticed in 240 s")


def hit_memory_limit(scene: Scene) -> None:
    """Runs under way get an address space that is full, others are killed as by the kernel."""
    scene.apply()
    scene.wait_until_midway()
    hit: set[int] = set()
    deadline = time.monotonic() + 20
    while len(hit) < 8 and time.monotonic() < deadline:
        for pid in set(scene.operator.run_pids()) - hit:
            with contextlib.suppress(ProcessLookupError):
                if len(hit) % 2:
                    os.kill(pid, signal.SIGKILL)
                else:
                    resource.prlimit(pid, resource.RLIMIT_AS, (1 << 20, 1 << 20))
                hit.add(pid)
        time.sleep(0.2)
    scene.note(f"{len(hit)} runs hit")
    if not hit:
        scene.object("no run was hit")


def fill_tmp(scene: Scene) -> None:
    scene.apply()
    scene.wait_until_midway()
    filler = scene.replica.tmp / "filler"
    with contextlib.suppress(OSError), filler.open("wb") as file:
        while True:
            file.write(bytes(1 << 20))
    if os.statvfs(scene.replica.tmp).f_bavail:
        with contextlib.suppress(OSError), filler.open("ab", buffering=0) as file:
            while True:
                file.write(bytes(4096))
    scene.wait(30)
    filler.unlink()


# --- two replicas ---------------------------------------------------------------------------------


@contextlib.contextmanager
def electing(scene: Scene) -> t.Iterator[None]:
    scene.environment["LEADER_ELECT"] = "1"
    yield


def read_leader(scene: Scene) -> str:
    lease = scene.api.find(LEASE)
    return str((lease or {}).get("spec", {}).get("holderIdentity") or "")


def start_second(scene: Scene) -> Replica:
    """Another replica in another network; the first one leads."""
    deadline = Deadline(60, "a leader")
    while not read_leader(scene):
        deadline.check()
        time.sleep(0.2)
    second = scene.start_replica(api_port=scene.stage.api_port)
    deadline = Deadline(60, f"a second replica that waits, see {second.log}")
    while "attempting to acquire leader lease" not in second.log.read_text(errors="replace"):
        second.operator.check()
        deadline.check()
        time.sleep(0.2)
    return second


def wait_for_second(scene: Scene, second: Replica, first: str, limit: float = 60.0) -> None:
    """Until the lease is another's and that one's first run has succeeded."""
    began, before = time.monotonic(), second.count_runs()
    leads = None
    while time.monotonic() - began < limit:
        if leads is None and read_leader(scene) not in ("", first):
            leads = time.monotonic() - began
        if second.count_runs() > before:
            worked = time.monotonic() - began
            scene.note(
                f"the other replica led after {leads or worked:.1f} s, worked after {worked:.1f} s"
            )
            return
        time.sleep(0.1)
    scene.object(f"the other replica did not work within {limit:g} s")


def kill_leader(scene: Scene) -> None:
    """A node is lost: the replica is gone, and started again half a minute later."""
    second = start_second(scene)
    scene.apply()
    scene.wait_until_midway()
    first = read_leader(scene)
    scene.replica.end("killed with its node")
    wait_for_second(scene, second, first)
    say("  the first replica comes back")
    scene.keep()


def pause_leader(scene: Scene) -> None:
    """A replica hangs, loses its lease, and wakes up in the belief that it leads."""
    second = start_second(scene)
    scene.apply()
    scene.wait_until_midway()
    first, operator = read_leader(scene), scene.operator
    runtime = operator.runtime_pid
    with stopped(operator.processes()):
        wait_for_second(scene, second, first)
    began = time.monotonic()
    while runtime in operator.processes() and time.monotonic() - began < 15:
        time.sleep(0.1)
    if runtime in operator.processes():
        scene.object("two replicas think that they lead: the one that was paused goes on")
    else:
        scene.note(f"the paused one gave up {time.monotonic() - began:.1f} s after it woke up")


# --- the cluster ----------------------------------------------------------------------------------


def stop_api(scene: Scene) -> None:
    scene.apply()
    scene.wait_until_midway()
    send([scene.stage.pid_of("kube-apiserver")], signal.SIGKILL)
    scene.wait(30)
    scene.stage.repair()


def pause(component: str, seconds: float) -> t.Callable[[Scene], None]:
    def play(scene: Scene) -> None:
        scene.apply()
        scene.wait_until_midway()
        with stopped([scene.stage.pid_of(component)]):
            scene.wait(seconds)

    return play


@contextlib.contextmanager
def behind_proxy(scene: Scene) -> t.Iterator[None]:
    """The operator's way to the API server leads through a proxy of ours."""
    kubeconfig = scene.stage.folder / "proxy.kubeconfig"
    with Proxy(scene.stage.api_port, scene.stage.directory / "pki") as proxy:
        text = render_kubeconfig(scene.stage.kubeconfig.read_text(), proxy.port)
        kubeconfig.touch(mode=0o600)
        kubeconfig.write_text(text)
        scene.environment["KUBECONFIG"] = str(kubeconfig)
        scene.proxy = proxy
        yield


def make_api_slow(scene: Scene) -> None:
    assert scene.proxy
    scene.apply()
    scene.wait_until_midway()
    trouble = Trouble(delay=2.0, every=3)
    scene.proxy.make(trouble)
    scene.wait(60)
    scene.proxy.make(Trouble())
    scene.note(f"{trouble.refused} writes refused")


def cut_connections(scene: Scene) -> None:
    assert scene.proxy
    scene.apply()
    scene.wait_until_midway(0.1)
    count = 0
    for _ in range(10):
        count += scene.proxy.cut()
        scene.wait(2)
    scene.note(f"{count} connections cut")


# --- kinds ----------------------------------------------------------------------------------------


def apply_files(*paths: Path) -> None:
    arguments = [word for path in paths for word in ("--filename", str(path))]
    kubectl("apply", "--server-side", "--force-conflicts", *arguments)
    kubectl("wait", "--for=condition=Established", "--timeout=60s", *arguments)


def wait_until_undefined(scene: Scene, name: str) -> None:
    deadline = Deadline(180, f"removal of {name}")
    while scene.api.find(f"{DEFINITIONS}/{name}"):
        scene.keep()
        deadline.check()
        time.sleep(0.2)


def remove_own_kinds(scene: Scene) -> None:
    """The CRDs go first, with everything in flight; of some resources the finalizer is torn off."""
    scene.apply()
    scene.wait_until_midway()
    names = ["nimservices.apps.nvidia.com", "nimcaches.apps.nvidia.com"]
    for name in names:
        scene.api.request("DELETE", f"{DEFINITIONS}/{name}")
    for number in range(0, scene.sizes.alone, 3):
        place = f"/apis/apps.nvidia.com/v1alpha1/namespaces/{scene.namespace}/nimservices/nim-{number:02}"
        with contextlib.suppress(LiveError):
            scene.api.patch(place, {"metadata": {"finalizers": None}})
    for name in names:
        wait_until_undefined(scene, name)
    scene.wait_until_deleted()
    scene.wait(10)
    apply_files(OWN_DEFINITIONS)
    scene.census.forget()
    scene.apply()


def monitor(service: Json) -> None:
    """Every third has a child of a kind that will go."""
    if int(service["metadata"]["name"].rpartition("-")[2]) % 3 == 0:
        service["spec"]["metrics"] = {"enabled": True, "serviceMonitor": {"interval": "30s"}}


@contextlib.contextmanager
def with_monitors(scene: Scene) -> t.Iterator[None]:
    scene.change = monitor
    try:
        yield
    finally:
        apply_files(SERVICE_MONITORS)


def remove_childs_kind(scene: Scene) -> None:
    scene.apply()
    scene.wait_until_midway()
    name = "servicemonitors.monitoring.coreos.com"
    scene.api.request("DELETE", f"{DEFINITIONS}/{name}")
    wait_until_undefined(scene, name)
    scene.wait(30)
    unsettled = [it for it in scene.list_resources() if not is_settled(it)]
    strangers = [it["metadata"]["name"] for it in unsettled if "metrics" not in it["spec"]]
    scene.note(f"{len(unsettled)} not Ready without the kind")
    if strangers:
        scene.object(f"not Ready, though they need no ServiceMonitor: {', '.join(strangers[:4])}")
    apply_files(SERVICE_MONITORS)
    scene.census.forget("servicemonitors")


# --- all ------------------------------------------------------------------------------------------


def kill_and_stop(scene: Scene) -> None:
    """For `make test`: two faults, one after the other, on few resources."""
    scene.apply()
    scene.wait_until_midway()
    kill_operator(scene)
    scene.settle()
    scene.touch()
    stop_parent(scene, 30)


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
