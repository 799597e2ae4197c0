# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The operator as the bench runs it: hack/operator.sh, with prefork or without, and its costs."""

from __future__ import annotations

import re
import sys
import time
import typing as t
from pathlib import Path

from nimops_harness import proc
from nimops_harness.metrics import Snapshot
from nimops_harness.progress import Deadline, Every, say, wait_until
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
    """One run of the operator under a supervisor, which keeps all its processes in its tree.

    `launched` is the monotonic time when the script became the operator.
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
            [sys.executable, "-I", str(SUPERVISE)],
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
        what = f"start of the operator, see {self.log}"
        wait_until(self._is_past_script, what, START_SECONDS, self.check, pause=0.02)
        self.launched = time.monotonic()
        self._at_launch = self._used()

    def _is_past_script(self) -> bool:
        """Whether the script has been replaced by the operator."""
        children = [stat for stat in self.tree().values() if stat.parent == self.pid]
        scripts = [stat.pid for stat in children if stat.name in SCRIPT_NAMES]
        if scripts:
            self._command = scripts[0]
        return not scripts and self._command in {stat.pid for stat in children}

    def wait_until_calm(self, seconds: float = 2.5, limit: float = 300.0) -> Snapshot:
        """Wait until nothing was reconciled for so long and the processes were almost idle.

        The processes that run then are `resident`.
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

    def wait_for(self, finished: int, limit: float) -> Snapshot:
        """Wait until so many reconciles have finished and none is left."""
        deadline = Deadline(limit, f"reconcile number {finished} of the operator")
        while True:
            now = self.metrics.read()
            if now.finished >= finished and now.is_idle:
                return now
            self.check()
            deadline.check(f"{now.finished} so far, {now.waiting} waiting")
            time.sleep(0.02)

    def wait_for_first(self) -> float:
        """Wait for the first reconcile, which fills the caches; seconds since the launch."""
        what = "the first reconcile after the start"
        wait_until(lambda: self.metrics.read().finished, what, 120, self.check, pause=0.05)
        return time.monotonic() - self.launched

    def reconciled(self) -> set[str]:
        """Names of the resources that this run reconciled successfully, from its log."""
        with self.log.open("rb") as log:
            log.seek(self._log_read)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._log_read += len(whole)
        self._reconciled |= {name.decode() for name in SUCCESS.findall(whole)}
        return self._reconciled

    def wait_for_all(self, names: t.Collection[str], limit: float) -> float:
        """Wait until each of these was reconciled and none waits; seconds since the launch.

        Resources at rest are enqueued gradually, so a count of reconciles is not enough.
        """
        wanted, due = set(names), Every(10)
        deadline = Deadline(limit, f"reconciles of {len(wanted)} resources")
        while True:
            now, left = self.metrics.read(), len(wanted - self.reconciled())
            if not left and now.is_idle:
                return time.monotonic() - self.launched
            state = f"{left} of {len(wanted)} left, {now.waiting} waiting"
            if due.is_due():
                say(f"  {state}")
            self.check()
            deadline.check(state)
            time.sleep(0.25)

    # --- costs -----------------------------------------------------------------------------------

    def tree(self) -> dict[int, proc.Process]:
        """All its processes by pid, with the supervisor, which adopts orphans."""
        return proc.read_tree(self.pid)

    def cpu(self) -> float:
        """CPU seconds of all its processes until now, with those that have ended."""
        return proc.cpu_seconds(self.tree())

    def cpu_after_run(self, patience: float = 2.0) -> float:
        """The same once the processes of a run have ended, or after `patience`."""
        deadline = time.monotonic() + patience
        while True:
            tree = self.tree()
            if self.resident.issuperset(tree) or time.monotonic() > deadline:
                return proc.cpu_seconds(tree)
            time.sleep(0.02)

    def memory(self) -> proc.Memory:
        """The memory of all its processes, without the supervisor."""
        return proc.read_memory(self.tree().keys() - {self.pid})

    def use(self, seconds: float) -> tuple[float, int]:
        """Wait; cores that it used meanwhile, and reconciles."""
        before, used, began = self.metrics.read(), self.cpu(), time.monotonic()
        time.sleep(seconds)
        self.check()
        cores = (self.cpu() - used) / (time.monotonic() - began)
        return cores, self.metrics.read().finished - before.finished

    def _used(self) -> tuple[float, float]:
        """CPU seconds of all its processes, and of children that the runtime has reaped."""
        tree = self.tree()
        own = sum(item.reaped for item in tree.values() if item.name == RUNTIME_NAME)
        return proc.cpu_seconds(tree), own

    def direct_share(self) -> float:
        """The part of the CPU since its launch that children of the runtime used."""
        (whole, own), (whole_then, own_then) = self._used(), self._at_launch
        return (own - own_then) / max(whole - whole_then, 0.01)
