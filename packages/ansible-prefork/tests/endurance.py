# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Many runs of a small play through one parent: find leaks of memory, processes, descriptors and files."""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from harness import Site, children, make_site, open_files, wait_for

PLAY = """
- hosts: localhost
  gather_facts: false
  tasks:
    - name: In the process of the play
      ansible.builtin.assert:
        that: own | length > 0
    - name: In the warm interpreter of modules
      ansible.builtin.ping:
        data: "{{ own }}"
"""
# Otherwise Ansible finds another interpreter on PATH, and each module is a stock process.
HOSTS = 'localhost ansible_connection=local ansible_python_interpreter="{{ ansible_playbook_python }}"\n'
WARM_RUNS = 100
TOLERANCE = 1.05


@dataclasses.dataclass
class Usage:
    """The memory in MiB and the descriptors of a parent and its module parent."""

    runs: int
    rss: list[float]
    pss: list[float]
    files: list[list[str]]

    def __str__(self) -> str:
        sizes = ", ".join(
            f"{name} {rss:.1f} MiB resident, {pss:.1f} MiB proportional"
            for name, rss, pss in zip(("parent", "module parent"), self.rss, self.pss, strict=True)
        )
        return f"after {self.runs} runs: {sizes}, {sum(map(len, self.files))} descriptors"


def memory(pid: int, name: str) -> float:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
    assert found
    return int(found[1]) / 1024


class Endurance:
    def __init__(self, site: Site, restart_after: int) -> None:
        self.site = site
        self.places = [self._make_place(number) for number in range(4)]
        self.parent = site.parent("--runs", restart_after, program="ansible-runner")
        self.client = str(site.root / "bin" / "ansible-runner")
        self.count = 0

    def _make_place(self, number: int) -> Path:
        place = self.site.root / f"p{number}"
        for name in ("project", "inventory", "env"):
            (place / name).mkdir(parents=True)
        (place / "project" / "play.yml").write_text(PLAY)
        (place / "inventory" / "hosts").write_text(HOSTS)
        return place

    def _run(self, number: int, place: Path) -> None:
        (place / "env" / "extravars").write_text(f'{{"own": "run {number} {"x" * 1000}"}}')
        command = [self.client, "run", str(place), "-p", "play.yml", "-i", str(number), "--quiet"]
        command += ["--rotate-artifacts", "5"]
        done = subprocess.run(
            command,
            check=False,
            env=self.site.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, (number, done.returncode, done.stdout, done.stderr)
        events = place / "artifacts" / str(number) / "job_events"
        texts = [path.read_text() for path in events.glob("*-*.json")]
        assert any(f'"ping": "run {number} xx' in text for text in texts), (number, len(texts))

    def play(self, count: int) -> None:
        """Execute ``count`` runs, four at once, each in its own directory."""
        numbers = iter(range(self.count, self.count + count))
        self.count += count

        def play_in(place: Path) -> None:
            for number in numbers:
                self._run(number, place)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for _done in pool.map(play_in, self.places):
                pass

    def measure(self) -> Usage:
        # The parent has one child that is not a run.
        wait_for(lambda: len(children(self.parent.pid)) == 1)
        # It closes the journal of a run after it reads the exit code.
        wait_for(lambda: not any("prefork-run" in name for name in open_files(self.parent.pid)))
        (module_parent,) = children(self.parent.pid)
        wait_for(lambda: children(module_parent) == {})
        pids = (self.parent.pid, module_parent)
        return Usage(
            self.count,
            [memory(pid, "Rss") for pid in pids],
            # Without file pages, which are shared with other processes of the same Python.
            [memory(pid, "Pss_Anon") for pid in pids],
            [open_files(pid) for pid in pids],
        )


def list_files(site: Site) -> list[str]:
    """Below the private directory; each parent has a directory for payloads with a number of its own."""
    return sorted(re.sub(r"payloads-\d+", "payloads", str(path)) for path in site.directory.rglob("*"))


def endure(site: Site, count: int, restart_after: int, report: object = print) -> list[str]:
    """Execute the runs; the leaks since the first 100 runs."""
    endurance = Endurance(site, restart_after)
    endurance.play(WARM_RUNS)
    first = endurance.measure()
    files = list_files(site)
    report(str(first))
    start = time.monotonic()
    while endurance.count < count:
        endurance.play(min(500, count - endurance.count))
        last = endurance.measure()
        report(f"{last}; {(time.monotonic() - start) / (endurance.count - WARM_RUNS):.3f} s per run, 4 at once")
    problems = []
    for name, before, after in (("resident", first.rss, last.rss), ("proportional", first.pss, last.pss)):
        for which, small, large in zip(("parent", "module parent"), before, after, strict=True):
            if large > small * TOLERANCE:
                problems.append(f"{which}: {name} memory grew from {small:.1f} to {large:.1f} MiB")
    for which, before, after in zip(("parent", "module parent"), first.files, last.files, strict=True):
        old, new = Counter(before), Counter(after)
        if old != new:
            problems.append(f"descriptors of the {which}: gone {dict(old - new)}, new {dict(new - old)}")
    left = [*site.temporary.rglob("*"), *site.home.rglob("ansible-local-*")]
    problems.extend(f"left: {path}" for path in left)
    if list_files(site) != files:
        problems.append(f"files: {files} have become {list_files(site)}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--restart-after", type=int, default=1_000_000, help="default: never, which shows most")
    arguments = parser.parse_args()
    with make_site(fake=False) as site:
        site.environment["PATH"] += f":{Path(sys.executable).parent}"
        problems = endure(site, arguments.count, arguments.restart_after, lambda text: print(text, flush=True))
    print("\n".join(problems) or "nothing stays behind")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
