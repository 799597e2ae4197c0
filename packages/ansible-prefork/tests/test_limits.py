# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Limits of a run: resource limits, time and memory."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness import children, is_running, make_site, wait_for

from ansible_prefork import client, limits

SHOW = """
import resource
names = sorted(name for name in vars(resource) if name.startswith("RLIMIT_"))
print([(name, resource.getrlimit(getattr(resource, name))) for name in names])
"""
MEMORY = {"PREFORK_RUN_MEMORY_MIB": "256"}
TAKE = "data = bytearray(int(__import__('sys').argv[2]) * 1024 * 1024); print(len(data))"
LIMITED = [
    ("RLIMIT_NOFILE", (64, 128)),
    ("RLIMIT_CORE", (0, 0)),
    ("RLIMIT_DATA", (2**29, 2**30)),
    ("RLIMIT_FSIZE", (2**20, 2**20)),
    ("RLIMIT_CPU", (50, 60)),
]


@pytest.mark.parametrize(("name", "limit"), LIMITED)
def test_limits_of_client(site, name, limit):
    parent = site.parent()
    set_up = lambda: resource.setrlimit(getattr(resource, name), limit)  # noqa: E731
    stock = site.answer(SHOW, env={"PREFORK": "off"}, preexec_fn=set_up)
    assert site.answer(SHOW, preexec_fn=set_up) == stock
    assert str(limit) in stock
    assert site.answer(SHOW) == site.answer(SHOW, env={"PREFORK": "off"})
    assert parent.poll() is None


def test_memory_limit_fails_one_run(site):
    parent = site.parent()
    other = site.start("import sys; print('on', flush=True); sys.stdin.read(); sys.exit(7)", stdin=-1, env=MEMORY)
    assert other.stdout.readline() == "on\n"
    done = site.run(TAKE, "2048", env=MEMORY)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "MemoryError")
    assert site.run(TAKE, "100", env=MEMORY).returncode == 0
    # Without the setting there is no limit; 2 GiB without writes take no memory.
    assert site.run("data = __import__('mmap').mmap(-1, 2**31, 2); print(len(data))").stdout == f"{2**31}\n"
    other.communicate("", timeout=20)
    assert other.returncode == 7
    assert parent.poll() is None


def test_memory_limit_of_children(site):
    site.parent()
    code = (
        f"import subprocess, sys; sys.exit(subprocess.call([{sys.executable!r}, '-c', sys.argv[2], '', sys.argv[3]]))"
    )
    assert site.run(code, TAKE, "100", env=MEMORY).returncode == 0
    assert "MemoryError" in site.run(code, TAKE, "300", env=MEMORY).stderr


@pytest.mark.parametrize(
    ("hard", "mib", "expected"),
    [(-1, 0, (-1, -1)), (-1, 100, (100 << 20, 100 << 20)), (50 << 20, 100, (50 << 20, 50 << 20))],
    ids=["none", "set", "a lower one stays"],
)
def test_apply_memory_limit_never_raises(hard, mib, expected):
    code = f"""
import resource
from ansible_prefork import limits
resource.setrlimit(resource.RLIMIT_DATA, ({hard}, {hard}))
limits.apply_memory_limit({mib})
assert resource.getrlimit(resource.RLIMIT_DATA) == {expected}
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_apply_impossible_limit():
    before = limits.read(os.getpid())
    assert before
    limits.apply(dict.fromkeys(before, (5, 3)))
    assert limits.read(os.getpid()) == before


@pytest.mark.parametrize("ignored", ["", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);"])
def test_time_limit_ends_all_processes(site, ignored):
    parent = site.parent()
    code = (
        f"{ignored}import subprocess, time; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); p.wait()"
    )
    other = site.start("import time; print('on', flush=True); time.sleep(2); import sys; sys.exit(7)")
    begin = time.monotonic()
    done = site.run(code, env={"PREFORK_RUN_SECONDS": "1"})
    assert done.returncode == client.TIMED_OUT
    assert done.stderr == "prefork: the run took longer than PREFORK_RUN_SECONDS=1: ended it\n"
    assert time.monotonic() - begin < 1 + bool(ignored) * client.GRACE_SECONDS + 10
    wait_for(lambda: not is_running(int(done.stdout)))
    assert other.wait(timeout=20) == 7
    wait_for(lambda: children(parent.pid) == {})


def test_time_limit_not_reached(site):
    site.parent()
    env = {"PREFORK_RUN_SECONDS": "60"}
    assert site.run("import time, sys; time.sleep(0.2); sys.exit(7)", env=env).returncode == 7
    assert site.run("import os; os.kill(os.getpid(), 15)", env=env).returncode == -signal.SIGTERM


@pytest.mark.parametrize("name", ["PREFORK_RUN_SECONDS", "PREFORK_RUN_MEMORY_MIB"])
@pytest.mark.parametrize("value", ["1.5", "-1", "x"])
def test_limit_invalid_number(site, name, value):
    done = site.run("pass", env={name: value})
    assert (done.returncode, done.stderr) == (2, f"prefork: {name} is not a whole number: correct or unset it\n")


PLAY = """
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.file: {path: "{{ playbook_dir }}/begun", state: touch}
    - %s
    - ansible.builtin.file: {path: "{{ playbook_dir }}/ended", state: touch}
"""
HOSTS = 'localhost ansible_connection=local ansible_python_interpreter="{{ ansible_playbook_python }}"\n'
OWN_MODULE = """
import json
data = bytearray(2 * 1024 ** 3)
print(json.dumps({"changed": False}))
"""


@pytest.fixture(scope="module")
def real():
    with make_site(fake=False) as site:
        site.client = str(site.root / "bin" / "ansible-runner")
        site.environment["PATH"] = f"{site.root}/bin:{os.path.dirname(sys.executable)}:/usr/bin:/bin"
        site.environment["ANSIBLE_PIPELINING"] = "true"
        site.parent(program="ansible-runner")
        yield site


def play(site, name, task, env, **options):
    place = site.root / name
    for directory in ("project/library", "inventory"):
        (place / directory).mkdir(parents=True)
    (place / "inventory" / "hosts").write_text(HOSTS)
    (place / "project" / "library" / "take.py").write_text(OWN_MODULE)
    (place / "project" / "play.yml").write_text(PLAY % task)
    done = site.run("run", place, "-p", "play.yml", env=env, **options)
    return place / "project", done


def test_limits_in_play(real):
    set_up = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (555, 666))  # noqa: E731
    shown = "{{ lookup('ansible.builtin.pipe', 'echo $(ulimit -Sn) $(ulimit -Hn)') }}"
    task = f'ansible.builtin.shell: "echo {shown} $(ulimit -Sn) $(ulimit -Hn) >{{{{ playbook_dir }}}}/limits"'
    project, done = play(real, "limits", task, {}, preexec_fn=set_up)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (project / "limits").read_text() == "555 666 555 666\n"


@pytest.mark.parametrize(
    ("name", "task"),
    [("template", """ansible.builtin.debug: {msg: "{{ ('x' * 2147483648) | length }}"}"""), ("module", "take: {}")],
)
def test_memory_limit_in_task(real, name, task):
    project, done = play(real, name, task, {"PREFORK_RUN_MEMORY_MIB": "512"})
    assert done.returncode == 2, done.stdout + done.stderr
    assert "failed=1" in done.stdout
    assert (project / "begun").exists()
    assert not (project / "ended").exists()
    project, done = play(real, f"{name}-next", "ansible.builtin.ping: {}", {"PREFORK_RUN_MEMORY_MIB": "512"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert (project / "ended").exists()


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("regex", """ansible.builtin.debug: {msg: "{{ ('a' * 60) | regex_search('(a+)+b') }}"}"""),
        ("command", "ansible.builtin.command: sleep 61"),
    ],
)
def test_time_limit_in_task(real, name, task):
    begin = time.monotonic()
    watched = concurrent.futures.ThreadPoolExecutor(1).submit(wait_for, lambda: working_in(real.root / name))
    project, done = play(real, name, task, {"PREFORK_RUN_SECONDS": "5"})
    assert watched.result()
    assert done.returncode == client.TIMED_OUT, done.stdout + done.stderr
    assert "prefork: the run took longer than PREFORK_RUN_SECONDS=5: ended it\n" in done.stderr
    assert time.monotonic() - begin < 30
    assert (project / "begun").exists()
    assert not (project / "ended").exists()
    # Nothing of the run is left: neither the play nor what it has started.
    wait_for(lambda: not working_in(project))


def working_in(directory: Path) -> list[str]:
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{entry}/cwd").startswith(str(directory)):
                found.append(entry)
    return found
