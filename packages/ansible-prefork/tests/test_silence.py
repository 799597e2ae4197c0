# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Parents that are stopped, stuck or out of resources: no run waits for one, and none runs twice."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from harness import age, children, is_running, make_site, wait_for

from ansible_prefork import client, modules

PARENT = "import os; print(os.getppid())"
# The tolerance for a busy machine.
SLACK_SECONDS = 10
MESSAGE = "prefork: the parent is silent: stopped, stuck or overloaded: running stock\n"


@pytest.fixture
def stopped(site):
    """A stopped parent, which continues at the end."""
    parent = site.parent()
    site.answer("pass")
    os.kill(parent.pid, signal.SIGSTOP)
    yield parent
    parent.poll()
    if parent.returncode is None:
        os.kill(parent.pid, signal.SIGCONT)


def refusals(site) -> list[Path]:
    return list(site.directory.glob("*.stock"))


@pytest.mark.parametrize("size", [1, 1_000_000], ids=["small", "more than the socket holds"])
def test_stopped_parent_runs_stock(site, stopped, size):
    mark = site.root / "runs"
    code = f"import os; open({str(mark)!r}, 'a').write('x'); print(os.getppid())"
    env = {f"SIZE{number}": "x" * (size // 10) for number in range(10)}
    begin = time.monotonic()
    first = site.run(code, env=env)
    assert client.ANSWER_SECONDS < time.monotonic() - begin < client.ANSWER_SECONDS + SLACK_SECONDS
    assert (first.returncode, first.stdout, first.stderr) == (0, f"{os.getpid()}\n", MESSAGE)
    begin = time.monotonic()
    second = site.run(code, env=env)
    assert time.monotonic() - begin < client.ANSWER_SECONDS
    assert (second.stdout, second.stderr) == (f"{os.getpid()}\n", "")
    # It finds a client that disconnected, runs nothing for it, and removes its record.
    os.kill(stopped.pid, signal.SIGCONT)
    wait_for(lambda: not refusals(site))
    assert int(site.answer(code)) == stopped.pid
    wait_for(lambda: children(stopped.pid) == {})
    assert mark.read_text() == "xxx"


def test_stopped_parent_reported_again(site, stopped):
    for _ in range(2):
        os.kill(stopped.pid, signal.SIGSTOP)
        assert site.run("pass").stderr == MESSAGE
        os.kill(stopped.pid, signal.SIGCONT)
        wait_for(lambda: not refusals(site))


def test_stopped_parent_killed(site, stopped):
    site.run("pass")
    age(refusals(site)[0], client.STOCK_SECONDS + 1)
    assert int(site.run(PARENT).stdout) == os.getpid()
    assert stopped.wait(timeout=5) == -signal.SIGKILL
    assert refusals(site) == []
    pid = int(site.run(PARENT).stdout)
    assert pid not in (stopped.pid, os.getpid())
    assert int(site.answer(PARENT)) == pid


def test_stopped_parent_running_run(site):
    parent = site.parent()
    started = site.start("import sys, time; print('on', flush=True); time.sleep(1); print('end'); sys.exit(7)")
    killed = site.start("import os, time; print('on', flush=True); time.sleep(1); os.kill(os.getpid(), 9)")
    assert [process.stdout.readline() for process in (started, killed)] == ["on\n"] * 2
    os.kill(parent.pid, signal.SIGSTOP)
    try:
        out, err = started.communicate(timeout=2 * client.ANSWER_SECONDS)
        assert (started.returncode, out, err) == (7, "end\n", "")
        assert killed.wait(timeout=2 * client.ANSWER_SECONDS) == -signal.SIGKILL
    finally:
        os.kill(parent.pid, signal.SIGCONT)


def test_stopped_parent_signal_to_client(site, stopped):
    mark = site.root / "mark"
    process = site.start(f"open({str(mark)!r}, 'w')")
    time.sleep(0.5)
    process.terminate()
    assert process.wait(timeout=10) == -signal.SIGTERM
    assert not mark.exists()


def test_slow_warm_up(site):
    done = site.run(PARENT, env={"PREFORK_FAKE_WARM": f"import time; time.sleep({client.ANSWER_SECONDS + 2})"})
    assert done.returncode == 0
    assert int(done.stdout) in site.processes()
    assert list(site.directory.glob("*.warm")) == []


def test_slow_renewal(site):
    mark = site.root / "mark"
    code = f"import os, time\nif os.path.exists({str(mark)!r}): time.sleep({client.ANSWER_SECONDS + 2})"
    parent = site.parent("--runs", 1, env={"PREFORK_FAKE_WARM": code})
    mark.touch()
    assert [int(site.answer(PARENT)) for _ in range(2)] == [parent.pid] * 2


BUSY = f"""
import time
from ansible_prefork import parent
accept = parent.Parent._accept
def work(self):
    parent.Parent._accept = accept
    end = time.monotonic() + {client.ANSWER_SECONDS + 2}
    while time.monotonic() < end:
        pass
    accept(self)
parent.Parent._accept = work
"""


def test_busy_parent(site):
    parent = site.parent(env={"PREFORK_FAKE_WARM": BUSY})
    assert int(site.answer(PARENT)) == parent.pid
    assert not refusals(site)


def test_stuck_warm_up(site, monkeypatch):
    parent = site.parent(env={"PREFORK_FAKE_WARM": "import time; time.sleep(60)"})
    (mark,) = wait_for(lambda: list(site.directory.glob("*.warm")))
    age(mark, client.PARENT_WAIT_SECONDS + 1)
    assert site.run(PARENT).stdout == f"{os.getpid()}\n"
    assert is_running(parent.pid)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=str)
def test_stopped_parent_ends(site, stopped, number):
    process = site.start(PARENT)
    time.sleep(0.5)
    os.kill(stopped.pid, number)
    os.kill(stopped.pid, signal.SIGCONT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, f"{os.getpid()}\n")
    assert err.endswith(": running stock\n")


def test_incomplete_request(site):
    parent = site.parent()
    environment = {os.fsencode(key): os.fsencode(value) for key, value in site.environment.items()}
    for end in (0, 8, -1, None):
        mark = site.root / f"mark{end}"
        connection = client.connect(os.fsencode(site.sockets()[0]))
        assert client.receive(connection, 1) == b"P"
        client.receive(connection, 4)
        request = ([b"ansible-playbook", b"open('%s', 'w')" % os.fsencode(mark)], environment, b"/", [], 0o022, [])
        body = client.marshal.dumps([client.PROTOCOL, *request])
        connection.sendall((len(body).to_bytes(8, "little") + body)[:end])
        if end is not None:
            connection.close()
            wait_for(lambda: children(parent.pid) == {})
        else:
            assert client.follow(connection, 0, b"") == 0
        assert mark.exists() is (end is None)
    assert site.log() == ""


FAILS_ONCE = """
import errno, os
from ansible_prefork import process
stock = {stock}
def fail(*arguments):
    {stock_name} = stock
    raise OSError(errno.{error}, os.strerror(errno.{error}))
{stock_name} = fail
"""


@pytest.mark.parametrize("stock", ["os.fork", "process.ExitReport"])
@pytest.mark.parametrize("error", ["EAGAIN", "ENOMEM"])
def test_fork_failure(site, stock, error):
    parent = site.parent(env={"PREFORK_FAKE_WARM": FAILS_ONCE.format(stock=stock, stock_name=stock, error=error)})
    slow = None
    done = site.run(PARENT)
    assert (done.returncode, done.stdout) == (0, f"{os.getpid()}\n")
    assert done.stderr.startswith("prefork: the parent cannot fork: ")
    slow = site.start("import sys, time; print('on', flush=True); sys.exit(7)")
    assert int(site.answer(PARENT)) == parent.pid
    assert slow.wait(timeout=20) == 7
    wait_for(lambda: children(parent.pid) == {})


def test_no_free_descriptors(site):
    parent = site.parent()
    slow = site.start("import sys; print('on', flush=True); sys.stdin.read(); sys.exit(7)", stdin=-1)
    assert slow.stdout.readline() == "on\n"
    limits = resource.prlimit(parent.pid, resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir(f"/proc/{parent.pid}/fd"))
    resource.prlimit(parent.pid, resource.RLIMIT_NOFILE, (highest + 1, limits[1]))
    before = ticks(parent.pid)
    for _ in range(3):
        assert site.run(PARENT).stdout == f"{os.getpid()}\n"
    time.sleep(1)
    assert ticks(parent.pid) - before < 0.3 * os.sysconf("SC_CLK_TCK")
    resource.prlimit(parent.pid, resource.RLIMIT_NOFILE, limits)
    assert int(site.answer(PARENT)) == parent.pid
    slow.communicate("", timeout=20)
    assert slow.returncode == 7


def ticks(pid: int) -> int:
    """The CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_renewal_without_memory(site):
    watched = site.root / "watched"
    watched.write_text("old")
    code = FAILS_ONCE.format(stock="os.execve", stock_name="os.execve", error="ENOMEM")
    parent = site.parent(env={"PREFORK_FAKE_WARM": code, "PREFORK_FAKE_WATCH": str(watched)})
    site.answer("pass")
    watched.write_text("new")
    done = site.run("print(__import__('os').getppid(), 'stock')")
    assert done.stdout == f"{os.getpid()} stock\n"
    assert done.stderr == "prefork: the parent cannot renew itself: running stock\n"
    assert parent.poll() is None


PAYLOAD = b"""_ANSIBALLZ_WRAPPER = True
import os
with open(os.environ["MARK"], "a") as file:
    file.write("x")
print(os.getppid())
"""


def test_stopped_module_parent(monkeypatch):
    with make_site(fake=False) as site:
        monkeypatch.setenv("MARK", str(site.root / "mark"))
        parent = site.parent(program="module")
        (path,) = site.sockets()
        command = f"/bin/sh -c '{modules.sys.executable} && sleep 0'"

        def run() -> int:
            options = dict.fromkeys(("stdin", "stdout", "stderr"), modules.subprocess.PIPE)
            popen = modules._Subprocess(os.fsencode(path.with_suffix(""))).Popen(command, shell=True, **options)
            out, err = popen.communicate(PAYLOAD)
            assert (popen.returncode, err) == (0, b"")
            return int(out)

        assert run() == parent.pid
        os.kill(parent.pid, signal.SIGSTOP)
        begin = time.monotonic()
        assert run() != parent.pid
        assert client.ANSWER_SECONDS < time.monotonic() - begin < client.ANSWER_SECONDS + SLACK_SECONDS
        assert run() != parent.pid
        assert time.monotonic() - begin < 2 * client.ANSWER_SECONDS
        os.kill(parent.pid, signal.SIGCONT)
        wait_for(lambda: not refusals(site))
        assert run() == parent.pid
        assert (site.root / "mark").read_text() == "xxxx"


@pytest.mark.parametrize("is_renewing", [True, False])
def test_ended_run_of_renewing_parent(site, is_renewing):
    key = client.environment_key({os.fsencode(k): os.fsencode(v) for k, v in site.environment.items()}, b"/")
    base = site.directory / f"ansible-playbook-{key}"
    run = subprocess.Popen(["/bin/sh", "-c", "exit 3"])
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{base}.sock")
        listener.listen()
        process = site.start("pass")
        connection, _address = listener.accept()
        connection.sendall(b"P" + run.pid.to_bytes(4, "little"))
        if is_renewing:
            Path(f"{base}.warm").touch()
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(client.ANSWER_SECONDS + 2)
            connection.sendall(b"X" + (7 << 8).to_bytes(4, "little"))
        assert process.wait(client.ANSWER_SECONDS + 5) == (7 if is_renewing else 3)
        # The connection still has the unread descriptors of the client.
        connection.close()
        process.communicate()
    run.wait()
