# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The commands. They print progress on stderr, and results on stdout."""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml
from nimops_sandbox.errors import SandboxError, SetupError
from nimops_sandbox.gocache import GoCache
from nimops_sandbox.settings import REPOSITORY, Settings

from . import base, environment, files, llm
from .architecture import PLATFORMS, read_architecture, require_architecture
from .commands import install, run
from .engine import PROGRAMS, Engine, Recipe, find_engine, find_program

STAND_IN = "stand-in"
NIM = "registry.example/acme/tiny-llm:1.0.0"
NIM_FILES = (
    "molecule/shared/image/Dockerfile",
    "molecule/shared/image/nim.py",
    "sandbox/manifest.yaml",
    "sandbox/model_server.py",
)
# The tag of a driver image ends with the operating system.
GPU = "registry.example/acme/gpu:1-ubuntu24.04"
GPU_FILES = ("molecule/node/image/Dockerfile", "molecule/node/image/gpu_tools.py")
LLM = "registry.example/acme/smollm2:1.0.0"
LLM_FILES = tuple(
    f"molecule/llm/image/{name}"
    for name in ("Dockerfile", "llm.py", "model_files.py", "registry.py", "model_manifest.yaml")
)
_TITLE = "nimops.nim operator"
_ON_BASE = {"BASE": "BASE"}
_PYTHONS = "3.11 3.12 3.13"
_EPILOG = """
environment:
  BASE                  the base image, preferably by tag and digest; "stand-in" builds one from
                        packages of Debian and PyPI (default: that of the Dockerfile, or the
                        stand-in if it cannot be pulled)
  IMAGE                 name of the image (default: that of config/manager)
  TINY_KEY              for nim: the only key that it accepts (default: it accepts any)
  IMAGE_PYTHONS         versions of Python to add wheels for (default: 3.11 3.12 3.13)
  IMAGE_ARCH            architecture, x86_64 or aarch64 (default: this machine's)
  IMAGE_ENGINE          buildah, to use it instead of docker or podman: its images are reproducible
  SOURCE_DATE_EPOCH     time of all files (default: that of the commit)

exit codes: 0 done, 1 failed, 2 fix something first
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="image",
        description="Build the operator's image with docker, podman or buildah.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, do, text in (
        ("install", _install, "install missing programs, as root on Debian; nothing elsewhere"),
        ("build", _build, "build the image, write it to build/image.tar, and print both"),
        ("files", _files, "only fill build/image, which the Dockerfile copies"),
        (
            "environment",
            _environment,
            "build the execution environment on a stand-in, and print a sample rendered in it",
        ),
        ("nim", _nim, "build the image that simulates a NIM in tests, on BASE, and build/nim.tar"),
        ("gpu", _gpu, "build the image that simulates the GPU stack, on BASE, and build/gpu.tar"),
        ("llm", _llm, "build the NIM-like image of a real engine, on BASE, and build/llm.tar"),
        ("weights", _weights, "download the weights of a language model, and print their folder"),
    ):
        commands.add_parser(name, help=text).set_defaults(do=do)
    options = parser.parse_args(arguments)
    try:
        options.do()
    except (SandboxError, OSError) as error:
        print(f"image: {error}", file=sys.stderr)
        return error.exit_code if isinstance(error, SandboxError) else SandboxError.exit_code
    return 0


def _notify(text: str) -> None:
    print(f"image: {text}", file=sys.stderr, flush=True)


def _install() -> None:
    if find_program() is None:
        install(PROGRAMS | base.PROGRAMS, _notify)


def _files() -> None:
    print(_write_files())


def _write_files() -> Path:
    pythons = os.environ.get("IMAGE_PYTHONS") or _PYTHONS
    wanted = read_architecture(os.environ, platform.machine())
    return files.write_files(_version(), pythons.split(), wanted, _epoch(), _notify)


def _build() -> None:
    version = _version()
    tag = os.environ.get("IMAGE") or f"{_image_name()}:{version}"
    engine = find_engine(REPOSITORY / "build/containers")
    target = _target_platform()
    _write_files()
    name = _provide_base(engine, target)
    _notify(f"building {tag} on {name}")
    arguments = {"BASE": without_tag(name), "OPERATOR_VERSION": version}
    labels = image_labels(version, name)
    recipe = Recipe(REPOSITORY / "Dockerfile", REPOSITORY, _epoch(), arguments, labels, target)
    engine.build(tag, recipe)
    _save(engine, tag, "image.tar")


def _environment() -> None:
    engine = find_engine(REPOSITORY / "build/containers")
    settings = Settings.from_environ(os.environ)
    name = base.provide_base(GoCache(settings.cache, _notify), engine, settings.found, _notify)
    interpreter = base.find_interpreter(base.pyenv_root(os.environ))
    built = environment.build_environment(engine, name, interpreter, _notify)
    print(environment.render_samples(engine, built), end="")


def _target_platform() -> str:
    """Return the platform to build for, empty for this machine's; SetupError if it cannot."""
    machine = read_architecture({}, platform.machine())
    wanted = read_architecture(os.environ, machine)
    require_architecture(wanted, machine)
    return PLATFORMS[wanted] if wanted != machine else ""


def _nim() -> None:
    _build_test_image(NIM, NIM_FILES, "nim.tar", {"BASE": "BASE", "KEY": "TINY_KEY"})


def _gpu() -> None:
    _build_test_image(GPU, GPU_FILES, "gpu.tar")


def _llm() -> None:
    _build_test_image(LLM, LLM_FILES, "llm.tar", folder=_provide_model() / llm.ENGINE)


def _weights() -> None:
    print(_provide_model() / llm.WEIGHTS)


def _provide_model() -> Path:
    return llm.provide_model(GoCache(Settings.from_environ(os.environ).cache, _notify))


def _build_test_image(
    tag: str,
    sources: Sequence[str],
    archive: str,
    variables: Mapping[str, str] = _ON_BASE,
    folder: Path | None = None,
) -> None:
    """Build an image of these files, and a folder.

    `variables`: the variables for its build arguments.
    """
    engine = find_engine(REPOSITORY / "build/containers")
    given = {name: os.environ.get(variable) or "" for name, variable in variables.items()}
    given = {name: value for name, value in given.items() if value}
    with tempfile.TemporaryDirectory() as context:
        for name in sources:
            shutil.copy(REPOSITORY / name, context)
        if folder:
            shutil.copytree(folder, Path(context, folder.name))
        recipe = Recipe(Path(context, "Dockerfile"), Path(context), 0, given)
        _notify(f"building {tag}")
        engine.build(tag, recipe)
    _save(engine, tag, archive)


def _save(engine: Engine, tag: str, name: str) -> None:
    archive = REPOSITORY / "build" / name
    engine.save(tag, archive)
    print(tag, archive, sep="\n")


def image_labels(version: str, base_name: str) -> dict[str, str]:
    """The annotations that the OCI's image specification names."""
    galaxy = yaml.safe_load((REPOSITORY / "galaxy.yml").read_text())
    labels = {
        "title": _TITLE,
        "description": galaxy["description"],
        "version": version,
        "revision": _git("rev-parse", "HEAD"),
        "licenses": " AND ".join(galaxy["license"]),
        "source": galaxy["repository"],
        "documentation": galaxy["documentation"],
        "base.name": base_name.partition("@")[0],
        "base.digest": base_name.partition("@")[2],
    }
    return {f"org.opencontainers.image.{key}": value for key, value in labels.items() if value}


def _provide_base(engine: Engine, target: str) -> str:
    wanted = os.environ.get("BASE") or ""
    settings = Settings.from_environ(os.environ)
    if wanted != STAND_IN:
        name = wanted or default_base((REPOSITORY / "Dockerfile").read_text())
        _notify(f"pulling the base image {name}")
        reason = engine.pull(without_tag(name), target)
        if not reason:
            return name
        if wanted:
            raise SandboxError(f"BASE={wanted} cannot be pulled: {reason}")
        _notify(
            f"it cannot be pulled, so the image gets a stand-in as its base: {_last_line(reason)}"
        )
    if target:
        raise SetupError(
            f"a stand-in has this machine's architecture, not {target}:"
            " set BASE to an image that can be pulled"
        )
    cache = GoCache(settings.cache, _notify)
    return base.provide_base(cache, engine, settings.found, _notify)


def without_tag(name: str) -> str:
    """The name of an image for programs that do not take both a tag and a digest."""
    return re.sub(r":[\w.-]+(?=@sha256:)", "", name)


def default_base(dockerfile: str) -> str:
    """The base image that a Dockerfile names as its default."""
    match = re.search(r"^ARG BASE=(\S+)$", dockerfile, re.MULTILINE)
    if match is None:
        raise SandboxError("the Dockerfile has no ARG BASE with a default")
    return match[1]


def _version() -> str:
    return str(yaml.safe_load((REPOSITORY / "galaxy.yml").read_text())["version"])


def _image_name() -> str:
    settings = yaml.safe_load((REPOSITORY / "config/manager/kustomization.yaml").read_text())
    return str(settings["images"][0]["newName"])


def _epoch() -> int:
    return int(os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct") or 0)


def _git(*arguments: str) -> str:
    return run(["git", "-C", REPOSITORY, *arguments]).strip()


def _last_line(text: str) -> str:
    return text.rstrip().rpartition("\n")[2]
