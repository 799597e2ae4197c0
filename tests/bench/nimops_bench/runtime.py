# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The operator as the bench runs it: hack/operator.sh, with prefork or without, and its costs."""

from __future__ import annotations

import contextlib
import re
import threading
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nimops_harness import proc
from nimops_harness.metrics import Snapshot
from nimops_harness.progress import Deadline, Every, say, wait_until
from nimops_harness.runtime import (
    START_SECONDS,
    Operator,
    Side,
    make_environment,
)
from nimops_harness.workload import END_WITH_US

MEMORY_PAUSE = 0.5
SUCCESS = re.compile(rb'"msg":"Ansible-runner exited successfully".*?"name":"([^"]+)"')


class MeasuredOperator(Operator):
    """One run of the operator, whose supervisor keeps all processes in its tree.

    `launched` is the monotonic time when the script became the operator.
    """

    def __init__(
        self, side: Side, namespace: str, log: Path, workers: int, **environment: str
    ) -> None:
        self._log_read = log.stat().st_size if log.exists() else 0
        self._reconciled: set[str] = set()
        super().__init__(
            log,
            make_environment(side, WATCH_NAMESPACE=namespace, **environment),
            [f"--max-concurrent-reconciles={workers}"],
            END_WITH_US,
        )
        self.side = side
        self.resident: frozenset[int] = frozenset()

    def wait_until_launched(self) -> None:
        """Wait until the script has been replaced by the operator."""

        def is_past_script() -> bool:
            return "nimops_supervisor" in proc.read_command(self.pid)

        what = f"start of the operator, see {self.log}"
        wait_until(is_past_script, what, START_SECONDS, self.check, pause=0.02)
        self.launched = time.monotonic()

    # --- waiting ---------------------------------------------------------------------------------

    def wait_until_calm(self, seconds: float = 2.5, limit: float = 300.0) -> Snapshot:
        """Wait until nothing was reconciled for so long and the processes were almost idle.

        The processes that run then are `resident`.
        """
        deadline = Deadline(limit, "calm of the operator")
        while True:
            before = self.metrics.read()
            cores, finished = self.use(seconds)
            after = self.metrics.read()
            if after.is_idle and after.finished == before.finished and cores < 0.05:
                self.resident = frozenset(self.tree())
                return after
            deadline.check(f"{after.waiting} waiting, {finished} reconciles, {cores:.2f} cores")

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

    def wait_for_all(self, names: t.Collection[str], limit: float) -> float:
        """Wait until each of these was reconciled and none waits; seconds since the launch.

        Resources at rest are enqueued gradually, so a count of reconciles is not enough.
        """
        wanted, due = set(names), Every(10)
        deadline = Deadline(limit, f"reconciles of {len(wanted)} resources")
        while True:
            now, left = self.metrics.read(), len(wanted - self._read_reconciled())
            if not left and now.is_idle:
                return time.monotonic() - self.launched
            state = f"{left} of {len(wanted)} left, {now.waiting} waiting"
            if due.is_due():
                say(f"  {state}")
            self.check()
            deadline.check(state)
            time.sleep(0.25)

    def _read_reconciled(self) -> set[str]:
        """Names of the resources that this run reconciled successfully, from its log."""
        with self.log.open("rb") as log:
            log.seek(self._log_read)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._log_read += len(whole)
        self._reconciled |= {name.decode() for name in SUCCESS.findall(whole)}
        return self._reconciled

    # --- costs -----------------------------------------------------------------------------------

    def tree(self) -> dict[int, proc.Process]:
        """All its processes by pid; its supervisor adopts orphans."""
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
        """The memory of all its processes."""
        return proc.read_memory(self.tree())

    @contextlib.contextmanager
    def watching_memory(self) -> t.Iterator[None]:
        """Poll its memory during the block; `peak` is the highest so far."""
        done = threading.Event()
        self.peak = self.memory()

        def poll() -> None:
            while not done.wait(MEMORY_PAUSE):
                self.peak = max(self.peak, self.memory(), key=lambda memory: memory.pss)

        with ThreadPoolExecutor(1) as pool:
            pool.submit(poll)
            try:
                yield
            finally:
                done.set()

    def use(self, seconds: float) -> tuple[float, int]:
        """Wait; cores that it used meanwhile, and reconciles."""
        before, used, began = self.metrics.read(), self.cpu(), time.monotonic()
        time.sleep(seconds)
        self.check()
        cores = (self.cpu() - used) / (time.monotonic() - began)
        return cores, self.metrics.read().finished - before.finished

    def has_parent(self) -> bool:
        """Whether the parent of prefork runs, which forks the runs."""
        return any("ansible_prefork" in proc.read_command(pid) for pid in self.tree())
