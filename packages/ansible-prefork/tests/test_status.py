# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Each reason for a fallback is logged once and counted, and `status` reports it."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys

import pytest
from comparison import RUNNER, Run
from harness import make_site, wait_for
from test_inprocess import write_settings

from ansible_prefork import client


def status(*arguments, env, code=0):
    command = [sys.executable, "-m", "ansible_prefork", "status", *arguments]
    done = subprocess.run(command, check=False, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def read(site, code=0):
    (found,) = json.loads(status("--json", env=site.environment, code=code).stdout)
    return found


def fallbacks(found):
    return {(item["what"], item["why"]): item["count"] for item in found["fallbacks"]}


def test_status_parent(site):
    parent = site.parent()
    for _ in range(3):
        site.answer("pass")
    (found,) = read(site)["parents"]
    assert (found["pid"], found["state"], found["runs"], found["program"]) == (
        parent.pid,
        "warm",
        3,
        "ansible-playbook",
    )
    assert found["key"] == site.sockets()[0].stem.removeprefix("ansible-playbook-")
    assert found["versions"]["python"].startswith(f"{sys.version_info[0]}.{sys.version_info[1]}.")
    assert found["memory_mib"] > 1
    shown = status(env=site.environment)
    assert f"process {parent.pid}, " in shown.stdout
    assert ", 3 runs, since " in shown.stdout
    assert shown.stderr == ""


def test_status_counts_across_renewal(site):
    site.parent("--runs", 2)
    for _ in range(5):
        site.answer("pass")
    wait_for(lambda: read(site)["parents"][0]["runs"] == 5)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=str)
def test_status_ended_parent(site, number):
    parent = site.parent()
    site.answer("pass")
    parent.send_signal(number)
    parent.wait()
    assert status(env=site.environment, code=1).stderr == "prefork: no parent of runs is warm\n"
    if number == signal.SIGKILL:
        (found,) = read(site, code=1)["parents"]
        assert (found["state"], found["memory_mib"]) == ("gone", None)
    else:
        assert status(env=site.environment, code=1).stdout == ""


def test_status_wrong_usage(site):
    assert "usage" in status("--nonsense", env=site.environment, code=2).stderr


def test_note_fallback_counts(site, tmp_path):
    with (tmp_path / "log").open("w") as log:
        operator = subprocess.Popen(["sleep", "60"], stderr=log)
    env = {"PREFORK_FOLLOW": str(operator.pid)}
    try:
        (base,) = {path.with_suffix("") for path in [site.parent() and site.sockets()[0]]}
        for reason, times in (("one reason", 3), ("another", 2)):
            base.with_suffix(".stock").write_text(reason)
            for _ in range(times):
                assert site.run("pass", "secret-argument", env={**env, "SECRET": "secret-value"}).returncode == 0
        base.with_suffix(".stock").unlink()
    finally:
        operator.kill()
        operator.wait()
    what = "run of ansible-playbook"
    assert fallbacks(read(site)) == {(what, "one reason"): 3, (what, "another"): 2}
    expected = [f"prefork: a {what} is not warm: {reason}\n" for reason in ("one reason", "another")]
    assert (tmp_path / "log").read_text() == "".join(expected)
    kept = [path for path in site.directory.rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if b"secret" in path.read_bytes()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in site.directory.glob("*.fell")} == {0o600}


def test_note_fallback_parent_log(tmp_path):
    directory = os.fsencode(tmp_path)
    tmp_path.chmod(0o700)
    for _ in range(2):
        client.note_fallback(directory, "play", "why", {b"PREFORK_FOLLOW": b"../1"})
    assert not (tmp_path / "parent.log").exists()
    (tmp_path / "parent.log").touch()
    client.note_fallback(directory, "play", "why not", {})
    assert (tmp_path / "parent.log").read_text() == "prefork: a play is not warm: why not\n"


def test_note_fallback_bounded(tmp_path, monkeypatch):
    directory = os.fsencode(tmp_path)
    tmp_path.chmod(0o700)
    for number in range(2 * client.MAXIMUM_REASONS):
        client.note_fallback(directory, "play", f"reason {number}", {})
    assert len(list(tmp_path.glob("*.fell"))) == client.MAXIMUM_REASONS
    monkeypatch.setattr(client, "MAXIMUM_COUNT", 100)
    for _ in range(200):
        client.note_fallback(directory, "play", "reason 0", {})
    client.note_fallback(directory, "play", "x" * 10_000, {})
    assert max(path.stat().st_size for path in tmp_path.iterdir()) <= 100


@pytest.fixture(scope="module")
def other():
    """A site whose directory other users can read."""
    with make_site() as made:
        made.directory.chmod(0o755)
        yield made


def test_status_public_directory(other):
    assert json.loads(status("--json", env=other.environment, code=1).stdout) == []


CASES = (
    ("config", {"before": lambda project: (project / "ansible.cfg").write_text("[defaults]\n")}, "play", "ansible.cfg"),
    ("variable", {"envvars": {"ANSIBLE_FORKS": "3"}}, "play", "other values of ANSIBLE_FORKS"),
    ("timeout", {"before": write_settings(job_timeout=60)}, "play", "the setting job_timeout"),
    (
        "interpreter",
        {"args": ("-e", "ansible_python_interpreter=/usr/bin/python3", "play.yml")},
        "module",
        "another interpr",
    ),
    ("pipelining", {"args": ("-e", "ansible_pipelining=false", "play.yml")}, "module", "not pipelined"),
)


@pytest.mark.parametrize(("name", "changes", "what", "why"), CASES, ids=[case[0] for case in CASES])
def test_status_fallbacks_of_runs(sides, name, changes, what, why):
    forks = sides[1]
    forks.warm(RUNNER)
    project = forks.prepare(f"cold-{name}", "empty", RUNNER)
    (project / "play.yml").write_text("- hosts: all\n  gather_facts: false\n  tasks: [{ansible.builtin.ping: {}}]\n")
    count = lambda: sum(  # noqa: E731
        number
        for (kind, text), number in fallbacks(json.loads(status("--json", env=forks.environment).stdout)[0]).items()
        if kind == what and why in text
    )
    before = count()
    for ident in range(2):
        outcome = forks.play(RUNNER, project, Run(**changes), ident)
        assert outcome.code == 0, outcome.stdout + outcome.stderr
        assert "is not warm" not in outcome.stdout + outcome.stderr
    assert count() == before + 2
    # What another parent displayed during its warm-up does not end with a line break.
    (line,) = re.findall(f"prefork: .*{re.escape(why)}.*", (forks.directory / "parent.log").read_text())
    assert line.startswith(f"prefork: a {what} is not warm: ")
