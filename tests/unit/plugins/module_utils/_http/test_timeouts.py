# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The waiting time of a pass: a few tenants must not block all others."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._http.model_server import fetch
from ansible_collections.nimops.nim.plugins.module_utils._http.slots import Slots
from ansible_collections.nimops.nim.plugins.module_utils._http.timeouts import (
    BUSY,
    FREE_SECONDS,
    BusyError,
    Patience,
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Question:
    """Answered after so many seconds of waiting."""

    def __init__(self, clock: Clock, seconds: float, answer: t.Any = "answer") -> None:
        self.clock, self.left, self.answer = clock, seconds, answer

    def wait(self, seconds: float) -> t.Any:
        self.clock.now += min(seconds, self.left)
        self.left -= seconds
        if self.left > 0:
            raise TimeoutError
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Room:
    """Slots that are free or not."""

    def __init__(self, *, is_free: bool) -> None:
        self.is_free, self.message = is_free, []

    def take(self, namespace: str) -> bool:
        self.message.append(("take", namespace))
        return self.is_free

    def release(self) -> None:
        self.message.append(("release",))


def ask(*questions: tuple[float, t.Any], is_free: bool, seconds: float = 3.0) -> t.Any:
    """(outcomes, whether each was slow by then, the calls of the slots, the time)."""
    clock, room, outcomes = Clock(), Room(is_free=is_free), []
    with Patience("ns", t.cast("Slots", room), clock) as patience:
        for needed, answer in questions:
            try:
                found = patience.wait(t.cast("t.Any", Question(clock, needed, answer)), seconds)
            except Exception as error:
                found = type(error)
            outcomes.append((found, patience.is_slow))
    return outcomes, room.message, round(clock.now - 100, 3)


TAKEN = [("take", "ns")]


WAIT_IN_PASS_CASES = {
    "fast": ([(0.2, "a")], False, ([("a", False)], [], 0.2)),
    "slow, whatever the answer": (
        [(2.9, "rubbish")],
        True,
        ([("rubbish", True)], [*TAKEN, ("release",)], 2.9),
    ),
    "slow to fail": (
        [(2.9, ValueError())],
        True,
        ([(ValueError, True)], [*TAKEN, ("release",)], 2.9),
    ),
    "hangs": ([(99, "")], True, ([(TimeoutError, True)], [*TAKEN, ("release",)], 3.0)),
    "no slot": ([(2.9, "a")], False, ([(BusyError, False)], TAKEN, 0.3)),
    "two share the free moment": (
        [(0.2, "a"), (0.2, "b")],
        False,
        ([("a", False), (BusyError, False)], TAKEN, 0.3),
    ),
    "two that are slow together": (
        [(0.2, "a"), (0.2, "b")],
        True,
        ([("a", False), ("b", True)], [*TAKEN, ("release",)], 0.4),
    ),
    "all share the time of the pass": (
        [(2.0, "a"), (2.0, "b"), (0.1, "c")],
        True,
        ([("a", True), (BusyError, True), (BusyError, True)], [*TAKEN, ("release",)], 3.0),
    ),
}


@pytest.mark.parametrize(
    ("questions", "is_free", "expected"), WAIT_IN_PASS_CASES.values(), ids=WAIT_IN_PASS_CASES
)
def test_wait_in_pass(questions: t.Any, is_free: bool, expected: t.Any) -> None:
    assert ask(*questions, is_free=is_free) == expected


def test_wait_without_slots() -> None:
    clock = Clock()
    patience = Patience(clock=clock)
    for _number in range(3):
        assert patience.wait(t.cast("t.Any", Question(clock, 2.9)), 3.0) == "answer"
    assert not patience.is_slow


def test_wait_twice_for_one_request(serve: t.Any, answer: t.Any) -> None:
    asked = threading.Event()

    class Prompted(Room):
        def take(self, namespace: str) -> bool:
            asked.set()
            return super().take(namespace)

    def respond(_request: t.Any) -> t.Any:
        asked.wait(30)
        return answer(200, "{}")

    server = serve(respond)
    with Patience("ns", t.cast("Slots", Prompted(is_free=True))) as patience:
        found = fetch(server.url, seconds=30, patience=patience)
    assert (found["status"], found["late"], len(server.requests)) == (200, True, 1)


def test_fetch_abandoned_is_late(serve: t.Any, answer: t.Any) -> None:
    release = threading.Event()

    def respond(_request: t.Any) -> t.Any:
        release.wait(30)
        return answer(200, "{}")

    with Patience("ns", t.cast("Slots", Room(is_free=False))) as patience:
        found = fetch(serve(respond).url, seconds=30, patience=patience)
    release.set()
    assert found == {"status": 0, "body": "", "error": BUSY, "late": True}


WORKER = """
import sys
from pathlib import Path
from ansible_collections.nimops.nim.plugins.module_utils._http.model_server import fetch
from ansible_collections.nimops.nim.plugins.module_utils._http.timeouts import Patience
from ansible_collections.nimops.nim.plugins.module_utils._http.slots import Slots

for line in sys.stdin:
    namespace, url = line.split()
    with Patience(namespace, Slots(Path(sys.argv[1]))) as patience:
        found = fetch(url, 60, patience=patience)
    print(namespace, found["status"], flush=True)
"""


class Workers:
    """The workers of a kind: processes that take the next resource as soon as they are free."""

    def __init__(self, folder: Path, count: int) -> None:
        self._jobs: list[str] = []
        self._lock = threading.Lock()
        self.message: list[str] = []
        self._children = [
            subprocess.Popen(
                [sys.executable, "-c", WORKER, str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            )
            for _number in range(count)
        ]

    def run(self, jobs: t.Iterable[str], count: int, release: threading.Event) -> list[str]:
        """The lines of all processes; ``release`` is set after ``count`` lines."""
        self._jobs, self._count, self._release = list(jobs), count, release
        threads = [threading.Thread(target=self._serve, args=(item,)) for item in self._children]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        return self.message

    def _serve(self, child: t.Any) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    child.stdin.close()
                    child.wait(60)
                    return
                job = self._jobs.pop(0)
            child.stdin.write(f"{job}\n")
            child.stdin.flush()
            line = child.stdout.readline().strip()
            with self._lock:
                self.message.append(line)
                if len(self.message) == self._count:
                    self._release.set()


def test_wait_with_four_hanging_tenants(serve: t.Any, answer: t.Any, tmp_path: Path) -> None:
    """Two of the four are given up and the fifth is answered before the other two are."""
    release = threading.Event()
    folder = tmp_path / "slots"

    def respond(request: t.Any) -> t.Any:
        return answer(200 if request.path == "/e" or release.wait(50) else 500, "{}")

    url = serve(respond).url
    jobs = [f"{tenant} {url}/{tenant}" for tenant in "abcde"]
    message = Workers(folder, 4).run(jobs, 3, release)
    assert sorted(line[2:] for line in message[:3]) == ["0", "0", "200"]
    assert "e 200" in message[:3]
    assert [line[2:] for line in message[3:]] == ["200", "200"]


def test_wait_for_one_request_per_namespace(serve: t.Any, answer: t.Any, tmp_path: Path) -> None:
    release = threading.Event()

    def respond(request: t.Any) -> t.Any:
        return answer(200 if request.path == "/other" or release.wait(50) else 500, "{}")

    url = serve(respond).url
    jobs = [*[f"a {url}/{number}" for number in range(4)], f"b {url}/other"]
    message = Workers(tmp_path / "slots", 4).run(jobs, 4, release)
    assert (sorted(message[:4]), message[4:]) == (["a 0", "a 0", "a 0", "b 200"], ["a 200"])


HOLDER = """
import sys
from pathlib import Path
from ansible_collections.nimops.nim.plugins.module_utils._http.slots import Slots

slots = Slots(Path(sys.argv[1]))
print(slots.take(sys.argv[2]), flush=True)
sys.stdin.read()
"""


def test_wait_slot_freed_by_dead_worker(tmp_path: Path) -> None:
    folder = tmp_path / "slots"
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), "ns"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "True\n"
    assert not Slots(folder).take("ns")
    assert Slots(folder).take("other")
    child.kill()
    child.wait()
    assert Slots(folder).take("ns")


def test_free_seconds_are_short() -> None:
    assert FREE_SECONDS < 0.5
