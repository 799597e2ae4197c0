# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Prepare each run of ansible-runner: no text of a custom resource reaches Ansible's variables.

The runtime writes the whole resource into `env/extravars`, where a key of a map can make ansible-core evaluate all text
as templates. The guard replaces the file by the kind, name and namespace of the resource, taken from the path of the
work folder; it does not even parse what the runtime wrote.

With prefork, this is the hook PREFORK_BEFORE_RUN; without, a program named `ansible-runner`, the first on PATH.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import NoReturn

from ansible_prefork.limits import apply_memory_limit

from nimops_supervisor import settings

NAME = "ansible-runner"
ROOT = Path("/tmp/ansible-operator/runner")  # Fixed by the runtime.
LAST_RUN = "last-run"
"""A file in a work folder that marks the resource as deleted or about to be. The collection creates it."""

_NAME_PATTERN = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", re.ASCII)
_KIND_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9]*", re.ASCII)
_NO_PROGRAM = 127


class GuardError(Exception):
    """A run must not start; the message is for the operator's log."""


def before_run(arguments: list[str]) -> Path:
    """Reduce the variables of a run to those that it needs; GuardError if the run must not start.

    ``arguments``: the argv of ansible-runner as the runtime passes it. Returns the work folder.
    """
    if arguments[1:2] != ["run"] or len(arguments) < 3:
        raise GuardError(f"{NAME} is guarded: only `run` with a work folder of the runtime is allowed")
    folder = Path(arguments[2])
    write(folder / "env/extravars", {"nimops_resource": identify(folder)})
    # The same variables are in the environment. When the run of a role ends, ansible-runner restores the content that
    # this file had at its start, possibly over that of the next run.
    (folder / "env/envvars").unlink(missing_ok=True)
    (folder / LAST_RUN).unlink(missing_ok=True)
    return folder


def identify(folder: Path, root: Path | None = None) -> dict[str, object]:
    """The kind, name and namespace, as in a manifest, of the resource that a work folder belongs to.

    The runtime's folder is `<root>/<group>/<version>/<kind>/[<namespace>/]<name>`.
    """
    try:
        parts = folder.relative_to(root or ROOT).parts
    except ValueError:
        parts = ()
    names = parts[3:]
    is_valid = len(names) in {1, 2} and all(_NAME_PATTERN.fullmatch(name) for name in names)
    if not is_valid or not _KIND_PATTERN.fullmatch(parts[2]):
        raise GuardError(f"{folder} is not a work folder of the runtime")
    namespace = {"namespace": names[0]} if len(names) == 2 else {}
    return {"kind": parts[2], "metadata": {"name": names[-1], **namespace}}


def limit_time(file: Path, seconds: int) -> None:
    """Make ansible-runner stop a play after ``seconds``. Not for prefork, which has its own limit.

    With this limit, ansible-runner needs a separate process for the play.
    """
    if not seconds:
        return
    try:
        given = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise GuardError(f"{file} is not what the runtime writes: {error}") from error
    write(file, {**given, "job_timeout": seconds})


def write(file: Path, data: dict[str, object]) -> None:
    """Replace a file by JSON that only this user may read."""
    fresh = file.with_name(f".{file.name}.new")
    try:
        fresh.unlink(missing_ok=True)
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w") as stream:
            json.dump(data, stream)
        fresh.replace(file)
    except OSError as error:
        raise GuardError(f"{file} cannot be replaced: {error.strerror}") from error


def limit_process() -> None:
    """Limit time and memory of this process and its children; both survive an exec."""
    if seconds := settings.run_seconds():
        # Later than ansible-runner's own limit.
        signal.alarm(seconds + settings.GRACE_SECONDS)
    apply_memory_limit(settings.run_mebibytes())


def find_next(own: Path, path: str) -> str | None:
    """The next ansible-runner on PATH after the guard's folder."""
    folders = [Path(item or ".") for item in path.split(os.pathsep)]
    here = own.parent.resolve()
    places = [index for index, folder in enumerate(folders) if folder.resolve() == here]
    for folder in folders[places[-1] + 1 if places else 0 :]:
        program = folder / NAME
        if os.access(program, os.X_OK) and program.is_file():
            return str(program)
    return None


def main() -> NoReturn:
    """Guard the run in place of ansible-runner, then exec the real one."""
    try:
        limit_time(before_run(sys.argv) / "env/settings", settings.run_seconds())
    except GuardError as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        sys.exit(1)
    program = find_next(Path(sys.argv[0]), os.environ.get("PATH", os.defpath))
    if program is None:
        print(f"{NAME}: not found on PATH after its guard: install ansible-runner", file=sys.stderr)
        sys.exit(_NO_PROGRAM)
    limit_process()
    os.execv(program, [program, *sys.argv[1:]])
