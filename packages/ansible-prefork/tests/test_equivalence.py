# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The same plays by the stock programs and by forks of a parent have the same effects, output and leftovers.

Known differences, each covered below:

- without a standard input, Ansible fails; a run of a parent has an empty one (test_play_closed_input);
- an interrupted or killed stock run leaves its module running; a run of a parent ends it (test_play_interrupted). The end of a
  play also ends a module that exceeded its task's time limit, which continues until then, as in stock;
- a plugin ends its process with 0 without Python's exit: stock waits forever, a run of a parent fails
  (test_play_process_exits_early);
- since ansible-core 2.21, the traceback of an exception that ended a worker is shown; here it lacks a frame (ends_of_worker);
- before ansible-core 2.19, the result of a time-out names the interrupted frame, which is one of prefork (normalize.py);
- the run that starts a parent, and those that a parent refuses, report this on stderr, once (normalize.py).
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
import signal
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from comparison import PLAYBOOK, RUNNER, Outcome, Run, Side, wait_for
from normalize import describe, without_order

from ansible_prefork.client import LOST

BOTH = (PLAYBOOK, RUNNER)
CORE = tuple(map(int, version("ansible-core").split(".")[:2]))
Sides = tuple[Side, Side]


@dataclasses.dataclass(frozen=True)
class Case:
    """Runs of one play, one after the other in the same directory."""

    name: str
    play: str
    runs: tuple[Run, ...] = (Run(),)
    unordered: bool = False


def replace(name: str, old: str, new: str) -> Callable[[Path], object]:
    return lambda project: (project / name).write_text((project / name).read_text().replace(old, new))


def next_version(project: Path) -> None:
    for path in project.rglob("own*.py"):
        path.write_text(path.read_text().replace("version 1", "version 2"))


def add_group_vars(project: Path) -> None:
    for directory in (project, project.parent / "inventory"):
        (directory / "group_vars").mkdir()
        (directory / "group_vars" / "all.yml").write_text("of_group: of the group\n")


WORD = {"CASE_WORD": "wörd of the run"}
CASES = (
    Case(
        "control",
        "control",
        (
            Run(
                env=WORD,
                expect=("Grüße, 世界 🚀", "fact is wörd of the run", "number 2 of Grüße"),
                refuse=("s3cret-word",),
            ),
            Run(("-v", "play.yml"), expect=("fact is none",), refuse=("s3cret-word",)),
        ),
    ),
    Case("very verbose", "control", (Run(("-vvv", "play.yml"), env=WORD, refuse=("s3cret-word",)),)),
    Case(
        "modules",
        "modules",
        (
            Run(env=WORD, expect=("wörd of the run of the täsk",)),
            Run(("--check", "--diff", "play.yml"), expect=("wörd of the run",)),
        ),
    ),
    Case("diff", "modules", (Run(("--check", "--diff", "play.yml"), expect=("+another line",)),)),
    Case("failure", "failure", (Run(code=2, runner_code=2, expect=("it's a fäilure",)),)),
    Case("crash", "crash", (Run(code=2, runner_code=2, expect=("räised",)),)),
    Case("big output", "big", (Run(expect=("ü" * 1000,)),)),
    Case("unreachable", "unreachable", (Run(code=4, runner_code=4, expect=("refused by 127",)),)),
    Case("several hosts", "hosts", (Run(code=2, runner_code=2),), unordered=True),
    Case(
        "vault",
        "vault",
        (
            Run(("--vault-password-file", "password", "play.yml"), expect=("TASK [Printed]",)),
            Run(code=None, refuse=("Unsealed",)),
            Run(("--vault-id", "x@wrong", "play.yml"), code=None, refuse=("Unsealed",)),
        ),
    ),
    Case(
        "own plugins",
        "plugins",
        (
            Run(expect=("module version 1, version 1", "action version 1")),
            Run(before=next_version, expect=("module version 2, version 2", "action version 2"), refuse=("version 1",)),
        ),
    ),
    Case("state", "state", (Run(expect=("asked again",)), Run())),
    Case("changed variables", "changed", (Run(), Run())),
    Case("actions", "actions", (Run(env=WORD), Run(("-vv", "play.yml"), env=WORD))),
    Case("warnings", "warnings", (Run(), Run())),
    Case(
        "variables",
        "vars",
        (
            Run(("-e", "given=one", "-e", '{"other": "two"}', "-vv", "play.yml"), expect=("one, two",)),
            Run(expect=("no given, no other, no group, 0",)),
            Run(("-e", "@extra.yml", "--tags", "one", "play.yml"), expect=("from a file ü",)),
            Run(before=add_group_vars, expect=("no given, no other, of the group",)),
            Run(("--skip-tags", "one", "--check", "play.yml"), refuse=("Which were there",)),
        ),
    ),
    Case("configured", "config", (Run(env=WORD), Run(env=WORD))),
    *([Case("requests of actions", "requests", (Run(),))] if CORE >= (2, 21) else []),
)
ENDS = (
    ("action", "exit-0"),
    ("action", "exit-text"),
    ("action", "interrupt"),
    ("action", "os-exit-3"),
    ("lookup", "exit-none"),
    ("lookup", "exit-3"),
    ("filter", "exit-0"),
    ("filter", "generator"),
    ("filter", "kill-9"),
    ("lookup", "exit-0"),
    ("test", "exit-0"),
    ("test", "exit-3"),
    ("item", "exit-0"),
)
CASES += tuple(
    Case(f"{where} {how}", "ends", (Run(("-e", f"where={where} how={how}", "play.yml"), code=1, refuse=("later",)),))
    for where, how in ENDS
)
# Code that also runs in the process of the play in stock.
ENDS_OF_PLAY = ("start-0", "start-3", "ok-0", "ok-3", "vars-0", "vars-3")
CASES += tuple(
    Case(f"end of {how}", "ends", (Run(("-e", "where=none how=none", "play.yml"), code=None, env={"OWN_END": how}),))
    for how in ENDS_OF_PLAY
)


PLAY_CASES = (
    Case("version", "empty", (Run(("--version",), expect=("executable location",)),)),
    Case("help", "empty", (Run(("--help",), expect=("usage: ansible-playbook",)),)),
    Case("no arguments", "empty", (Run((), code=2),)),
    Case("unknown option", "empty", (Run(("--nonsense", "play.yml"), code=2),)),
    Case("missing playbook", "empty", (Run(("missing.yml",), code=1),)),
    Case("broken playbook", "empty", (Run(("syntax.yml",), code=4),)),
    Case("unknown module", "empty", (Run(("unknown.yml",), code=4),)),
    Case("no hosts matched", "empty", (Run(("nohosts.yml",), expect=("no hosts matched",)),)),
    Case("broken variables", "empty", (Run(("-e", "{broken", "play.yml"), code=None),)),
    Case("syntax check", "empty", (Run(("--syntax-check", "play.yml")),)),
    Case("list of tasks", "empty", (Run(("--list-tasks", "--list-tags", "play.yml"), expect=("[one]",)),)),
    Case("start at a task", "empty", (Run(("--start-at-task", "Two", "play.yml"), refuse=("[One]",)),)),
    Case("other limits", "empty", (Run(("--limit", "nobody", "play.yml"), code=1),)),
    Case(
        "callback json, unbuffered",
        "empty",
        (Run(env={"ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json", "PYTHONUNBUFFERED": "1"}, expect=('"plays": [',)),),
    ),
    Case("broken setting", "empty", (Run(env={"ANSIBLE_FORKS": "many"}, code=None),)),
    Case("broken locale", "empty", (Run(env={"LC_ALL": "nowhere"}, code=None),)),
    Case("colours", "empty", (Run(env={"ANSIBLE_NOCOLOR": "<unset>", "ANSIBLE_FORCE_COLOR": "1"}, expect=("\x1b[",)),)),
    Case("log", "empty", (Run(env={"ANSIBLE_LOG_PATH": "run.log"}), Run(env={"ANSIBLE_LOG_PATH": "run.log"}))),
)


IN_CI = {
    *("control", "failure", "own plugins", "actions", "variables"),
    *("action exit-0", "filter kill-9", "lookup exit-3", "end of start-0", "end of vars-3"),
}
"""Cases without the mark `nightly`: what operators do, and each way in which a play can end."""

TERMINAL = Case("terminal", "terminal", (Run(env={"ANSIBLE_CALLBACKS_ENABLED": "beside"}),))


def split_cases(cases: Iterable[Case]) -> list[Any]:
    """The cases, with the mark `nightly` on those that are not in IN_CI."""
    return [pytest.param(case, id=case.name, marks=() if case.name in IN_CI else pytest.mark.nightly) for case in cases]


def run_both(sides: Sides, do: Callable[[Side], Outcome]) -> tuple[Outcome, Outcome]:
    with ThreadPoolExecutor(2) as pool:
        stock, forks = pool.map(do, sides)
    return stock, forks


def compare(stock: Outcome, forks: Outcome, unordered: bool = False) -> None:
    """Fail with all differences."""
    differences = []
    for field in dataclasses.fields(Outcome):
        if field.name == "refusals":
            continue
        one, two = getattr(stock, field.name), getattr(forks, field.name)
        if unordered:
            one, two = reorder(field.name, one), reorder(field.name, two)
        if one != two:
            lines = difflib.unified_diff(describe(one), describe(two), "stock", "forks", lineterm="", n=4)
            differences.append(f"{field.name}:\n" + "\n".join(line[:1000] for line in lines)[:9000])
    assert not differences, "\n\n".join(differences)


def ends_of_worker(outcome: Outcome) -> Any:
    """The comparable part of an outcome with a traceback: everything except its first frame and line counts."""
    text = outcome.stdout + outcome.stderr
    frame = r'  File "[^"]*worker.py", line \d+, in run\r?\n +return self._run\(\)\r?\n( +[~^]+\r?\n)?'
    return outcome.code, re.sub(frame, "", text).split(), [event["event"] for event in outcome.events]


def reorder(name: str, value: Any) -> Any:
    if name in ("stdout", "stderr", "events", "posts"):
        return without_order(value)
    return {key: item for key, item in value.items() if "stdout" not in key} if name == "files" else value


@pytest.mark.parametrize("program", BOTH)
@pytest.mark.parametrize("case", split_cases(CASES))
def test_play_as_stock(sides: Sides, case: Case, program: str) -> None:
    play_case(sides, case, program)


@pytest.mark.parametrize("case", split_cases(PLAY_CASES))
def test_playbook_as_stock(sides: Sides, case: Case) -> None:
    play_case(sides, case, PLAYBOOK)


def test_terminal_output(sides: Sides) -> None:
    """Output of a play to its terminal that bypasses Ansible."""
    forks = play_case(sides, TERMINAL, RUNNER)
    texts = [event["stdout"] for event in forks.events]
    for text in ("by descriptor 2", "by a child", "by the terminal", "by a thread", "at the end of the process"):
        assert text in texts


def play_case(sides: Sides, case: Case, program: str) -> Outcome:
    name = re.sub(r"\W+", "-", case.name)
    projects = {side.name: side.prepare(name, case.play, program) for side in sides}
    for number, run in enumerate(case.runs):
        stock, forks = run_both(
            sides, lambda side, run=run, number=number: side.play(program, projects[side.name], run, number)
        )
        if program == RUNNER and case.name == "actions" and CORE < (2, 19):
            # Workers write to the terminal concurrently with the results, so order and events vary.
            assert (stock.code, stock.files["project/seen"]) == (forks.code, forks.files["project/seen"])
        elif case.play == "ends" and CORE >= (2, 21):
            assert ends_of_worker(stock) == ends_of_worker(forks)
        else:
            compare(stock, forks, case.unordered)
        # Runs of a parent that refuses are stock, and would compare as equal.
        assert set(forks.refusals) <= {"Ansible does not run in this environment"}
        check(run, forks, run.code if program == PLAYBOOK else run.runner_code or run.code)
    return forks


def check(run: Run, outcome: Outcome, code: int | None) -> None:
    assert code in (outcome.code, None), outcome.stdout + outcome.stderr
    for text in run.expect:
        assert text in outcome.stdout, outcome.stdout
    for text in run.refuse:
        assert text not in outcome.stdout


def piped_input(side: Side, project: Path) -> dict[str, Any]:
    read, write = os.pipe()
    os.write(write, "wörd\nof stdin\n".encode())
    os.close(write)
    return {"stdin": open(read)}


def umask(side: Side, project: Path) -> dict[str, Any]:
    return {"umask": 0o027}


def substituted(side: Side, project: Path) -> dict[str, Any]:
    """A process substitution of a shell, <(…): the client has the pipe at 63."""
    read, write = os.pipe()
    os.write(write, b"by a pipe")
    os.close(write)
    os.dup2(read, 63)
    os.close(read)
    return {"pass_fds": (63,)}


@pytest.mark.parametrize(
    ("options", "args", "expected"),
    [
        (piped_input, (), "-rw-r--r-- by default  not given\n"),
        (umask, (), "-rw-r----- by default  not given\n"),
        (substituted, (), "-rw-r--r-- by default  by a pipe\n"),
    ],
    ids=["piped input", "umask", "another file"],
)
def test_play_files_and_umask(sides: Sides, options: Any, args: tuple[str, ...], expected: str) -> None:
    run = Run((*args, "play.yml"))
    outcomes = []
    for side in sides:
        project = side.prepare(options.__name__, "stdin", PLAYBOOK)
        outcomes.append(side.play(PLAYBOOK, project, run, 0, **options(side, project)))
    compare(*outcomes)
    assert outcomes[1].code == 0, outcomes[1].stderr
    assert outcomes[1].files["project/asked"] == expected


def test_play_closed_input(sides: Sides) -> None:
    """Stock Ansible fails without a standard input; a run of a parent has an empty one."""
    forks = sides[1]
    project = forks.prepare("closed-input", "stdin", PLAYBOOK)
    outcome = forks.play(PLAYBOOK, project, Run(), 0, stdin=None, preexec_fn=lambda: os.close(0))
    assert outcome.code == 0, outcome.stderr
    assert outcome.files["project/asked"] == "-rw-r--r-- by default  not given\n"


@pytest.mark.parametrize("program", BOTH)
def test_play_process_exits_early(sides: Sides, program: str) -> None:
    """A play whose process exits early with 0 has failed."""
    forks = sides[1]
    project = forks.prepare("ended", "ends", program)
    run = Run(("-e", "where=none how=none", "play.yml"), env={"OWN_END": "for-good"})
    outcome = forks.play(program, project, run, 0)
    assert outcome.code == LOST, outcome.stdout + outcome.stderr
    assert "before" in outcome.stdout
    assert "later" not in outcome.stdout


@pytest.mark.parametrize("program", BOTH)
def test_worker_exits_early(sides: Sides, program: str) -> None:
    """Stock would wait forever for a worker that exits with 0 before its task ends; here it counts as dead."""
    forks = sides[1]
    project = forks.prepare("ended-worker", "ends", program)
    outcome = forks.play(program, project, Run(("-e", "where=filter how=for-good", "play.yml")), 0)
    assert outcome.code == 1, outcome.stdout + outcome.stderr
    output = outcome.stdout + outcome.stderr + " ".join(event["stdout"] for event in outcome.events)
    assert "A worker was found in a dead state" in " ".join(output.split())
    assert "later" not in outcome.stdout


def test_play_output_closed(sides: Sides) -> None:
    def play(side: Side) -> Outcome:
        project = side.prepare("closed-early", "stdin", PLAYBOOK)
        process = side.start(PLAYBOOK, project, Run(), 0)
        process.stdout.read(10)
        process.stdout.close()
        stderr = process.stderr.read()
        process.wait()
        outcome = side.collect(project, 0, process.returncode, b"", stderr)
        # The progress of a play until it writes to the closed output is random, also in stock.
        outcome.files.pop("project/made", None)
        return outcome

    compare(*run_both(sides, play))


INTERRUPTIONS = [
    pytest.param(program, where, number, to_group, marks=() if number == signal.SIGTERM else pytest.mark.nightly)
    for program in BOTH
    for where in ("module", "action")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # As with Ctrl-C in a terminal; the other signals are sent only to the client.
    for to_group in ((False, True) if program == PLAYBOOK and number == signal.SIGINT else (False,))
]


@pytest.mark.parametrize(("program", "where", "number", "to_group"), INTERRUPTIONS)
def test_play_interrupted(sides: Sides, program: str, where: str, number: signal.Signals, to_group: bool) -> None:
    def play(side: Side) -> Outcome:
        project = side.prepare(f"interrupted-{where}-{number.name}-{to_group}", "wait", program)
        run = Run(("-e", f"how={where}", "play.yml"))
        side.warm(program)
        process = side.start(program, project, run, 0, start_new_session=True)
        assert wait_for((project / "started").exists, 60)
        time.sleep(0.2)
        (os.killpg if to_group else os.kill)(process.pid, number)
        try:
            process.wait(timeout=40)
        finally:
            process.kill()
        wait_for(lambda: not side.left_processes())
        left = side.left_processes()
        # Processes that stock leaves behind have the pipes open.
        side.kill_left()
        stdout, stderr = process.communicate(timeout=10)
        outcome = side.collect(project, 0, process.returncode, stdout, stderr)
        outcome.left_processes = left
        assert not (project / "ended").exists()
        return outcome

    stock, forks = run_both(sides, play)
    assert not forks.left_processes
    # An interrupted stock run leaves processes and temporary files.
    stock.left_processes, stock.left_files, forks.left_files = [], [], []
    for outcome in (stock, forks):
        outcome.files = {name: item for name, item in outcome.files.items() if "remote/" not in name}
    compare(stock, forks)
    assert forks.code
