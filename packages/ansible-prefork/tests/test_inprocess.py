# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The play in the process of ansible-runner: when this applies, and the end of the run if the process ends too early.

test_equivalence compares the effects and output of such a play with stock.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
from comparison import RUNNER, Run, has_lock, make_sides

from ansible_prefork import inprocess
from ansible_prefork.journal import Journal, Notes

APART = {"PREFORK_ONE_PROCESS": "off"}
PLAY = ("play.yml",)


def end_by(how: str, **env: str) -> Run:
    """A run whose worker, or play process, ends as ``how`` says."""
    if how == "noted":
        return Run(("-e", f"where=action how={how}", *PLAY), env=env)
    return Run(("-e", "where=none how=none", *PLAY), env={**env, "OWN_END": how})


def is_one_process(side, name: str, **changes) -> bool:
    """Whether the play's parent process is the parent of prefork."""
    project = side.prepare(name, "ends", RUNNER)
    outcome = side.play(RUNNER, project, dataclasses.replace(end_by("noted"), **changes), 0)
    assert outcome.code == 0, outcome.stdout + outcome.stderr
    return has_lock(int((project / "parent").read_text()))


def write_settings(**more):
    def write(project: Path) -> None:
        path = project.parent / "env" / "settings"
        path.write_text(json.dumps({**json.loads(path.read_text()), **more}))

    return write


def write_passwords(project: Path) -> None:
    (project.parent / "env" / "passwords").write_text(json.dumps({"^Password:$": "none"}))


def test_inprocess_one_process(sides):
    assert is_one_process(sides[1], "together")


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("switch", {"env": APART}),
        ("idle", {"before": write_settings(idle_timeout=60)}),
        ("job", {"before": write_settings(job_timeout=60)}),
        ("passwords", {"before": write_passwords}),
        ("plugin", {"envvars": {"RUNNER_HTTP_URL": "/nowhere"}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_inprocess_separate_process(sides, name, changes):
    assert not is_one_process(sides[1], f"apart-{name}", **changes)


ENDS = ("for-good", "for-good3", f"kill-{signal.SIGKILL:d}", f"kill-{signal.SIGSEGV:d}")


@pytest.mark.parametrize("how", ENDS)
def test_finish_as_two_processes(sides, how):
    forks, outcomes = sides[1], []
    for name, env in (("one", {}), ("two", APART)):
        project = forks.prepare(f"lost-{name}-{how}", "ends", RUNNER)
        outcomes.append(forks.play(RUNNER, project, end_by(how, **env), 0))
    one, two = (
        json.loads(json.dumps(dataclasses.asdict(item)).replace(f"lost-{name}", "lost"))
        for name, item in zip(("one", "two"), outcomes, strict=True)
    )
    assert one.pop("files").keys() == two.pop("files").keys()
    assert one == two
    assert "before" in one["stdout"]
    files = [item.files[f"artifacts/0/{name}"] for item in outcomes for name in ("rc", "status", "stdout")]
    assert files[:3] == files[3:]
    assert files[1].endswith("failed")
    assert one["posts"][-1]["status"] == "failed"


def test_finish_after_renewal(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("PREFORK_RUNS", "1")
    # The address of a socket of ansible-core is in it.
    _stock, forks = made = make_sides(tmp_path_factory.mktemp("s"))
    forks.environment["PREFORK_RUNS"] = "1"
    try:
        forks.warm(RUNNER)
        for number, (how, code, status) in enumerate((("for-good3", 3, "failed"), ("noted", 0, "successful"))):
            project = forks.prepare(f"renewed-{number}", "ends", RUNNER)
            outcome = forks.play(RUNNER, project, end_by(how), 0)
            assert outcome.code == code, outcome.stdout + outcome.stderr
            assert outcome.files["artifacts/0/status"] == f"-rw------- {status}"
    finally:
        for side in made:
            side.close()


def test_journal_is_open():
    journal, notes = Journal.make(), Notes("/a", "1", {"runner_http_url": "/b"})
    assert not journal.begin(notes), "it is not open in this process"
    journal.open()
    assert not journal.is_open()
    assert journal.begin(notes)
    assert (journal.is_open(), journal.read()) == (True, notes)
    journal.end()
    assert not journal.is_open()
    assert not journal.begin(Notes("/a", "1", {"long": "x" * 100_000}))
    assert not journal.is_open()
    journal.close()
    assert not journal.is_open()


@pytest.mark.parametrize(
    ("status", "rc", "text", "code"),
    [
        (3 << 8, "3", "failed", 3),
        (0, "70", "failed", 70),
        (signal.SIGKILL, "None", "failed", 0),
        (signal.SIGTERM, "254", "canceled", 254),
        (signal.SIGINT, "254", "canceled", 254),
    ],
)
def test_finish_artifacts(tmp_path, monkeypatch, status, rc, text, code):
    seen = []
    plugin = SimpleNamespace(status_handler=lambda config, data: seen.append((config.settings, data)))
    monkeypatch.setattr("ansible_runner.plugins", {"http": plugin})
    assert inprocess.finish(Notes(str(tmp_path), "7", {"a": 1}), status) == code
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"rc": rc, "status": text}
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    assert seen == [({"a": 1}, {"status": text, "runner_ident": "7"})]


def play_control(sides, name, *runner_args, **env):
    forks = sides[1]
    project = forks.prepare(name, "control", RUNNER)
    return forks.play(RUNNER, project, Run(env={"CASE_WORD": "x", **env}, runner_args=runner_args), 0)


def test_event_files_off(sides):
    one, two = play_control(sides, "files-with"), play_control(sides, "files-none", PREFORK_EVENT_FILES="off")
    assert one.events
    assert two.events == []
    assert [post.get("event") for post in one.posts] == [post.get("event") for post in two.posts]
    texts = [str(post.get("stdout")).replace("files-none", "files-with") for post in two.posts]
    assert [str(post.get("stdout")) for post in one.posts] == texts
    assert "Gr" in two.stdout
    assert os.listdir(sides[1].root / "files-none" / RUNNER / "artifacts" / "0" / "job_events") == []


def test_status_events_off(sides):
    one, two = play_control(sides, "status-with"), play_control(sides, "status-none", PREFORK_STATUS_EVENTS="off")
    assert [post["status"] for post in one.posts if "status" in post] == ["starting", "running", "successful"]
    assert [post.get("event") for post in two.posts] == [post["event"] for post in one.posts if "event" in post]
    assert two.files["artifacts/0/status"] == "-rw------- successful"


@pytest.mark.parametrize(("more", "is_sent"), [((), False), (("-v",), True)])
def test_unread_events(sides, more, is_sent):
    unread = "playbook_on_start runner_on_start"
    outcome = play_control(sides, f"unread-{len(more)}", *more, PREFORK_UNREAD_EVENTS=unread)
    sent = [post["event"] for post in outcome.posts if "event" in post]
    assert ("playbook_on_start" in sent, "runner_on_start" in sent) == (is_sent, is_sent)
    assert "playbook_on_play_start" in sent
    assert "playbook_on_start" in [event["event"] for event in outcome.events], "the artifacts have all of them"
