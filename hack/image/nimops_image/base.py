# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the base image, for machines that cannot pull it.

It has the programs, Python packages, user, home and paths of the base's published recipe, on
Debian instead of Red Hat's UBI.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nimops_sandbox import tools
from nimops_sandbox.gocache import GoCache
from nimops_sandbox.settings import SANDBOX
from nimops_sandbox.thirdparty import split_json

from .commands import Notify, require, run
from .engine import Engine, Recipe

PROGRAMS = {"mmdebstrap": "mmdebstrap"}
NAME = "localhost/nimops/ansible-operator-stand-in"
MODULE = "github.com/operator-framework/ansible-operator-plugins"
_FOLDER = Path(__file__).resolve().parent.parent
_DOCKERFILE = _FOLDER / "base.Dockerfile"
_SUITE = "bookworm"
_DEBIAN_PYTHON = "3.11"
_PACKAGES = (
    "ca-certificates",
    "libbz2-1.0",
    "libexpat1",
    "libffi8",
    "liblzma5",
    "libncursesw6",
    "libreadline8",
    "libsqlite3-0",
    "libssl3",
    "libstdc++6",
    "libuuid1",
    "openssh-client",
    "tini",
    "zlib1g",
)
_PLATFORMS = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
_UNUSED = (
    "__pycache__",
    "ensurepip",
    "idlelib",
    "test",
    "tkinter",
    "turtledemo",
    "config-*",
    "*.a",
)


@dataclass(frozen=True)
class Interpreter:
    """The image's Python. `home`: where to copy it from, None for Debian's."""

    version: str
    home: Path | None


def find_interpreter(root: Path) -> Interpreter:
    """Return pyenv's newest 3.12, which is the base's; otherwise Debian's."""
    found = sorted(root.glob("versions/3.12.*"), key=_version_of)
    return Interpreter("3.12", found[-1]) if found else Interpreter(_DEBIAN_PYTHON, None)


def pyenv_root(environ: Mapping[str, str]) -> Path:
    """The root folder of pyenv."""
    return Path(environ.get("PYENV_ROOT") or Path(environ.get("HOME") or Path.home(), ".pyenv"))


def read_lock(text: str) -> str:
    """Return the packages of a Pipfile.lock as requirements with hashes, sorted by name."""
    found: dict[str, Any] = json.loads(text)["default"]
    lines = []
    for name, entry in sorted(found.items()):
        hashes = "".join(f" \\\n    --hash={value}" for value in sorted(entry["hashes"]))
        lines.append(f"{name}{entry['version']}{hashes}\n")
    return "".join(lines)


def provide_base(cache: GoCache, engine: Engine, programs: tuple[Path, ...], notify: Notify) -> str:
    """Build the stand-in unless it is in the cache, load it, and return its name."""
    source = SANDBOX / "tools/ansible-operator"
    interpreter = find_interpreter(pyenv_root(os.environ))
    version = tools.read_version((source / "go.mod").read_text(), MODULE)
    name = f"{NAME}:{version}"
    wanted = tools.select_tools(["ansible-operator"])
    operator = tools.provide_programs(cache, programs, wanted)["ansible-operator"]
    inputs = [interpreter.version, str(interpreter.home), str(operator)]
    recipe = json.dumps([_DOCKERFILE.read_text(), _PACKAGES, _SUITE, inputs])

    def make(result: Path) -> None:
        require(PROGRAMS, "a stand-in for the base image")
        output = cache.run(
            ["go", "mod", "download", "-json", MODULE], source, "fetching the recipe"
        )
        (module,) = split_json(output)
        with tempfile.TemporaryDirectory(dir=result) as scratch:
            context = Path(scratch)
            shutil.copy(operator, context / "ansible-operator")
            _add_system(context, interpreter, notify)
            _add_packages(
                context, Path(module["Dir"], "images/ansible-operator"), interpreter, notify
            )
            notify("building the stand-in for the base image")
            labels = {"nimops.nim.base": "stand-in"}
            engine.build(name, Recipe(_DOCKERFILE, context, 0, labels=labels))
        engine.save(name, result / "base.tar")

    folder = cache.provide(source, recipe, make)
    engine.load(folder / "base.tar")
    return name


def _add_system(context: Path, interpreter: Interpreter, notify: Notify) -> None:
    """Add Debian's packages, and the Python to copy, to the context."""
    packages = [*_PACKAGES, *([] if interpreter.home else ["python3"])]
    notify(f"unpacking {len(packages)} Debian packages and their dependencies")
    sources = sorted(Path("/etc/apt").glob("sources.list.d/debian.sources"))
    how = ["--mode=root", "--variant=essential", "--format=tar", "--dpkgopt=force-unsafe-io"]
    target = [_SUITE, str(context / "rootfs.tar"), *map(str, sources)]
    run(["mmdebstrap", *how, f"--include={','.join(packages)}", *target], SOURCE_DATE_EPOCH="0")
    (context / "python").mkdir()
    if interpreter.home:
        for folder in ("bin", "lib"):
            target_folder = context / "python" / folder
            shutil.copytree(
                interpreter.home / folder,
                target_folder,
                symlinks=True,
                ignore=shutil.ignore_patterns(*_UNUSED, "site-packages", "pip*", "idle*", "2to3*"),
            )


def _add_packages(context: Path, recipe: Path, interpreter: Interpreter, notify: Notify) -> None:
    """Add the wheels of the base's recipe to the context."""
    notify("downloading the Python packages of the base image")
    requirements = context / "requirements.txt"
    requirements.write_text(read_lock((recipe / "Pipfile.lock").read_text()))
    wheels = context / "wheels"
    locked = ["--no-deps", "--require-hashes", f"--requirement={requirements}"]
    pip_download(locked, interpreter, wheels)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    run([*pip, "download", "--no-deps", f"--dest={context / 'pip'}", "pip"])
    # A modified version of PyPI's package.
    shutil.copytree(recipe / "ansible_runner_http", context / "http", copy_function=shutil.copyfile)
    # pip before 23.1 needs the flag where the package wheel is missing.
    run([*pip, "wheel", "--use-pep517", "--no-deps", f"--wheel-dir={wheels}", context / "http"])


def pip_download(arguments: Sequence[str], interpreter: Interpreter, folder: Path) -> None:
    """Download the wheels that pip's arguments name, for this Python and this architecture."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    only = ["--only-binary=:all:", f"--python-version={interpreter.version}", f"--dest={folder}"]
    only += [f"--platform={name}_{platform.machine()}" for name in _PLATFORMS]
    run([*pip, *only, *arguments])


def _version_of(folder: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", folder.name)]
