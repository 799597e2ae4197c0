# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The client: what it passes to its run and back, and what it does without a parent."""

from __future__ import annotations

import concurrent.futures
import json
import os
import select
import signal
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness import age, is_running, wait_for

from ansible_prefork import client

# The state of a process that a program can observe.
STATE = """
import json, os, sys
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
files = {}
for name in os.listdir("/proc/self/fd"):
    try:
        files[name] = [os.readlink("/proc/self/fd/" + name), os.get_inheritable(int(name))]
    except OSError:
        pass
umask = os.umask(0)
json.dump({
    "argv": [os.fsencode(item).hex() for item in sys.argv[2:]],
    "argv0": sys.argv[0].rpartition("/")[2],
    "environment": {name.hex(): value.hex() for name, value in os.environb.items()},
    "directory": os.getcwdb().hex(),
    "umask": umask,
    "files": files,
    "signals": {name: status[name] for name in ("SigBlk", "SigIgn", "SigCgt")},
    "streams": [[stream.encoding, stream.errors, stream.line_buffering, stream.mode, stream.name]
                for stream in (sys.stdin, sys.stdout, sys.stderr)],
}, sys.stdout)
"""
PARENT = "import os; print(os.getppid())"


def ignore(*numbers: int):
    def set_up() -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)

    return set_up


def observe(site, *arguments, **options) -> dict:
    done = site.run(STATE, *arguments, **options)
    assert (done.returncode, done.stderr or "") == (0, "")
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        pytest.param([], {}, id="plain"),
        pytest.param(["", " ", "a b", "'", '"', "\n", "-e", "@x"], {}, id="words"),
        pytest.param([b"\xff\xfe", "ü", b"\xc3\x28", "\U0001f600"], {}, id="bytes that are not text"),
        pytest.param(["x" * 100_000], {}, id="long argument"),
        pytest.param([str(number) for number in range(2000)], {}, id="many arguments"),
        pytest.param([], {"env": {"A": "", "B": "=", "C": "\n"}}, id="environment"),
        pytest.param([], {"env": {os.fsdecode(b"N\xff"): os.fsdecode(b"\xfe")}}, id="environment that is not text"),
        pytest.param([], {"env": {f"N{number}": "v" * 1000 for number in range(500)}}, id="large environment"),
        pytest.param([], {"cwd": "/"}, id="directory"),
        pytest.param([], {"umask": 0o000}, id="umask 000"),
        pytest.param([], {"umask": 0o077}, id="umask 077"),
        pytest.param([], {"preexec_fn": ignore(signal.SIGHUP)}, id="nohup"),
        pytest.param([], {"preexec_fn": ignore(signal.SIGINT, signal.SIGQUIT)}, id="background of a shell"),
        pytest.param([], {"preexec_fn": ignore(signal.SIGTERM)}, id="SIGTERM ignored"),
        pytest.param([], {"preexec_fn": ignore(signal.SIGUSR1, signal.SIGALRM)}, id="others ignored"),
        pytest.param([], {"stderr": subprocess.STDOUT}, id="one stream for both"),
        pytest.param([], {"env": {"PYTHONIOENCODING": "latin-1:replace"}}, id="encoding"),
        pytest.param([], {"env": {"PYTHONUNBUFFERED": "1"}}, id="unbuffered"),
    ],
)
def test_client_passes_process_state(site, arguments, options):
    stock = observe(site, *arguments, **{**options, "env": {"PREFORK": "off", **options.get("env", {})}})
    parent = site.parent(env=options.get("env"))
    env = {"PREFORK": "on", **options.get("env", {})}
    seen = observe(site, *arguments, **{**options, "env": env})
    assert int(site.answer(PARENT, env=options.get("env", {}), cwd=options.get("cwd"))) == parent.pid
    for found in (stock, seen):
        del found["environment"][b"PREFORK".hex()]
        # The number of a pipe, which differs from one Popen to the next.
        found["files"] = {name: [kind.partition(":")[0], flag] for name, (kind, flag) in found["files"].items()}
    assert seen == stock


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_client_closed_streams(site, closed):
    site.parent()
    mark = site.root / "mark"
    code = f"open({str(mark)!r}, 'w').write('done')"
    set_up = lambda: [os.close(number) for number in closed]  # noqa: E731
    assert site.run(code, preexec_fn=set_up).returncode == 0
    assert mark.read_text() == "done"


def run_script(site, script, *arguments, **options):
    command = ["bash", "-c", script, *arguments]
    return subprocess.run(
        command, check=False, env=site.environment, capture_output=True, text=True, timeout=60, **options
    )


def test_client_descriptor_numbers(site):
    parent = site.parent()
    code = "import os, sys; print(os.getppid(), *(open(name).read().strip() for name in sys.argv[2:]))"
    script = f'{site.client} "$1" <(echo one) <(echo two) 7</dev/null'
    done = run_script(site, script, "bash", code)
    assert (done.stdout, done.stderr) == (f"{parent.pid} one two\n", "")


def test_client_writable_descriptor(site):
    site.parent()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        number = theirs.fileno()
        code = f"import os; os.write({number}, b'from the run')"
        site.answer(code, pass_fds=[number])
        assert ours.recv(100) == b"from the run"


def test_client_too_many_descriptors(site):
    site.parent()
    with open(os.devnull) as null:
        numbers = [os.dup(null.fileno()) for _ in range(260)]
    try:
        code = f"import os; print(len([os.fstat(number) for number in {numbers}]))"
        assert site.run(code, pass_fds=numbers).stdout == "260\n"
    finally:
        for number in numbers:
            os.close(number)


def test_client_stdin(site):
    site.parent()
    process = site.start("import sys; print(sys.stdin.read().upper())", stdin=subprocess.PIPE)
    assert process.communicate("text " * 50_000, timeout=30)[0] == "TEXT " * 50_000 + "\n"


def test_client_exit_codes(site):
    site.parent()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        codes = pool.map(
            lambda code: site.run("import sys; sys.exit(int(sys.argv[2]))", str(code)).returncode, range(256)
        )
        assert list(codes) == list(range(256))


@pytest.mark.parametrize(
    ("code", "end", "err"),
    [
        ("import sys; sys.exit(256)", 0, ""),
        ("import sys; sys.exit(-1)", 255, ""),
        ("import sys; sys.exit('why')", 1, "why\n"),
        ("import sys; sys.exit(None)", 0, ""),
        ("raise ValueError('why')", 1, "ValueError: why\n"),
        ("import os; os._exit(7)", 7, ""),
        ("raise KeyboardInterrupt", -signal.SIGINT, "KeyboardInterrupt\n"),
        ("import atexit; atexit.register(print, 'last'); print('first')", 0, ""),
    ],
)
def test_client_exit_as_stock(site, code, end, err):
    site.parent()
    done = site.run(code)
    stock = site.run(code, env={"PREFORK": "off"})
    assert done.returncode == stock.returncode == end
    assert done.stdout == stock.stdout
    assert done.stderr.endswith(err)
    assert stock.stderr.endswith(err)


@pytest.mark.parametrize("name", ["TERM", "KILL", "INT", "HUP", "QUIT", "ABRT", "SEGV", "PIPE", "USR1", "ALRM"])
def test_client_death_by_signal(site, name):
    site.parent()
    number = signal.Signals[f"SIG{name}"]
    code = f"import os, signal; signal.signal({number}, signal.SIG_DFL); os.kill(os.getpid(), {number})"
    code = code if name != "KILL" else f"import os; os.kill(os.getpid(), {number})"
    assert site.run(code).returncode == -number


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "ALRM", "WINCH", "CONT"])
def test_client_forwards_signal(site, name):
    site.parent()
    code = f"""
import os, signal, sys, time
def note(number, frame):
    # Without print, which may be interrupted itself.
    os.write(1, b"got %d\\n" % number)
    os._exit(5)
signal.signal(signal.SIG{name}, note)
print("ready", flush=True)
time.sleep(30)
"""
    process = site.start(code)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.Signals[f"SIG{name}"])
    out, _err = process.communicate(timeout=30)
    assert (out, process.returncode) == (f"got {signal.Signals[f'SIG{name}'].value}\n", 5)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1], ids=str)
def test_client_unhandled_signal(site, number):
    site.parent()
    process = site.start("import os, time; print(os.getpid(), flush=True); time.sleep(30)")
    pid = int(process.stdout.readline())
    process.send_signal(number)
    assert process.wait(timeout=30) == -number
    assert not is_running(pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1], ids=str)
def test_client_signal_before_request(site, number):
    site.parent()
    connection = client.connect(os.fsencode(site.sockets()[0]))
    head = client.receive(connection, 5)
    assert head[:1] == b"P"
    pid = int.from_bytes(head[1:], "little")
    os.kill(pid, number)
    time.sleep(0.1)
    environment = {os.fsencode(key): os.fsencode(value) for key, value in site.environment.items()}
    with open(os.devnull, "r+") as null:
        argv = [b"ansible-playbook", b"import time; time.sleep(5)"]
        wanted = (argv, environment, b"/", [0, 1, 2], 0o022, [])
        client.send_request(connection, wanted, [null.fileno()] * 3)
        assert client.follow(connection, pid, b"") & 0x7F == number


def test_client_killed(site):
    parent = site.parent()
    process = site.start("import os, time; print(os.getpid(), flush=True); time.sleep(60)")
    pid = int(process.stdout.readline())
    process.kill()
    process.wait()
    wait_for(lambda: not is_running(pid))
    assert int(site.answer(PARENT)) == parent.pid


def test_client_stopped_and_continued(site):
    site.parent()
    process = site.start("import time; print('on', flush=True); time.sleep(0.3)")
    process.stdout.readline()
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    process.send_signal(signal.SIGCONT)
    assert process.wait(timeout=20) == 0


def test_client_long_directory(site):
    site.directory /= "d" * 100
    site.directory.mkdir(mode=0o700)
    site.environment["PREFORK_DIR"] = str(site.directory)
    parent = site.parent()
    assert int(site.answer(PARENT)) == parent.pid


def test_client_removed_working_directory(site):
    site.parent()
    gone = site.root / "gone"
    gone.mkdir()
    script = 'rmdir "$PWD" && exec "$0" "print(\'stock\', __import__(\'os\').getppid())"'
    done = run_script(site, script, site.client, cwd=gone)
    assert (done.stdout, done.stderr) == (f"stock {os.getpid()}\n", "")


def test_client_early_refusal(site):
    key = client.environment_key({os.fsencode(k): os.fsencode(v) for k, v in site.environment.items()}, b"/")
    listener = socket.socket(socket.AF_UNIX)
    with listener:
        listener.bind(str(site.directory / f"ansible-playbook-{key}.sock"))
        listener.listen()
        # The request exceeds the socket's buffer, so the client is still sending when the other end closes.
        process = site.start("print('stock')", "x" * 100_000, *["y" * 100_000] * 9)
        connection, _address = listener.accept()
        connection.sendall(b"S" + len(b"the reason").to_bytes(4, "little") + b"the reason")
        connection.close()
        out, err = process.communicate(timeout=30)
    assert (out, err) == ("stock\n", "prefork: the reason: running stock\n")


@pytest.mark.parametrize("value", ["off", "OFF", "0", "no", "false"])
def test_client_off(site, value):
    assert site.answer("print('stock')", env={"PREFORK": value}) == "stock"
    assert list(site.directory.iterdir()) == []


def test_client_off_without_stock_program(site):
    (site.root / "stock" / "ansible-playbook").unlink()
    done = site.run("", env={"PREFORK": "off", "PATH": f"{site.root}/bin"})
    assert done.returncode == 127
    assert "ansible-playbook: not found on PATH besides the client of prefork" in done.stderr


def test_client_starts_parent(site):
    first = site.run(PARENT)
    assert first.returncode == 0
    assert first.stderr == "prefork: no parent for ansible-playbook runs yet: starting one\n"
    assert site.answer(PARENT) == first.stdout.strip()
    assert is_running(int(first.stdout))


def test_client_concurrent_start(site):
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        done = list(pool.map(lambda _number: site.run(PARENT), range(12)))
    assert {item.returncode for item in done} == {0}
    assert len({item.stdout for item in done}) == 1
    assert sum("starting one" in item.stderr for item in done) == 1
    pid = int(done[0].stdout)
    wait_for(lambda: site.processes() == [pid])


def test_spawn_parent_inherits_nothing(site):
    """Neither the run's environment nor its descriptors, and no modules from its working directory."""
    names = ("KUBECONFIG", "K8S_AUTH_API_KEY", "MY_PASSWORD", "runner_secret")
    (site.root / "json.py").write_text("raise SystemExit('the wrong module')")
    end, other = os.pipe()
    with open(end, "rb") as reading:
        done = site.run(PARENT, env=dict.fromkeys(names, "secret"), pass_fds=[other])
        os.close(other)
        assert is_running(int(done.stdout))
        assert select.select([reading], [], [], 10)[0]
        assert reading.read() == b""
    environment = Path(f"/proc/{done.stdout.strip()}/environ").read_bytes()
    assert b"PREFORK_DIR" in environment
    assert b"secret" not in environment.lower()
    assert (done.returncode, "wrong module" in site.log()) == (0, False)


def test_spawn_parent_removed_directory(site):
    first = site.root / "first"
    first.mkdir()
    pid = int(site.run(PARENT, cwd=first).stdout)
    first.rmdir()
    assert int(site.answer(PARENT)) == pid
    assert os.readlink(f"/proc/{pid}/cwd") == str(site.directory)


REFUSAL = "from ansible_prefork.parent import UnsupportedError; raise UnsupportedError('the reason')"


@pytest.mark.parametrize("warm", [REFUSAL, "raise RuntimeError('the reason')"], ids=["refuses", "fails"])
def test_client_parent_refuses(site, warm):
    started = time.monotonic()
    done = [site.run("print('stock')", env={"PREFORK_FAKE_WARM": warm}) for _ in range(3)]
    assert [(item.returncode, item.stdout) for item in done] == [(0, "stock\n")] * 3
    messages = "".join(item.stderr for item in done)
    assert (messages.count("the reason: running stock\n"), messages.count("starting one")) == (1, 1)
    # No client waits for a parent that cannot start.
    assert time.monotonic() - started < 15
    assert wait_for(lambda: site.processes() == []) is True


def test_client_refusal_expires(site):
    env = {"PREFORK_FAKE_WARM": "raise RuntimeError('the reason')"}
    assert site.run("pass", env=env).returncode == 0
    (word,) = site.directory.glob("*.stock")
    assert site.run(PARENT).stderr == ""
    age(word, client.STOCK_SECONDS + 1)
    assert int(site.run(PARENT).stdout) in site.processes()
    assert not word.exists()


def test_client_stale_socket(site):
    parent = site.parent()
    parent.kill()
    parent.wait()
    assert site.sockets()
    done = site.run(PARENT)
    assert done.returncode == 0
    assert int(done.stdout) in site.processes()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.chmod(0o755),
        lambda path: (path.rmdir(), path.symlink_to("/tmp")),
        lambda path: (path.rmdir(), path.write_text("")),
    ],
    ids=["readable by others", "link", "file"],
)
def test_client_public_directory(site, spoil):
    spoil(site.directory)
    done = site.run("print('stock')")
    message = f"prefork: {site.directory} is not a private directory (mode 0700) of this user: running stock\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "stock\n", message)
    if site.directory.is_dir() and not site.directory.is_symlink():
        assert list(site.directory.iterdir()) == []
        site.directory.chmod(0o700)


def test_serve_public_directory(site):
    site.directory.chmod(0o770)
    command = [sys.executable, "-m", "ansible_prefork", "parent", "--program", "ansible-playbook"]
    done = subprocess.run(command, check=False, env=site.environment, capture_output=True, text=True, timeout=30)
    site.directory.chmod(0o700)
    assert done.returncode == 2
    assert "is not a private directory" in done.stderr
    assert site.sockets() == []


KEYED = {
    "ANSIBLE_FORKS": "1", "ANSIBLE_NEW_IN_NEXT_VERSION": "x", "_ANSIBLE_TEMPLAR_SANDBOX_MODE": "x", "NO_COLOR": "1",
    "LC_ALL": "C", "PYTHONUTF8": "1", "PYTHONHASHSEED": "0", "HOME": "/", "PREFORK_PRELOAD": "a.b",
    "PREFORK_BEFORE_RUN": "a:b",
}  # fmt: skip
PER_RUN = {
    "ANSIBLE_CACHE_PLUGIN_CONNECTION": "/x", "KUBECONFIG": "/k", "K8S_AUTH_KUBECONFIG": "/k", "TMPDIR": "/t",
    "ANSIBLE_ROLES_PATH": "/r", "AWX_ISOLATED_DATA_DIR": "/a", "RUNNER_OMIT_EVENTS": "False", "WATCH_NAMESPACE": "x",
    "TERM": "dumb",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "divides"),
    [*((*item, True) for item in KEYED.items()), *((*item, False) for item in PER_RUN.items())],
)
def test_environment_key_variables(name, value, divides):
    plain = {b"PATH": b"/bin", b"HOME": b"/root"}
    other = {**plain, name.encode(): value.encode()}
    assert (client.environment_key(plain, b"/") != client.environment_key(other, b"/")) is divides


def test_environment_key_order_and_borders():
    key = client.environment_key
    assert key({b"ANSIBLE_A": b"1", b"ANSIBLE_B": b"2"}, b"/") == key({b"ANSIBLE_B": b"2", b"ANSIBLE_A": b"1"}, b"/")
    assert key({b"ANSIBLE_A": b"1ANSIBLE_B=2"}, b"/") != key({b"ANSIBLE_A": b"1", b"ANSIBLE_B": b"2"}, b"/")


def test_environment_key_ansible_cfg(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    a, b = os.fsencode(tmp_path / "a"), os.fsencode(tmp_path / "b")
    assert client.environment_key({}, a) == client.environment_key({}, b)
    (tmp_path / "a" / "ansible.cfg").write_text("")
    assert client.environment_key({}, a) != client.environment_key({}, b)
    named = {b"ANSIBLE_CONFIG": b"/x.cfg"}
    assert client.environment_key(named, a) == client.environment_key(named, b)


@pytest.mark.parametrize(
    ("name", "value", "divides"),
    [
        ("ANSIBLE_COLLECTIONS_PATH", "collections", True),
        ("ANSIBLE_COLLECTIONS_PATH", "/a:collections", True),
        ("ANSIBLE_COLLECTIONS_PATH", "/a:/b", False),
        ("ANSIBLE_COLLECTIONS_PATH", "~/a:$HOME/b", False),
        ("ANSIBLE_ROLES_PATH", "roles", False),
        ("ANSIBLE_CONFIG", "my.cfg", True),
        ("ANSIBLE_LOG_PATH", "./log", True),
        ("ANSIBLE_LIBRARY", "{{CWD}}/l", True),
        ("PYTHONPATH", "lib", True),
        ("PYTHONPATH", "/lib:", True),
        ("PYTHONPATH", "/lib", False),
        ("ANSIBLE_STDOUT_CALLBACK", "awx_display", False),
        ("ANSIBLE_FORKS", "5", False),
    ],
)
def test_environment_key_relative_path(name, value, divides):
    environment = {name.encode(): value.encode()}
    keys = {client.environment_key(environment, directory) for directory in (b"/a", b"/b")}
    assert len(keys) == (2 if divides else 1)


def test_client_other_environment(site):
    one = site.run(PARENT, env={"ANSIBLE_FORKS": "1"}).stdout
    assert site.run(PARENT, env={"ANSIBLE_FORKS": "2"}).stdout != one
    assert site.run(PARENT, env={"ANSIBLE_FORKS": "1", "KUBECONFIG": "/x"}).stdout == one


def definitions() -> dict:
    """ansible-core's settings, by name."""
    ansible = pytest.importorskip("ansible")
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load(Path(ansible.__file__).with_name("config").joinpath("base.yml").read_text())


def variables(only_paths: bool = False) -> list[str]:
    """The names of the variables that ansible-core's settings are read from when it is imported."""
    paths = ("path", "pathlist", "pathspec", "tmp", "tmppath")
    return [
        entry["name"]
        for setting in definitions().values()
        if not only_paths or setting.get("type") in paths
        for entry in setting.get("env") or ()
    ]


# Variables of ansible-core that are not part of the key, and the reason.
READ_BY_EACH_RUN = {
    "ANSIBLE_ROLES_PATH": "global_state.refresh_process reads it again: ansible-runner sets it per run of a role",
    "ANSIBLE_CACHE_PLUGIN_CONNECTION": "global_state.refresh_process reads it again: ansible-runner sets it per run",
}


def test_environment_key_covers_ansible_core():
    missing = {
        name
        for name in variables()
        if client.environment_key({}, b"/") == client.environment_key({name.encode(): b"/x"}, b"/")
    }
    assert missing == set(READ_BY_EACH_RUN)


def test_environment_key_covers_paths():
    missing = set()
    for name in variables(only_paths=True):
        environment = {name.encode(): b"relative"}
        if name.startswith("ANSIBLE_TEST_ENTRY"):  # of ansible-core's own tests
            continue
        if client.environment_key(environment, b"/a") == client.environment_key(environment, b"/b"):
            missing.add(name)
    # Each run reads this one in its own directory.
    assert missing == {"ANSIBLE_ROLES_PATH"}


UNKNOWN = """
import importlib.metadata
known = importlib.metadata.version
importlib.metadata.version = lambda name: "2.99.1" if name == "ansible-core" else known(name)
from ansible_prefork import versions
from ansible_prefork.parent import UnsupportedError
reason = versions.explain_unknown("ansible-core", versions.ANSIBLE_CORE)
if reason:
    raise UnsupportedError(reason)
"""


def test_client_unknown_version(site):
    done = site.run("print('stock')", env={"PREFORK_FAKE_WARM": UNKNOWN})
    assert (done.returncode, done.stdout) == (0, "stock\n")
    reason = "prefork: ansible-core 2.99.1 is not a version that prefork knows (2.18 to 2.21): running stock\n"
    assert done.stderr.endswith(reason)


CHECK = """
import importlib.metadata, sys
known = importlib.metadata.version
wanted = sys.argv.pop() or known("ansible-core")
importlib.metadata.version = lambda name: wanted if name == "ansible-core" else known(name)
sys.argv.append("check")
from ansible_prefork.__main__ import main
sys.exit(main())
"""


UNKNOWN_MESSAGE = "prefork: ansible-core 2.99.1 is not a version that prefork knows (2.18 to 2.21)\n"


@pytest.mark.parametrize(("version", "code", "message"), [("", 0, ""), ("2.99.1", 2, UNKNOWN_MESSAGE)])
def test_check_unknown_version(version, code, message):
    command = [sys.executable, "-c", CHECK, version]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, message)


def measure(commands: dict[str, tuple[list[str], dict[str, str]]], times: int = 30) -> dict[str, tuple[float, float]]:
    """The median wall and CPU time of each command, in milliseconds.

    Each round runs all of them one after the other, so that other load affects all.
    """
    wall: dict[str, list[float]] = {name: [] for name in commands}
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(times):
        for name, (command, environment) in commands.items():
            start = time.perf_counter()
            _, status, usage = os.wait4(os.posix_spawnp(command[0], command, environment), 0)
            wall[name].append(time.perf_counter() - start)
            assert status == 0, name
            cpu[name].append(usage.ru_utime + usage.ru_stime)
    return {name: (statistics.median(wall[name]) * 1000, statistics.median(cpu[name]) * 1000) for name in commands}


def test_client_start_time(site, record_property, capsys):
    stock = site.root / "stock" / "ansible-playbook"
    stock.unlink()
    stock.symlink_to("/bin/true")
    site.parent()
    site.answer("pass")
    off = {**site.environment, "PREFORK": "off"}
    commands = {
        "bare interpreter": ([sys.executable, "-I", "-S", "-c", "pass"], site.environment),
        "client and exec of true": ([site.client], off),
        "client and an empty run": ([site.client, "pass"], site.environment),
    }
    figures = measure(commands)
    with capsys.disabled():
        for name, (wall, cpu) in figures.items():
            print(f"\n{name}: median {wall:.1f} ms, CPU {cpu:.1f} ms", end=" ")
            record_property(name, f"{wall:.1f} ms, CPU {cpu:.1f} ms")
    bare_wall, bare_cpu = figures["bare interpreter"]
    # A ratio of CPU time also holds on a busy machine; the wall time of a whole run has a wider bound.
    assert figures["client and exec of true"][1] < 2 * bare_cpu
    assert figures["client and an empty run"][0] < 5 * bare_wall
