# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The supervisor as a program, with scripts in place of ansible-operator and of the separate programs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from nimops_supervisor import apiproxy, component, processes, runtime
from nimops_supervisor.settings import SettingsError

PROGRAM = """\
import sys
from nimops_supervisor import account, guard, processes, repair, watches
account.SECONDS = 2.5
root = {root!r}
guard.ROOT = guard.Path(root, "runner")
start = processes.start
def fake(command, environment, stdin=None):
    for module in (account, repair, watches):
        if module.__name__ in command:
            name = module.__name__.rpartition(".")[2]
            words = command[command.index(module.__name__) + 1:]
            command = [sys.executable, f"{{root}}/{{name}}.py", *words]
    return start(command, environment, stdin)
processes.start = fake
reap = processes.reap
def harmed():
    if guard.Path(root, "harm").exists():
        processes.reap = reap
        raise OSError("harm")
    return reap()
processes.reap = harmed
from nimops_supervisor.__main__ import main
sys.exit(main())
"""
LOG = """
import os, sys
def log(*words):
    with open({root!r} + "/log", "a") as file:
        print(*words, file=file)
"""


@pytest.fixture
def supervise(tmp_path):
    """Start a supervisor of a runtime with this source, and of a repair program."""
    running = []

    def start(body, repairing="", *options, watching="", checking="", file="all.yaml", **environment):
        head = LOG.format(root=str(tmp_path))
        (tmp_path / "repair.py").write_text(f"{head}\nlog('repair')\n{repairing}")
        (tmp_path / "account.py").write_text(f"{head}\n{checking}")
        (tmp_path / "watches.py").write_text(f"{head}\n{watching}")
        (tmp_path / "command.py").write_text(f"{head}\n{body}")
        (tmp_path / "program.py").write_text(PROGRAM.format(root=str(tmp_path)))
        process = subprocess.Popen(
            [
                sys.executable,
                tmp_path / "program.py",
                *options,
                "--",
                sys.executable,
                str(tmp_path / "command.py"),
                "--health-probe-bind-address=:0",
                *([f"--watches-file={file}"] if watching else []),
            ],
            env={**os.environ, "PREFORK": "off", "TMPDIR": str(tmp_path), **environment},
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def lines(folder):
    file = folder / "log"
    return file.read_text().splitlines() if file.exists() else []


def wait_for(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.02)
    return found


def stop(process):
    """Terminate a supervisor; its messages."""
    process.terminate()
    _out, messages = process.communicate(timeout=20)
    assert process.returncode == 0
    return messages


PAUSE = "import signal\nsignal.pause()\n"
SLEEP = f"log('up', os.getpid())\n{PAUSE}"
PAUSES = "log(os.environ.get('NIMOPS_SLOW_PAUSE'), os.environ.get('NIMOPS_SLOW_QUESTIONS'))\n"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, f"30 {max(1, (os.cpu_count() or 1) // 2)}"),
        ({"NIMOPS_SLOW_PAUSE": "7", "NIMOPS_SLOW_QUESTIONS": "3"}, "7 3"),
    ],
)
def test_environment_slow_servers(supervise, tmp_path, given, expected):
    supervise(PAUSES + SLEEP, **given)
    assert wait_for(lambda: lines(tmp_path)[1:2]) == [expected]


ERRORS = """
import json, signal, sys
line = json.dumps({"level": "error", "msg": "no", "logger": "proxy", "stacktrace": "x.go:1"}, separators=(",", ":"))
for _ in range(3):
    print(line, file=sys.stderr, flush=True)
print("panic", file=sys.stderr, flush=True)
log("printed")
"""


@pytest.mark.parametrize(("switch", "count", "has_stack"), [("", 1, False), ("all", 3, True)])
def test_log(supervise, tmp_path, switch, count, has_stack):
    process = supervise(ERRORS + PAUSE, NIMOPS_RUNTIME_LOG=switch)
    wait_for(lambda: "printed" in lines(tmp_path))
    messages = stop(process)
    assert messages.count('"msg":"no"') == count
    assert ("x.go" in messages) is has_stack
    assert messages.count("panic") == 1


def test_log_of_crash(supervise, tmp_path):
    """The last lines of a runtime that ends are not lost."""
    process = supervise("print('last', file=sys.stderr)\nlog('end')\nsys.exit(3)\n")
    wait_for(lambda: "end" in lines(tmp_path))
    wait_for(lambda: lines(tmp_path).count("end") > 1)
    messages = stop(process)
    assert messages.index("last") < messages.index("exited with code 3")


@pytest.mark.parametrize(
    ("value", "expected"), [("", True), ("on", True), ("off", False), ("OFF", False), ("0", False)]
)
def test_is_forking(value, expected):
    assert runtime.is_forking({"PREFORK": value}) is expected
    assert runtime.is_forking({})


def test_supervisor_repairs_before_each_start(supervise, tmp_path):
    process = supervise("log('up')\nsys.exit(3)\n")
    wait_for(lambda: lines(tmp_path) == ["repair", "up"] * 2)
    assert "the runtime exited with code 3: restarting in 1 s" in stop(process)


def test_supervisor_checks_account_repeatedly(supervise, tmp_path):
    supervise(SLEEP, checking="log('account')\n")
    wait_for(lambda: [line.split()[0] for line in lines(tmp_path)] == ["repair", "up", "account"])
    wait_for(lambda: lines(tmp_path)[3:4] == ["account"])


def test_supervisor_forwards_signal(supervise, tmp_path):
    process = supervise(
        "import signal, time\n"
        "def end(*_): log('asked'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\nlog('up')\ntime.sleep(60)\n"
    )
    wait_for(lambda: "up" in lines(tmp_path))
    stop(process)
    assert lines(tmp_path)[-1] == "asked"


def test_supervisor_own_error(supervise, tmp_path):
    process = supervise(SLEEP)
    pid = wait_for(lambda: [item for item in lines(tmp_path) if item.startswith("up")])[0].split()[1]
    (tmp_path / "harm").touch()
    _out, message = process.communicate(timeout=20)
    assert process.returncode == 2
    assert "supervisor: harm" in message
    assert not Path(f"/proc/{pid}").exists()


def test_supervisor_restarts_killed_runtime(supervise, tmp_path):
    orphan = "import subprocess\nrun = subprocess.Popen(['sleep', '300'])\nlog('run', run.pid)\n"
    supervise(orphan + SLEEP)
    first = wait_for(lambda: [item for item in lines(tmp_path) if item.startswith("up")])[0]
    run = int(next(item for item in lines(tmp_path) if item.startswith("run")).split()[1])
    os.kill(int(first.split()[1]), signal.SIGKILL)
    wait_for(lambda: len([item for item in lines(tmp_path) if item.startswith("up")]) == 2)
    assert not Path(f"/proc/{run}").exists()


def test_supervisor_repeated_crashes(supervise, tmp_path):
    body = "log('up')\nsys.exit(7)\n"
    process = supervise(body)
    # It waits 1, 2, 4 and 8 seconds between the starts.
    _out, message = process.communicate(timeout=60)
    assert process.returncode == 7
    assert lines(tmp_path).count("up") == 5
    assert "crashed 5 times in a row" in message


def test_supervisor_repair_resets_crashes(supervise, tmp_path):
    process = supervise("log('up')\nsys.exit(7)\n", "sys.exit(3)\n")
    wait_for(lambda: lines(tmp_path).count("up") == 6, 40)
    assert process.poll() is None


def test_supervisor_failed_repair(supervise, tmp_path):
    supervise(SLEEP, "sys.exit(1)\n")
    wait_for(lambda: any(item.startswith("up") for item in lines(tmp_path)))


LACKS = """
import pathlib, time
there = pathlib.Path({root!r}, "there")
log("watches", sys.argv[1], *sys.argv[3:])
if "--wait" in sys.argv:
    while not there.exists():
        time.sleep(0.1)
elif not there.exists():
    open(sys.argv[2], "w").write("some")
    sys.exit(3)
"""
GIVEN = f"log('up', *sys.argv[2:])\n{PAUSE}"


def test_watches_missing_kinds_until_applied(supervise, tmp_path):
    process = supervise(GIVEN, watching=LACKS.format(root=str(tmp_path)))
    wait_for(lambda: len(lines(tmp_path)) == 4)
    # The waiting program and the runtime start at the same time.
    asked, (up, waiting) = lines(tmp_path)[1], sorted(lines(tmp_path)[2:])
    _up, given, chosen = up.split()
    assert (asked, given) == ("watches all.yaml", "--watches-file=all.yaml")
    assert waiting == "watches all.yaml --wait"
    assert Path(chosen.removeprefix("--watches-file=")).read_text() == "some"
    (tmp_path / "there").touch()
    wait_for(lambda: lines(tmp_path)[4:] == ["repair", "watches all.yaml", "up --watches-file=all.yaml"])
    assert "exited" not in stop(process)


@pytest.mark.parametrize("watching", ["sys.exit(0)", "sys.exit(1)"])
def test_watches_unchanged(supervise, tmp_path, watching):
    supervise(GIVEN, watching=watching)
    wait_for(lambda: lines(tmp_path) == ["repair", "up --watches-file=all.yaml"])


@pytest.fixture
def watches_of_parts(tmp_path):
    """A watches file, and those of its two parts and of two optional ones."""
    (tmp_path / "watches.yaml").write_text("---\n- nim\n\n- nemo\n")
    for part in ("nim", "nemo", "gpu", "edge"):
        for name in (part, f"{part}-by-role"):
            (tmp_path / f"watches-{name}.yaml").write_text(f"---\n- {name}\n")
    (tmp_path / "watches-gpu.json").touch()
    return tmp_path / "watches.yaml"


@pytest.mark.parametrize(
    ("environment", "composed"),
    [
        ({}, ""),
        ({"NIMOPS_COMPONENT": "", "NIMOPS_NEMO": " "}, ""),
        ({"NIMOPS_NEMO": "on"}, ""),
        ({"NIMOPS_NEMO": "off"}, "- nim\n"),
        ({"NIMOPS_NEMO": " OFF "}, "- nim\n"),
        ({"NIMOPS_COMPONENT": " gpu "}, "- nim\n\n- nemo\n\n- gpu\n"),
        ({"NIMOPS_COMPONENT": "edge", "NIMOPS_NEMO": "On"}, "- nim\n\n- nemo\n\n- edge\n"),
        ({"NIMOPS_COMPONENT": "gpu", "NIMOPS_NEMO": "off"}, "- nim\n\n- gpu\n"),
        ({"NIMOPS_RECONCILE": "task"}, ""),
        ({"NIMOPS_RECONCILE": " Role "}, "- nim-by-role\n\n- nemo-by-role\n"),
        (
            {"NIMOPS_RECONCILE": "role", "NIMOPS_COMPONENT": "gpu", "NIMOPS_NEMO": "off"},
            "- nim-by-role\n\n- gpu-by-role\n",
        ),
    ],
)
def test_compose_watches_parts(watches_of_parts, monkeypatch, environment, composed):
    assert component.compose_watches(str(watches_of_parts), environment) == composed
    monkeypatch.chdir(watches_of_parts.parent)
    assert component.compose_watches("watches.yaml", environment) == composed
    assert component.compose_watches("./watches.yaml", environment) == composed


def test_compose_watches_default():
    assert component.compose_watches("/does/not/exist.yaml", {"NIMOPS_NEMO": "on"}) == ""


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        *(
            ("COMPONENT", value, "one of edge, gpu, or empty")
            for value in ("gpus", "../gpu", "*", "g[p]u", "gpu,edge", "nemo", "nim")
        ),
        *(("NEMO", value, "on or off") for value in ("false", "0", "none", "on,off", "gpu")),
        ("RECONCILE", "roles", "task or role"),
    ],
)
@pytest.mark.parametrize(
    "others", [{}, {"NIMOPS_COMPONENT": "gpu"}, {"NIMOPS_NEMO": "off"}], ids=["", "gpu", "no nemo"]
)
def test_compose_watches_invalid(watches_of_parts, name, value, message, others):
    environment = {**others, f"NIMOPS_{name}": value}
    with pytest.raises(SettingsError, match=rf"^NIMOPS_{name}='.*': must be {message}$"):
        component.compose_watches(str(watches_of_parts), environment)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"NIMOPS_NEMO": "off"}, "NIMOPS_NEMO='off': watches-nim.yaml is missing beside "),
        ({"NIMOPS_COMPONENT": "gpu"}, "NIMOPS_COMPONENT='gpu': watches-nim.yaml is missing beside "),
        ({"NIMOPS_RECONCILE": "role"}, "NIMOPS_RECONCILE='role': watches-nim-by-role.yaml is missing beside "),
    ],
)
def test_compose_watches_missing_file(watches_of_parts, environment, message):
    for file in watches_of_parts.parent.glob("watches-nim*"):
        file.unlink()
    with pytest.raises(SettingsError, match=message):
        component.compose_watches(str(watches_of_parts), environment)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [("COMPONENT", "gpus", "must be one of edge, gpu, or empty"), ("NEMO", "no", "must be on or off")],
)
def test_main_invalid_part(watches_of_parts, name, value, message):
    command = [sys.executable, "-m", "nimops_supervisor", "--", "true", f"--watches-file={watches_of_parts}"]
    environment = {**os.environ, f"NIMOPS_{name}": value}
    refused = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stderr) == (2, f"supervisor: NIMOPS_{name}={value!r}: {message}\n")


def test_supervisor_composed_watches(supervise, tmp_path, watches_of_parts, with_proxy):
    given = f"log('up', *sys.argv[2:])\nlog(open(sys.argv[-1].partition('=')[2]).read().split())\n{PAUSE}"
    asking = "log('watches', sys.argv[1])"
    supervise(given, watching=asking, file=watches_of_parts, PATH=with_proxy(), NIMOPS_NEMO="off")
    _repair, asked, proxied, started, read = wait_for(lambda: lines(tmp_path)[4:] and lines(tmp_path))
    path = asked.split()[1]
    assert Path(path).name == "watches.yaml"
    assert Path(path).parent.parent == tmp_path
    assert proxied.split()[2] == path
    assert started == f"up --watches-file={watches_of_parts} --watches-file={path}"
    assert read == "['-', 'nim']"


def test_supervisor_composed_watches_missing_kinds(supervise, tmp_path, watches_of_parts):
    watching = LACKS.format(root=str(tmp_path))
    supervise(GIVEN, watching=watching, file=watches_of_parts, NIMOPS_COMPONENT="gpu")
    started = wait_for(lambda: [line for line in lines(tmp_path) if line.startswith("up")])[0]
    usual, composed, chosen = (Path(word.partition("=")[2]) for word in started.split()[1:])
    assert (usual, composed.name, chosen.name) == (watches_of_parts, "watches.yaml", "watches.json")


def test_supervisor_environment(supervise, tmp_path):
    body = (
        "import shutil, tempfile\n"
        "log(shutil.which('ansible-runner'), tempfile.gettempdir(), os.environ['PREFORK_BEFORE_RUN'],"
        " os.environ['PREFORK_RUN_SECONDS'], os.environ['PREFORK_RUN_MEMORY_MIB'])\n"
        "open(tempfile.gettempdir() + '/left', 'w').close()\n"
    )
    process = supervise(body + SLEEP, NIMOPS_RUN_SECONDS="10", NIMOPS_RUN_MEMORY_MIB="99")
    wait_for(lambda: len(lines(tmp_path)) == 3)
    program, temporary, hook, seconds, memory = lines(tmp_path)[1].split()
    assert program.startswith(str(tmp_path / "nimops-supervisor-"))
    assert temporary.startswith(str(tmp_path / "nimops-supervisor-"))
    assert hook == "nimops_supervisor.guard:before_run"
    assert (seconds, memory) == ("10", "99")
    stop(process)
    assert not list(tmp_path.glob("nimops-supervisor-*"))


@pytest.mark.parametrize(("given", "wanted"), [({}, "off off"), ({"PREFORK_EVENT_FILES": "on"}, "on off")])
def test_environment_unused_outputs(supervise, tmp_path, given, wanted):
    body = "log(os.environ['PREFORK_EVENT_FILES'], os.environ['PREFORK_STATUS_EVENTS'])\n"
    supervise(body + SLEEP, **given)
    wait_for(lambda: wanted in lines(tmp_path))


@pytest.mark.parametrize(
    ("given", "arguments", "is_unread"),
    [
        ({}, (), True),
        ({}, ("--ansible-log-events=Tasks",), True),
        ({}, ("--ansible-log-events", "Everything"), False),
        ({"PREFORK_UNREAD_EVENTS": ""}, (), False),
    ],
)
def test_environment_unread_events(tmp_path, given, arguments, is_unread):
    made = runtime.make_environment(given, ["ansible-operator", "run", *arguments], tmp_path)
    unread = made.get("PREFORK_UNREAD_EVENTS", "").split()
    assert ("runner_on_start" in unread) is is_unread
    assert not {"playbook_on_stats", "playbook_on_task_start", "runner_on_failed", "runner_on_ok"} & {*unread}


def test_environment_shared_answers(tmp_path):
    made = runtime.make_environment({}, ["ansible-operator", "run"], tmp_path)
    folder = Path(made["NIMOPS_SHARED_ANSWERS"])
    assert folder.is_dir()
    assert folder.is_relative_to(tmp_path)


def test_supervisor_clears_work_folders(supervise, tmp_path):
    (tmp_path / "runner/a.b/v1/K/ns/x").mkdir(parents=True)
    supervise(SLEEP)
    wait_for(lambda: len(lines(tmp_path)) == 2)
    assert not (tmp_path / "runner").exists()


def free_port():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def ask(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def test_supervisor_liveness(supervise, tmp_path):
    port = free_port()
    supervise(SLEEP, "", f"--liveness-bind-address=127.0.0.1:{port}")
    assert wait_for(lambda: ask(port)[0] and ask(port)) == (200, "ok\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "missing command"),
        (["--"], "missing command"),
        (["--", "no-such-program"], "no-such-program: not found on PATH"),
        (["--liveness-bind-address=x", "--", "true"], "'x' is not an address"),
    ],
)
def test_main_usage_error(arguments, message):
    process = subprocess.run(
        [sys.executable, "-m", "nimops_supervisor", *arguments], capture_output=True, text=True, check=False
    )
    assert process.returncode == 2
    assert message in process.stderr


HEALTH, WORKERS = "--health-probe-bind-address", "--max-concurrent-reconciles"


@pytest.mark.parametrize(
    ("function", "words", "expected"),
    [
        (runtime.health_url, [], "http://127.0.0.1:6789/healthz"),
        (runtime.health_url, [f"{HEALTH}=:8081"], "http://127.0.0.1:8081/healthz"),
        (runtime.health_url, [HEALTH, "0.0.0.0:1"], "http://127.0.0.1:1/healthz"),
        (runtime.health_url, [f"{HEALTH}=[::1]:2"], "http://[::1]:2/healthz"),
        (runtime.health_url, [f"{HEALTH}=0"], ""),
        (runtime.health_url, [f"{HEALTH}=:0"], ""),
        (runtime.count_workers, [], os.cpu_count()),
        (runtime.count_workers, [f"{WORKERS}=4"], 4),
        (runtime.count_workers, [f"{WORKERS}=4", WORKERS, "8"], 8),
        (runtime.count_workers, [f"{WORKERS}=x"], os.cpu_count()),
    ],
)
def test_runtime_options(function, words, expected):
    assert function(["ansible-operator", "run", *words]) == expected


def test_make_command_prefork():
    assert runtime.make_command(["a", "b"], {"PREFORK": "Off"}) == ["a", "b"]
    assert runtime.make_command(["a", "b"], {})[2:] == ["-m", "ansible_prefork", "exec", "--", "a", "b"]


def test_supervisor_stop_and_continue(supervise, tmp_path):
    process = supervise(SLEEP)
    wait_for(lambda: len(lines(tmp_path)) == 2)
    process.send_signal(signal.SIGSTOP)
    time.sleep(2.5)
    process.send_signal(signal.SIGCONT)
    time.sleep(1.5)
    assert process.poll() is None
    stop(process)


PROXY = """\
#!{python}
import os, sys, time
def log(*words):
    with open({root!r} + "/log", "a") as file:
        print(*words, file=file)
options = dict(word.split("=", 1) for word in sys.argv[1:])
log("proxy", os.getpid(), options.get("--watches-file"), options.get("--metrics"))
{body}
open(options["--kubeconfig-out"], "w").close()
sys.stdin.read()
log("proxy ends")
"""
KUBECONFIG = f"log('up', os.path.basename(os.environ.get('KUBECONFIG', 'none')))\n{PAUSE}"
OBJECTS = f"log('up', os.environ.get('NIMOPS_OBJECTS_PATH', 'none'))\n{PAUSE}"


@pytest.fixture
def with_proxy(tmp_path):
    """A PATH with a proxy that runs this source before it is ready."""

    def install(body="", folder=tmp_path / "bin"):
        folder.mkdir()
        program = folder / apiproxy.PROGRAM
        program.write_text(PROXY.format(python=sys.executable, root=str(tmp_path), body=body))
        program.chmod(0o755)
        return f"{folder}:{os.environ['PATH']}"

    return install


def test_proxy_kubeconfig(supervise, tmp_path, with_proxy):
    process = supervise(KUBECONFIG, PATH=with_proxy())
    found = wait_for(lambda: lines(tmp_path)[2:])
    assert lines(tmp_path)[1].split()[2:] == ["./watches.yaml", "None"]
    assert found == ["up kubeconfig"], "once the proxy is ready"
    stop(process)
    assert not Path("/proc", lines(tmp_path)[1].split()[1]).exists()


@pytest.mark.parametrize(("switch", "path"), [("on", "/nimops/objects"), ("off", "none")])
def test_proxy_reads_objects(supervise, tmp_path, with_proxy, switch, path):
    supervise(OBJECTS, PATH=with_proxy(), NIMOPS_API_PROXY=switch)
    assert wait_for(lambda: [line for line in lines(tmp_path) if line.startswith("up")]) == [f"up {path}"]


@pytest.mark.parametrize("value", ["off", "OFF", "0"])
def test_proxy_off(supervise, tmp_path, with_proxy, value):
    supervise(KUBECONFIG, PATH=with_proxy(), NIMOPS_API_PROXY=value, KUBECONFIG="/given")
    assert wait_for(lambda: lines(tmp_path)[1:]) == ["up given"]


def test_proxy_crash_restarts_runtime(supervise, tmp_path, with_proxy):
    process = supervise(KUBECONFIG, PATH=with_proxy())
    wait_for(lambda: lines(tmp_path)[2:])
    os.kill(int(lines(tmp_path)[1].split()[1]), signal.SIGKILL)
    wait_for(lambda: lines(tmp_path)[5:])
    assert [line.split()[0] for line in lines(tmp_path)] == ["repair", "proxy", "up"] * 2
    message = stop(process)
    assert "nimops-apiproxy exited with code -9: stopping the runtime" in message
    assert "restarting in 1 s" in message


def test_proxy_start_failure(supervise, tmp_path, with_proxy):
    process = supervise(KUBECONFIG, PATH=with_proxy("sys.exit(2)"))
    wait_for(lambda: lines(tmp_path)[3:])
    assert "up" not in " ".join(lines(tmp_path))
    assert "nimops-apiproxy exited with code 2" in stop(process), "while it waits for the next start"


def test_proxy_start_signal(supervise, tmp_path, with_proxy):
    process = supervise(KUBECONFIG, PATH=with_proxy("time.sleep(60)"))
    wait_for(lambda: lines(tmp_path)[1:])
    process.terminate()
    assert process.wait(20) == 0
    assert len(lines(tmp_path)) == 2


def test_proxy_stops_with_killed_supervisor(supervise, tmp_path, with_proxy):
    process = supervise(KUBECONFIG, PATH=with_proxy())
    wait_for(lambda: lines(tmp_path)[2:])
    started = processes.children_of(process.pid)
    process.kill()
    try:
        assert wait_for(lambda: lines(tmp_path)[3:]) == ["proxy ends"]
    finally:
        for pid in started:
            processes.send(pid, signal.SIGKILL)
