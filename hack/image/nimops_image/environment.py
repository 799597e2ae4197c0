# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Builds the execution environment on a stand-in for its base that includes all downloads."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import yaml
from nimops_sandbox.errors import SandboxError
from nimops_sandbox.settings import REPOSITORY

from . import files
from .base import Interpreter, pip_download
from .commands import Notify
from .engine import Engine, Recipe

NAME = "localhost/nimops/execution-environment"
_BASE = "localhost/nimops/execution-environment-stand-in"
_DOCKERFILE = Path(__file__).resolve().parent.parent / "environment.Dockerfile"
_DEFINITION = REPOSITORY / "execution-environment.yml"
_CONTEXT = REPOSITORY / "build/execution-environment"
_RENDER = """
export HOME=/tmp ANSIBLE_STDOUT_CALLBACK=nimops.nim.pipe
export ANSIBLE_LOCALHOST_WARNING=false ANSIBLE_INVENTORY_UNPARSED_WARNING=false
ansible-playbook nimops.nim.render --extra-vars files=/mnt/apps_v1alpha1_nimservice.yaml
"""
# Packages that ansible-builder installs into each image.
_BUILDER_PACKAGES = ("bindep", "dumb-init==1.2.5", "packaging", "pyyaml", "setuptools", "wheel")


def build_environment(engine: Engine, base: str, interpreter: Interpreter, notify: Notify) -> str:
    """Build the context of ansible-builder in build/execution-environment; return the name."""
    if interpreter.home is None:
        raise SandboxError(
            f"the execution environment needs Python 3.12 of pyenv, not {interpreter.version}"
        )
    if not (_CONTEXT / "Containerfile").is_file():
        raise SandboxError(f"{_CONTEXT}: has no Containerfile: `make galaxy` writes it")
    notify("building a stand-in for the base of the execution environment")
    core = files.find_collection("kubernetes", "core")
    with tempfile.TemporaryDirectory() as scratch:
        context = Path(scratch)
        library = interpreter.home / f"lib/python{interpreter.version}"
        shutil.copytree(library / "ensurepip", context / "ensurepip")
        given = [*_BUILDER_PACKAGES, *installed_packages(_DEFINITION.read_text())]
        lists = (REPOSITORY / "requirements.txt", core / "requirements.txt")
        given += [f"--requirement={name}" for name in lists]
        pip_download(given, interpreter, context / "wheels")
        (context / "collections").mkdir()
        files.pack_collection(core, context / "collections")
        engine.build(_BASE, Recipe(_DOCKERFILE, context, 0, {"BASE": base}))
    notify("building the execution environment")
    python = f"/usr/local/bin/python{interpreter.version}"
    arguments = {
        "EE_BASE_IMAGE": _BASE,
        "PYCMD": python,
        # It has all packages already.
        "PKGMGR": "/usr/bin/true",
        "ANSIBLE_GALAXY_CLI_COLLECTION_OPTS": "--offline",
    }
    engine.build(NAME, Recipe(_CONTEXT / "Containerfile", _CONTEXT, 0, arguments))
    return NAME


def render_samples(engine: Engine, name: str) -> str:
    """Return the samples of config/samples, rendered in a container of the image."""
    return engine.run(name, _RENDER, REPOSITORY / "config/samples")


def installed_packages(definition: str) -> list[str]:
    """Return the packages of the definition, besides those that collections require."""
    dependencies = yaml.safe_load(definition)["dependencies"]
    return [dependencies[name]["package_pip"] for name in ("ansible_core", "ansible_runner")]
