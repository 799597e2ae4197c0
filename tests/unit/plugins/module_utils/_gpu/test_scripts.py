# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The scripts are run, with fake tools on PATH and the paths of the node in a folder of the test."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu import scripts

SCRIPTS = {
    name: text
    for name, text in vars(scripts).items()
    if name.isupper() and name[0] != "_" and isinstance(text, str)
}
OF_FILES = ("STARTUP_PROBE", "_ENTRYPOINT")
ENTRYPOINTS = {
    "TOOLKIT_ENTRYPOINT": "nvidia-toolkit",
    "DEVICE_PLUGIN_ENTRYPOINT": "nvidia-device-plugin",
    "MIG_MANAGER_ENTRYPOINT": "nvidia-mig-manager",
}
WAITING = (*ENTRYPOINTS, "WAIT_FOR_TOOLKIT", "VALIDATOR_MAIN", "GDS_INSTALL", "GDRCOPY_INSTALL")
HEED_SIGNALS = ("/usr/bin/env", "--default-signal=INT,TERM")
"""A shell cannot trap what is ignored when it starts, as SIGINT is by tests in the background."""
PATHS = ("/run/nvidia", "/sys/module")
READY = (
    "IS_HOST_DRIVER=false\nNVIDIA_DRIVER_ROOT=/run/nvidia/driver\nDRIVER_ROOT_CTR_PATH=/driver-root\n"
    "NVIDIA_DEV_ROOT=/\nDEV_ROOT_CTR_PATH=/host\n"
)


class Container:
    """A folder in which scripts run as on a node: `run/nvidia`, `sys/module` and tools."""

    def __init__(self, root: Path, shell: str) -> None:
        self.root, self.shell = root, shell
        self.started: list[subprocess.Popen[str]] = []
        for folder in ("run/nvidia/validations", "sys/module", "bin"):
            (root / folder).mkdir(parents=True)
        self.tool("sleep", f"exec {shutil.which('sleep')} 0.02")

    def path(self, path: str) -> Path:
        """A path of the node."""
        return self.root / path.lstrip("/")

    def write(self, path: str, text: str = "") -> Path:
        """Write a file of the node."""
        file = self.path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def load(self, module: str) -> None:
        """Load a kernel module."""
        self.write(f"/sys/module/{module}/refcnt", "0\n")

    def tool(self, name: str, body: str = 'echo "ran $(basename "$0") $*"; env') -> None:
        """Install a fake tool."""
        file = self.write(f"/bin/{name}", f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)

    def start(self, name: str, **env: str) -> subprocess.Popen[str]:
        """Start a script as Kubernetes does."""
        text = SCRIPTS[name]
        for path in PATHS:
            text = text.replace(path, f"{self.root}{path}")
        process = subprocess.Popen(
            [*HEED_SIGNALS, self.shell, "-c", text],
            env={"PATH": f"{self.root}/bin:/usr/bin:/bin"} | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def stop(self) -> None:
        """End what still runs, with all that it has started."""
        for process in self.started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def run(self, name: str, **env: str) -> tuple[int, str, str]:
        """Run a script to its end: its code and output."""
        process = self.start(name, **env)
        output, errors = process.communicate(timeout=20)
        return process.returncode, output, errors


@pytest.fixture(params=["sh", "bash"])
def container(request: pytest.FixtureRequest, tmp_path: Path) -> t.Iterator[Container]:
    """`sh` is dash on Debian and Ubuntu; the side containers of the driver use bash."""
    made = Container(tmp_path, request.param)
    yield made
    made.stop()


def variables(output: str) -> dict[str, str]:
    """The environment that a fake tool has printed."""
    return dict(line.split("=", 1) for line in output.splitlines() if "=" in line)


def wait_for_line(stream: t.IO[str] | None) -> str:
    assert stream is not None
    return stream.readline()


@pytest.mark.parametrize("name", SCRIPTS)
def test_shellcheck(name: str) -> None:
    """Check the assembled script, not its files."""
    program = shutil.which("shellcheck")
    assert program, "shellcheck is missing: see requirements/dev.in"
    checked = subprocess.run(
        [program, "--shell=sh", "-"],
        input=SCRIPTS[name],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.stdout == ""


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_without_kubernetes_variables(name: str) -> None:
    """It replaces `$(NAME)` and `$$` in command and args."""
    assert SCRIPTS[name].startswith("#!/bin/sh\n")
    if not name.endswith(OF_FILES):
        assert "$(" not in SCRIPTS[name]
        assert "$$" not in SCRIPTS[name]


def test_startup_probe_content(container: Container) -> None:
    container.load("nvidia")
    container.tool("nvidia-smi")
    container.path("/run/nvidia/validations").rmdir()
    code, output, errors = container.run("STARTUP_PROBE", GDS_ENABLED="true")
    assert (code, errors) == (0, "")
    assert "ran nvidia-smi" in output
    files = {
        file.name: file.read_text() for file in container.path("/run/nvidia/validations").iterdir()
    }
    assert files == {
        ".driver-ctr-ready": "GDRCOPY_ENABLED: false\nGDS_ENABLED: true\nGPU_DIRECT_RDMA_ENABLED: false\n"
    }


@pytest.mark.parametrize(
    ("module", "daemons", "smi", "message"),
    [
        pytest.param(False, None, "exit 0", "nvidia is not loaded", id="module"),
        pytest.param(True, "NotReady\n", "exit 0", "not ready: NotReady", id="daemons"),
        pytest.param(True, "", "exit 0", "daemons are not ready", id="empty"),
        pytest.param(True, "Ready\n", "exit 9", "nvidia-smi failed", id="nvidia-smi"),
    ],
)
def test_startup_probe_fails(
    container: Container, module: bool, daemons: str | None, smi: str, message: str
) -> None:
    stale = container.write("/run/nvidia/validations/.driver-ctr-ready", "GDS_ENABLED: true\n")
    container.tool("nvidia-smi", smi)
    if module:
        container.load("nvidia")
    if daemons is not None:
        container.write("/run/nvidia/validations/.driver-daemons-status", daemons)
    code, _output, errors = container.run("STARTUP_PROBE")
    assert code == 1
    assert message in errors
    assert not stale.exists(), "what a crashed container left must not speak for this one"


def test_startup_probe_ready_daemons(container: Container) -> None:
    container.load("nvidia")
    container.tool("nvidia-smi")
    container.write("/run/nvidia/validations/.driver-daemons-status", "Ready\n")
    assert container.run("STARTUP_PROBE")[0] == 0


@pytest.mark.parametrize(
    ("name", "gone", "kept"),
    [
        pytest.param(
            "DRIVER_PRE_STOP",
            {".driver-ctr-ready", ".driver-daemons-status"},
            {"driver-ready", "toolkit-ready", "workload-type"},
            id="driver",
        ),
        pytest.param(
            "VALIDATOR_STOP",
            {"driver-ready", "toolkit-ready"},
            {".driver-ctr-ready", ".driver-daemons-status", "workload-type"},
            id="validator",
        ),
    ],
)
def test_pre_stop_removes_files(
    container: Container, name: str, gone: set[str], kept: set[str]
) -> None:
    for file in gone | kept:
        container.write(f"/run/nvidia/validations/{file}")
    assert container.run(name) == (0, "", "")
    left = {file.name for file in container.path("/run/nvidia/validations").iterdir()}
    assert left == kept
    assert container.run(name) == (0, "", ""), "and again"


@pytest.mark.parametrize(("name", "tool"), ENTRYPOINTS.items())
def test_entrypoint_exports(container: Container, name: str, tool: str) -> None:
    container.tool(tool)
    container.write("/run/nvidia/validations/driver-ready", READY)
    code, output, errors = container.run(name)
    assert (code, errors) == (0, "waiting for driver validation\n")
    assert output.startswith(f"ran {tool} \n")
    assert variables(output).items() >= variables(READY).items()


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("NVIDIA_DRIVER_ROOT=/a folder/with  spaces", "/a folder/with  spaces"),
        ("NVIDIA_DRIVER_ROOT='/quoted folder'", "/quoted folder"),
        ('NVIDIA_DRIVER_ROOT="/quoted folder"', "/quoted folder"),
        ("NVIDIA_DRIVER_ROOT=a=b=", "a=b="),
        ("NVIDIA_DRIVER_ROOT=", ""),
        ("NVIDIA_DRIVER_ROOT=\\n*", "\\n*"),
        ("NVIDIA_DRIVER_ROOT=$(touch run/nvidia/x)`touch run/nvidia/x`", None),
        ("NVIDIA_DRIVER_ROOT=x; touch run/nvidia/x", None),
    ],
)
def test_entrypoint_lines_are_data(container: Container, line: str, value: str | None) -> None:
    container.tool("nvidia-device-plugin")
    ready = READY.replace("NVIDIA_DRIVER_ROOT=/run/nvidia/driver", line)
    container.write("/run/nvidia/validations/driver-ready", ready)
    code, output, _errors = container.run("DEVICE_PLUGIN_ENTRYPOINT")
    expected = line.split("=", 1)[1] if value is None else value
    assert (code, variables(output)["NVIDIA_DRIVER_ROOT"]) == (0, expected)
    assert not Path("run/nvidia/x").exists()


def test_entrypoint_ignored_lines(container: Container) -> None:
    container.tool("nvidia-device-plugin")
    odd = "PATH=/x\nLD_PRELOAD=/x.so\nIFS=x\n# A=1\nno variable\na b=1\nA-B=1\n=1\n\nNEWER_THAN_US=yes\n"
    container.write("/run/nvidia/validations/driver-ready", odd + READY)
    code, output, errors = container.run("DEVICE_PLUGIN_ENTRYPOINT")
    found = variables(output)
    assert (code, errors) == (0, "waiting for driver validation\n")
    assert found["PATH"].startswith(str(container.root))
    assert {"LD_PRELOAD", "IFS", "# A", "a b", "A-B", ""}.isdisjoint(found)
    assert found["NEWER_THAN_US"] == "yes"


@pytest.mark.parametrize(
    "half",
    [
        pytest.param("", id="empty"),
        pytest.param(READY[:50], id="half"),
        pytest.param(READY[:-6], id="without the last name"),
        pytest.param(READY[:-3], id="in the last line"),
        pytest.param(READY[:-1], id="without the last line feed"),
    ],
)
def test_entrypoint_incomplete_file(container: Container, half: str) -> None:
    """The writer continues in the first pause."""
    container.tool("nvidia-mig-manager")
    file = container.write("/run/nvidia/validations/driver-ready", half)
    whole = container.write("/whole", READY.replace("IS_HOST_DRIVER=false", "IS_HOST_DRIVER=true"))
    container.tool("sleep", f"cp {whole} {file}")
    code, output, _errors = container.run("MIG_MANAGER_ENTRYPOINT")
    found = variables(output)
    assert (code, found["DEV_ROOT_CTR_PATH"], found["IS_HOST_DRIVER"]) == (0, "/host", "true")


def test_entrypoint_older_validator(container: Container) -> None:
    container.tool("nvidia-mig-manager")
    container.write("/run/nvidia/validations/driver-ready", "IS_HOST_DRIVER=true\n")
    code, output, _errors = container.run("MIG_MANAGER_ENTRYPOINT")
    assert (code, variables(output)["WITH_SHUTDOWN_HOST_GPU_CLIENTS"]) == (0, "true")


def test_toolkit_entrypoint_delay(container: Container) -> None:
    container.tool("nvidia-toolkit")
    container.tool("sleep", f"echo $* >>{container.root}/pauses")
    container.write("/run/nvidia/validations/driver-ready", READY)
    assert container.run("TOOLKIT_ENTRYPOINT")[0] == 0
    assert container.path("/pauses").read_text() == "5\n"


@pytest.mark.parametrize(
    ("modules", "given", "wanted"),
    [
        pytest.param([], {}, {}, id="none"),
        pytest.param(["gdrdrv"], {}, {"GDRCOPY_ENABLED": "true"}, id="gdrcopy"),
        pytest.param(["nvidia_fs"], {}, {"GDS_ENABLED": "true", "MOFED_ENABLED": "true"}, id="gds"),
        pytest.param(
            ["gdrdrv", "nvidia_fs"],
            {"GDRCOPY_ENABLED": "false", "MOFED_ENABLED": ""},
            {"GDRCOPY_ENABLED": "false", "GDS_ENABLED": "true", "MOFED_ENABLED": ""},
            id="set by the user",
        ),
    ],
)
def test_device_plugin_entrypoint_features(
    container: Container, modules: list[str], given: dict[str, str], wanted: dict[str, str]
) -> None:
    container.tool("nvidia-device-plugin")
    container.write("/run/nvidia/validations/driver-ready", READY)
    for module in modules:
        container.load(module)
    code, output, _errors = container.run("DEVICE_PLUGIN_ENTRYPOINT", **given)
    found = {name: value for name, value in variables(output).items() if "_ENABLED" in name}
    assert (code, found) == (0, wanted)


@pytest.mark.parametrize(("name", "tool"), ENTRYPOINTS.items())
def test_entrypoint_exit_code_and_signals(container: Container, name: str, tool: str) -> None:
    container.write("/run/nvidia/validations/driver-ready", READY)
    container.tool(tool, "exit 7")
    assert container.run(name)[0] == 7
    container.tool(tool, "echo up; exec /bin/sleep 60")
    process = container.start(name)
    assert wait_for_line(process.stdout) == "up\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == -signal.SIGTERM


def test_wait_for_toolkit(container: Container) -> None:
    process = container.start("WAIT_FOR_TOOLKIT")
    assert wait_for_line(process.stderr) == "waiting for toolkit validation\n"
    time.sleep(0.1)
    assert process.poll() is None
    container.write("/run/nvidia/validations/toolkit-ready")
    process.communicate(timeout=20)
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("name", "tool"),
    [("GDS_INSTALL", "nvidia-gds-driver"), ("GDRCOPY_INSTALL", "nvidia-gdrcopy-driver")],
)
def test_side_containers_wait_for_driver(container: Container, name: str, tool: str) -> None:
    container.tool(tool)
    process = container.start(name)
    assert "waiting for the driver" in wait_for_line(process.stderr)
    container.write("/run/nvidia/driver/usr/src/nvidia-595.91.07/Makefile")
    time.sleep(0.1)
    assert process.poll() is None, "the kernel module is missing"
    container.load("nvidia")
    output, _errors = process.communicate(timeout=20)
    assert (process.returncode, output.splitlines()[0]) == (0, f"ran {tool} install")


@pytest.mark.parametrize(
    ("name", "module"), [("GDS_PROBE", "nvidia_fs"), ("GDRCOPY_PROBE", "gdrdrv")]
)
def test_side_container_probes(container: Container, name: str, module: str) -> None:
    container.load("nvidia")
    code, _output, errors = container.run(name)
    assert (code, errors) == (1, f"the kernel module {module} is not loaded\n")
    container.load(module)
    assert container.run(name) == (0, "", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("name", WAITING)
def test_wait_signals(container: Container, name: str, number: signal.Signals) -> None:
    """The child `sleep` ends as well; otherwise it would keep the output open."""
    container.tool("sleep", 'echo sleeping; exec /bin/sleep "$1"')
    process = container.start(name)
    assert "sleeping\n" in iter(lambda: wait_for_line(process.stdout), "")
    before = time.monotonic()
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert time.monotonic() - before < 2


@pytest.mark.skipif(os.geteuid() != 0, reason="a PID namespace needs root")
@pytest.mark.parametrize("name", ["VALIDATOR_MAIN", "WAIT_FOR_TOOLKIT"])
def test_wait_signals_process_1(container: Container, name: str) -> None:
    """The kernel keeps signals without a handler from process 1 of a container."""
    text = SCRIPTS[name].replace("/run/nvidia", f"{container.root}/run/nvidia")
    unshare = ["unshare", "--pid", "--fork", "--kill-child", container.shell, "-c", f"{text}\n:"]
    with subprocess.Popen(
        unshare, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        if "unshare failed" in wait_for_line(process.stdout):
            pytest.skip("this machine allows no PID namespace")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGTERM)
        assert process.wait(timeout=20) == 143


def test_texts_complete() -> None:
    assert frozenset(SCRIPTS.values()) == scripts.TEXTS
