# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The operator as the bench runs it: hack/operator.sh, with prefork or without, and what it costs."""

from __future__ import annotations

import re
import sys
import threading
import time
import typing as t
from pathlib import Path

from nimops_harness import proc
from nimops_harness.metrics import Snapshot
from nimops_harness.progress import Deadline, Every, say
from nimops_harness.runtime import (
    RUNTIME_NAME,
    START_SECONDS,
    Operator,
    Side,
    make_environment,
    refuse_taken_ports,
)
from nimops_harness.workload import SUPERVISE

SCRIPT_NAMES = {"operator.sh", "env", "bash"}
SUCCESS = re.compile(rb'"msg":"Ansible-runner exited successfully".*?"name":"([^"]+)"')


class MeasuredOperator(Operator):
    """One run of the operator under a supervisor, which keeps all that it started in its tree.

    `launched` is the monotonic time when the script had done its part.
    """

    def __init__(
        self, side: Side, namespace: str, log: Path, workers: int, **environment: str
    ) -> None:
        refuse_taken_ports()
        self._log_read = log.stat().st_size if log.exists() else 0
        self._reconciled: set[str] = set()
        super().__init__(
            log,
            make_environment(side, WATCH_NAMESPACE=namespace, **environment),
            [f"--max-concurrent-reconciles={workers}"],
            [sys.executable, "-IS", str(SUPERVISE)],
        )
        self.side = side
        self.launched = 0.0
        self.resident: frozenset[int] = frozenset()
        self._command = 0
        self._at_launch = (0.0, 0.0)

    def __enter__(self) -> t.Self:
        try:
            self._wait_until_launched()
        except BaseException:
            self.stop()
            raise
        return self

    # --- waiting ---------------------------------------------------------------------------------

    def _wait_until_launched(self) -> None:
        deadline = Deadline(START_SECONDS, f"start of the operator, see {self.log}")
        while not self._is_past_script():
            self.check()
            deadline.check()
            time.sleep(0.02)
        self.launched = time.monotonic()
        self._at_launch = self._used()

    def _is_past_script(self) -> bool:
        """The script becomes the operator at its end, and is its interpreter before."""
        children = [stat for stat in self.tree().values() if stat.parent == self.pid]
        scripts = [stat.pid for stat in children if stat.name in SCRIPT_NAMES]
        if scripts:
            self._command = scripts[0]
        return not scripts and self._command in {stat.pid for stat in children}

    def wait_until_calm(self, seconds: float = 2.5, limit: float = 300.0) -> Snapshot:
        """Until for so long nothing was reconciled and the processes did next to nothing.

        Then what runs is what stays when there is nothing to do: `resident`.
        """
        deadline = Deadline(limit, "calm of the operator")
        while True:
            before, used = self.metrics.read(), self.cpu()
            time.sleep(seconds)
            self.check()
            after, busy = self.metrics.read(), (self.cpu() - used) / seconds
            if after.is_idle and after.finished == before.finished and busy < 0.05:
                self.resident = frozenset(self.tree())
                return after
            deadline.check(
                f"{after.waiting} waiting, {after.running} running, {busy:.0%} of a core busy"
            )

    def wait_for(
        self,
        finished: int,
        limit: float,
        pause: float = 0.02,
        say_what: str = "",
        seen: list[tuple[float, int]] | None = None,
    ) -> tuple[Snapshot, float]:
        """Until so many reconciles have finished and none is left; the state, and when it was seen.

        What was looked at is put into `seen`: when, and how many had finished.
        """
        deadline, due = Deadline(limit, f"reconcile number {finished} of the operator"), Every(10)
        while True:
            now = self.metrics.read()
            if seen is not None:
                seen.append((time.monotonic(), now.finished))
            if now.finished >= finished and now.is_idle:
                return now, time.monotonic()
            if say_what and due.is_due():
                say(f"{say_what}: {now.finished} reconciles, {now.waiting} waiting")
            self.check()
            deadline.check(f"{now.finished} so far, {now.waiting} waiting")
            time.sleep(pause)

    def reconciled(self) -> set[str]:
        """Names of the resources that a reconcile of this run has succeeded for, as its log says."""
        with self.log.open("rb") as log:
            log.seek(self._log_read)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._log_read += len(whole)
        self._reconciled |= {name.decode() for name in SUCCESS.findall(whole)}
        return self._reconciled

    def wait_for_all(
        self,
        names: t.Collection[str],
        limit: float,
        seen: list[tuple[float, int]] | None = None,
    ) -> tuple[Snapshot, float]:
        """Until each of these was reconciled and none waits; the state, and when it was seen.

        Resources at rest come in later than they are there, so a count of reconciles does not tell.
        """
        wanted, due = set(names), Every(10)
        deadline = Deadline(limit, f"reconciles of {len(wanted)} resources")
        while True:
            now, left = self.metrics.read(), len(wanted - self.reconciled())
            if seen is not None:
                seen.append((time.monotonic(), len(wanted) - left))
            if not left and now.is_idle:
                return now, time.monotonic()
            if due.is_due():
                say(f"  {len(wanted)}: {left} to come, {now.waiting} waiting")
            self.check()
            deadline.check(f"{left} to come, {now.waiting} waiting")
            time.sleep(0.25)

    # --- costs -----------------------------------------------------------------------------------

    def tree(self) -> dict[int, proc.Stat]:
        """All its processes by pid, the supervisor included, which has adopted the orphans."""
        return proc.read_tree(self.pid)

    def cpu(self) -> float:
        """CPU seconds of all its processes until now, those that are gone included."""
        return proc.cpu_seconds(self.tree())

    def cpu_after_run(self, patience: float = 2.0) -> float:
        """The same once the processes of a run are gone, or `patience` is over."""
        deadline = time.monotonic() + patience
        while True:
            tree = self.tree()
            if self.resident.issuperset(tree) or time.monotonic() > deadline:
                return proc.cpu_seconds(tree)
            time.sleep(0.02)

    def memory(self) -> proc.Memory:
        """What all its processes hold now, without the supervisor."""
        return proc.read_memory(self.tree().keys() - {self.pid})

    def _used(self) -> tuple[float, float]:
        """CPU seconds of all its processes, and of children of the runtime that are gone."""
        tree = self.tree()
        own = sum(stat.reaped for stat in tree.values() if stat.name == RUNTIME_NAME)
        return proc.cpu_seconds(tree), own / proc.TICKS

    def direct_share(self) -> float:
        """The part of the CPU since its launch that went to children of the runtime."""
        (whole, own), (whole_then, own_then) = self._used(), self._at_launch
        return (own - own_then) / max(whole - whole_then, 0.01)


class MemoryWatch:
    """Looks at an operator's memory while a block runs; `peak` and `samples` tell."""

    def __init__(self, operator: MeasuredOperator, pause: float = 0.5) -> None:
        self._operator = operator
        self._pause = pause
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.peak = proc.Memory(0, 0)

    def _look(self) -> None:
        while not self._done.is_set():
            now = self._operator.memory()
            self.peak = max(self.peak, now, key=lambda memory: memory.pss)
            self._done.wait(self._pause)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
