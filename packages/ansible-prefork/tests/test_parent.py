# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The parent: serving, renewal, end, and leftovers."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from harness import children, is_running, make_site, open_files, wait_for

from ansible_prefork import client, inotify, parent
from ansible_prefork import watch as watching
from ansible_prefork.journal import Journal
from ansible_prefork.watch import Watch, file_state

PARENT = "import os; print(os.getppid())"
SLEEP = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
GENERATION = "import os; print(os.getppid(), program.text)"


def wait_until_gone(pid: int) -> None:
    wait_for(lambda: not is_running(pid))


def connections(site) -> int:
    """The sockets under the site's directory: the listener, and one for each client that has connected."""
    return Path("/proc/net/unix").read_text().count(f" {site.directory}/")


def test_parent_concurrent_runs(site):
    site.parent()
    # Each run waits for all four.
    code = f"""
import os, sys, time
place = {str(site.temporary)!r}
open(os.path.join(place, sys.argv[2]), "w").close()
while len(os.listdir(place)) < 4:
    time.sleep(0.01)
"""
    started = [site.start(code, str(number)) for number in range(4)]
    assert [process.wait(timeout=30) for process in started] == [0, 0, 0, 0]


def test_parent_fifty_runs(site):
    parent = site.parent()
    code = "import os, sys; print(os.getppid(), sys.argv[2], os.environ['OWN'], os.getcwd())"
    places = [site.root / f"w{number}" for number in range(50)]
    for place in places:
        place.mkdir()
    started = [
        site.start(code, str(number), env={"OWN": f"own {number}"}, cwd=place) for number, place in enumerate(places)
    ]
    answers = [process.communicate(timeout=60)[0] for process in started]
    assert answers == [f"{parent.pid} {number} own {number} {place}\n" for number, place in enumerate(places)]
    wait_for(lambda: children(parent.pid) == {})


def test_parent_isolates_runs(site):
    site.parent()
    code = """
import os, signal, sys, tempfile
seen = [os.environ.get("SPOILED"), os.getcwd(), os.umask(0o777), signal.getsignal(signal.SIGTERM) is signal.SIG_DFL,
        "spoiled" in sys.modules, hasattr(program, "spoiled"), tempfile.gettempdir(), sys.argv[2:]]
os.environ["SPOILED"] = "x"
os.chdir("/")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.modules["spoiled"] = sys
program.spoiled = True
tempfile.tempdir = "/"
print(seen)
"""
    first = site.answer(code)
    assert site.answer(code) == first
    assert "None" in first


@pytest.mark.parametrize("runs", [1, 3])
def test_parent_renews_after_runs(site, runs):
    parent = site.parent("--runs", runs, env={"PREFORK_FAKE_WARM": "import os; program.text = os.urandom(4).hex()"})
    env = {"PREFORK_FAKE_WARM": "x"}
    answers = [site.answer(GENERATION, env=env).split() for _ in range(runs * 4)]
    assert {int(pid) for pid, _generation in answers} == {parent.pid}
    generations = [generation for _pid, generation in answers]
    assert len(set(generations)) == 4
    assert generations == sorted(generations, key=generations.index)


def test_parent_renewal_keeps_runs(site):
    parent = site.parent("--runs", 2, env={"PREFORK_FAKE_WARM": "import time; time.sleep(0.5)"})
    slow = site.start("import sys, time; print('on', flush=True); time.sleep(4); print('end'); sys.exit(7)")
    assert slow.stdout.readline() == "on\n"
    # 30 runs at once, 2 for each life of the parent: most of them wait while it is warming up.
    started = [site.start("import sys; print(sys.argv[2]); sys.exit(int(sys.argv[2]))", str(n)) for n in range(30)]
    ends = [(process.communicate(timeout=90)[0], process.returncode) for process in started]
    assert ends == [(f"{number}\n", number) for number in range(30)]
    out, err = slow.communicate(timeout=60)
    assert (out, err, slow.returncode) == ("end\n", "", 7)
    assert parent.poll() is None
    wait_for(lambda: children(parent.pid) == {})


def test_parent_renewal_signals(site):
    parent = site.parent("--runs", 3)
    first, second = site.start(SLEEP), site.start(SLEEP)
    pids = [int(process.stdout.readline()) for process in (first, second)]
    site.answer("pass")
    site.answer("pass")
    assert set(pids) <= set(children(parent.pid))
    first.terminate()
    assert first.wait(timeout=20) == -signal.SIGTERM
    second.kill()
    second.wait()
    for pid in pids:
        wait_until_gone(pid)


def test_parent_renews_before_run(site):
    watched = site.root / "watched"
    watched.write_text("0")
    env = {"PREFORK_FAKE_WATCH": str(watched)}
    parent = site.parent(env=env)
    for number in range(1, 6):
        watched.write_text(str(number))
        assert site.answer(GENERATION) == f"{parent.pid} {number}"


def test_parent_change_during_warm_up(site):
    watched = site.root / "watched"
    watched.write_text("old")
    change = f"""
from pathlib import Path
from types import SimpleNamespace
file, mark = Path({str(watched)!r}), Path({str(site.root / "mark")!r})
read = Path.read_text
def read_then_change(self, *arguments, **named):
    text = read(self, *arguments, **named)
    if self == file and not mark.exists():
        mark.touch()
        file.write_text("new")
    return text
Path.read_text = read_then_change
"""
    site.parent(env={"PREFORK_FAKE_WATCH": str(watched), "PREFORK_FAKE_WARM": change})
    assert site.answer(GENERATION).split()[1] == "new"


def test_parent_idle_renewal(site):
    watched = site.root / "watched"
    watched.write_text("old")
    mark = site.root / "warm"
    code = f"open({str(mark)!r}, 'a').write('x')"
    site.parent("--idle", 3, env={"PREFORK_FAKE_WATCH": str(watched), "PREFORK_FAKE_WARM": code})
    site.answer("pass")
    watched.write_text("new")
    time.sleep(2.2)
    site.start("pass").wait()
    wait_for(lambda: mark.read_text() == "xx")


def test_parent_renewal_fails(site):
    mark = site.root / "mark"
    warm = (
        f"import os\nif os.path.exists({str(mark)!r}): raise RuntimeError('spoiled')\nopen({str(mark)!r}, 'w').close()"
    )
    parent = site.parent("--runs", 1, env={"PREFORK_FAKE_WARM": warm})
    slow = site.start("import sys, time; print('on', flush=True); time.sleep(1.5); sys.exit(7)")
    assert slow.stdout.readline() == "on\n"
    done = site.run(PARENT)
    assert (done.returncode, done.stdout) == (0, f"{os.getpid()}\n")
    assert "the warm-up failed: spoiled: running stock" in done.stderr
    assert slow.wait(timeout=20) == 7
    assert parent.wait(timeout=20) == 3


def test_parent_two_directories(site):
    with make_site() as other:
        one, two = site.parent(), other.parent()
        assert int(site.answer(PARENT)) == one.pid
        assert int(other.answer(PARENT)) == two.pid
        one.terminate()
        one.wait(timeout=20)
        assert int(other.answer(PARENT)) == two.pid


def test_parent_second_ends(site):
    first = site.parent()
    second = site.parent(wait=False)
    assert second.wait(timeout=20) == 0
    assert site.log() == ""
    assert int(site.answer(PARENT)) == first.pid


def test_parent_successor(site):
    first = site.parent()
    stubborn = site.start(
        "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "print(os.getpid(), flush=True); time.sleep(2)"
    )
    pid = int(stubborn.stdout.readline())
    first.terminate()
    wait_for(lambda: not site.sockets())
    assert is_running(pid)
    done = site.run(PARENT)
    assert done.returncode == 0
    assert int(done.stdout) not in (first.pid, os.getpid())
    assert first.wait(timeout=20) == 0
    assert stubborn.wait(timeout=20) == 0


def test_parent_ends_with_waiting_client(site):
    # The parent is stopped while a client connects, so that it finds the client and its end at once.
    parent = site.parent()
    site.answer("pass")
    os.kill(parent.pid, signal.SIGSTOP)
    before = connections(site)
    waiting = site.start(PARENT)
    wait_for(lambda: connections(site) > before)
    os.kill(parent.pid, signal.SIGTERM)
    os.kill(parent.pid, signal.SIGCONT)
    out, err = waiting.communicate(timeout=20)
    assert (waiting.returncode, out) == (0, f"{os.getpid()}\n")
    assert "the run with it" not in err
    assert parent.wait(timeout=20) == 0


def test_parent_killed(site):
    parent = site.parent()
    started = [site.start(SLEEP) for _ in range(3)]
    pids = [int(process.stdout.readline()) for process in started]
    parent.kill()
    parent.wait()
    for process in started:
        _out, err = process.communicate(timeout=20)
        assert process.returncode == client.LOST
        assert err.startswith("prefork: the parent of this run ended, and the run with it: ")
    for pid in pids:
        wait_until_gone(pid)
    done = site.run(PARENT)
    assert done.returncode == 0
    assert int(done.stdout) != parent.pid


def test_parent_killed_run(site):
    parent = site.parent()
    victim, other = site.start(SLEEP), site.start(SLEEP)
    pids = [int(process.stdout.readline()) for process in (victim, other)]
    os.kill(pids[0], signal.SIGKILL)
    assert victim.wait(timeout=20) == -signal.SIGKILL
    assert is_running(pids[1])
    assert int(site.answer(PARENT)) == parent.pid


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=str)
def test_parent_terminated(site, number):
    parent = site.parent()
    process = site.start(SLEEP)
    pid = int(process.stdout.readline())
    parent.send_signal(number)
    assert parent.wait(timeout=20) == 0
    assert process.wait(timeout=20) == -signal.SIGTERM
    wait_until_gone(pid)
    assert {path.suffix for path in site.directory.iterdir()} <= {".lock", ".log", ".said"}


def test_parent_follow(site):
    followed = subprocess.Popen(["sleep", "60"])
    try:
        parent = site.parent("--follow", followed.pid)
        assert int(site.answer(PARENT)) == parent.pid
    finally:
        followed.kill()
        followed.wait()
    assert parent.wait(timeout=20) == 0
    assert not site.directory.exists()


def test_parent_follow_gone_process(site):
    gone = subprocess.Popen(["true"])
    gone.wait()
    parent = site.parent("--follow", gone.pid, wait=False)
    assert parent.wait(timeout=20) == 0
    assert site.sockets() == []


def test_exec_clients_and_parent(site):
    code = "import os; print(os.getppid(), os.environ['PREFORK_DIR'])"
    environment = {**site.environment, "PATH": f"{site.root / 'stock'}:/usr/bin:/bin"}
    # The program whose parent starts at once is ansible-runner.
    (site.root / "stock" / "ansible-runner").symlink_to(site.root / "stock" / "ansible-playbook")
    script = 'ansible-runner "$1" && ansible-runner "$1" && ansible-playbook "$1" && command -v ansible-runner'
    done = subprocess.run(
        [sys.executable, "-m", "ansible_prefork", "exec", "--", "bash", "-c", script, "bash", code],
        check=False,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0
    first, second, third, path = done.stdout.splitlines()
    assert first == second
    pid, directory = first.split()
    assert third.split()[1] == directory
    assert third.split()[0] != pid
    assert path == f"{directory}/bin/ansible-runner"
    for number in (pid, third.split()[0]):
        wait_until_gone(int(number))
    wait_for(lambda: not Path(directory).exists())


def test_exec_off(site):
    script = "echo $$; command -v ansible-playbook"
    process = subprocess.Popen(
        [sys.executable, "-m", "ansible_prefork", "exec", "--", "bash", "-c", script],
        env={**site.environment, "PREFORK": "off", "PATH": f"{site.root / 'stock'}:/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        text=True,
    )
    out, _err = process.communicate(timeout=30)
    assert out.splitlines() == [str(process.pid), str(site.root / "stock" / "ansible-playbook")]


@pytest.mark.parametrize(("idle", "code"), [(1, None), (0.3, 4)], ids=["no run", "a run"])
def test_parent_idle_ends(site, idle, code):
    parent = site.parent("--idle", idle)
    started = time.monotonic()
    if code:
        assert site.run(f"import time, sys; time.sleep(1.5); sys.exit({code})").returncode == code
    assert parent.wait(timeout=20) == 0
    assert time.monotonic() - started < 10
    assert site.sockets() == []


def test_parent_socket_mode(site):
    site.parent()
    (path,) = site.sockets()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_ISSOCK(path.stat().st_mode)
    assert {stat.S_IMODE(item.stat().st_mode) & 0o077 for item in site.directory.iterdir()} <= {0, 0o044}
    assert stat.S_IMODE(site.directory.stat().st_mode) == 0o700


def test_parent_directory_mode(site):
    site.directory.rmdir()
    assert site.run(PARENT).returncode == 0
    assert stat.S_IMODE(site.directory.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "nonsense",
    [b"", b"x", b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 8, b"\x04" + b"\0" * 7 + b"no!!", b"\x02" + b"\0" * 7 + b"N"],
    ids=["nothing", "a byte", "http", "huge", "no marshal", "too short"],
)
def test_parent_invalid_request(site, nonsense):
    parent = site.parent()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(site.sockets()[0]))
        connection.sendall(nonsense)
        connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            while connection.recv(100):
                pass
    assert int(site.answer(PARENT)) == parent.pid
    wait_for(lambda: children(parent.pid) == {})


def test_parent_no_leaks(site):
    parent = site.parent("--runs", 20)
    site.answer("pass")
    before = open_files(parent.pid)
    files = sorted(site.directory.rglob("*"))
    codes = ["pass", "import sys; sys.exit(1)", "import os; os.kill(os.getpid(), 9)", "raise ValueError"]
    # Also what runs have open, and children that outlive them.
    codes.append("open('/dev/null'); import subprocess; subprocess.Popen(['true'])")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: site.run(codes[number % len(codes)]).returncode, range(60)))
    impatient = site.start(SLEEP)
    impatient.stdout.readline()
    impatient.kill()
    impatient.wait()
    wait_for(lambda: children(parent.pid) == {})
    assert open_files(parent.pid) == before
    assert sorted(site.directory.rglob("*")) == files
    assert list(site.temporary.iterdir()) == []


@pytest.fixture
def tree(tmp_path):
    for name in ("a/b/c.py", "a/d.py", "e"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    time.sleep(0.03)
    return tmp_path


def edit(path: Path) -> None:
    before = path.stat()
    path.write_text("other")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))


def swap(path: Path) -> None:
    """Another file with the same size and time, as a link that is moved in its place."""
    before = path.stat()
    fresh = path.with_name("fresh")
    fresh.write_text(path.read_text())
    os.utime(fresh, ns=(before.st_atime_ns, before.st_mtime_ns))
    fresh.replace(path)


@pytest.fixture(params=["inotify", "scans"])
def how(request, monkeypatch):
    """How a watch detects changes: by inotify, or by scans because the files may be changed elsewhere."""
    if request.param == "scans":
        monkeypatch.setattr(inotify, "LOCAL", frozenset())
    return request.param


@pytest.mark.usefixtures("how")
@pytest.mark.parametrize(
    ("change", "counts"),
    [
        (lambda tree: None, False),
        (lambda tree: (tree / "link").write_text("longer"), True),
        (lambda tree: ((tree / "a").rename(tree / "old"), (tree / "old" / "b").rename(tree / "a")), True),
        (lambda tree: edit(tree / "a/d.py"), True),
        (lambda tree: edit(tree / "a/b/c.py"), True),
        (lambda tree: edit(tree / "e"), True),
        (lambda tree: swap(tree / "a/d.py"), True),
        (lambda tree: (tree / "a/b/c.py").unlink(), True),
        (lambda tree: (tree / "a/b/new.py").write_text(""), True),
        (lambda tree: (tree / "e").unlink(), True),
        (lambda tree: (tree / "later").write_text(""), True),
        (lambda tree: (tree / "a/new").mkdir(), False),
        (lambda tree: ((tree / "a/__pycache__").mkdir(), (tree / "a/__pycache__/d.pyc").write_text("")), False),
        (lambda tree: ((tree / "a/tests").mkdir(), (tree / "a/tests/t.py").write_text("")), False),
        (lambda tree: (tree / "unwatched").write_text(""), False),
        (lambda tree: (tree / "a/d.py").read_text(), False),
    ],
)
def test_watch_changes(tree, change, counts):
    (tree / "link").write_text("far")
    (tree / "a/link").symlink_to(tree / "link")
    time.sleep(0.03)
    watch = Watch([tree / "a", tree / "e", tree / "later"], time.time_ns())
    assert not watch.has_changed()
    assert not watch.has_changed()
    change(tree)
    assert watch.has_changed() is counts
    assert watch.has_changed() is counts


@pytest.mark.usefixtures("how")
def test_watch_new_directory(tree):
    watch = Watch([tree / "a"], time.time_ns())
    assert not watch.has_changed()
    (tree / "a/new").mkdir()
    assert not watch.has_changed()
    assert not watch.has_changed()
    (tree / "a/new/f.py").write_text("")
    assert watch.has_changed()


def test_watch_since(tree):
    since = time.time_ns()
    edit(tree / "a/d.py")
    assert Watch([tree / "a"], since).has_changed()
    assert not Watch([tree / "a" / "b"], since).has_changed()


def test_watch_scans_after_notification(tree, how, monkeypatch):
    files = [tree / "a" / f"{number}.py" for number in range(50)]
    for path in files:
        path.write_text("")
    time.sleep(0.03)
    checked = []
    monkeypatch.setattr(watching, "file_state", lambda path: checked.append(path) or file_state(path))
    watch = Watch([tree / "a"], time.time_ns())
    watch.has_changed()
    checked.clear()
    assert not watch.has_changed()
    assert len(checked) < 5 if how == "inotify" else len(checked) > 50
    files[7].touch()
    assert watch.has_changed()
    if how == "inotify":
        time.sleep(0.03)
        watch = Watch([tree / "a"], time.time_ns())
        assert not watch.has_changed()
        monkeypatch.setattr(watching, "RESCAN_SECONDS", 0.0)
        checked.clear()
        assert not watch.has_changed()
        assert len(checked) > 50


def test_watch_without_inotify(tree, monkeypatch):
    def fail(self):
        raise OSError(24, "inotify")

    monkeypatch.setattr(inotify.Inotify, "__init__", fail)
    watch = Watch([tree / "a"], time.time_ns())
    assert not watch.has_changed()
    edit(tree / "a/d.py")
    assert watch.has_changed()


def test_replace_drops_answered_journals(tmp_path, monkeypatch):
    """A run is answered before its process ends; a successor would never close its journal."""
    program = SimpleNamespace(name="ansible-runner", helper=None)
    renewed = parent.Parent(program, tmp_path, maximum=1, idle=1, follow=None)
    given = []

    def refuse(_program, _arguments, environment):
        given.append(environment[parent.STATE_VARIABLE.encode()].decode())
        raise OSError("no memory")

    monkeypatch.setattr(os, "execve", refuse)
    monkeypatch.setattr(renewed, "_mark_warming", lambda: None)
    with contextlib.ExitStack() as stack:
        going, answered, renewed.listener = (stack.enter_context(socket.socket()) for _ in range(3))
        answered.close()
        renewed.lock = renewed.listener.fileno()
        renewed.runs = {1: going, 2: answered}
        renewed.journals = {pid: Journal.make() for pid in renewed.runs}
        for journal in renewed.journals.values():
            stack.callback(journal.close)
        renewed._replace()
        state = parent.HandoverState.load(given[0])
        assert (list(state.runs), list(state.journals)) == ([1], [1])
