# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Builds of config/ by kustomize, without the schemas of the CRDs.

The schemas are nine tenths of a build, and take kubectl and the parser a second and a half of CPU.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import typing as t
from functools import cache
from pathlib import Path

import yaml
from nimops_harness.runtime import ROOT

Json = dict[str, t.Any]

_NO_SCHEMA = {"openAPIV3Schema": {"type": "object"}}


@cache
def copy_config() -> Path:
    """A copy of config/ without schemas, which is removed when the process ends."""
    # kustomize resolves links, and relative paths lead from the real folder.
    folder = Path(tempfile.mkdtemp(prefix="nimops_config_")).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy = folder / "config"
    shutil.copytree(ROOT / "config", copy, ignore=shutil.ignore_patterns("samples", "src"))
    for file in (copy / "crd" / "bases").glob("*_*.yaml"):
        file.write_text(yaml.safe_dump(without_schema(yaml.safe_load(file.read_text()))))
    return copy


def without_schema(definition: Json) -> Json:
    """The CRD with empty schemas."""
    spec = definition["spec"]
    versions = [{**version, "schema": _NO_SCHEMA} for version in spec["versions"]]
    return {**definition, "spec": {**spec, "versions": versions}}


def build(folder: Path) -> list[Json]:
    """The objects of a folder."""
    command = ["kubectl", "kustomize", str(folder)]
    # A build is over before Go's garbage collector frees anything of use; it takes a quarter of the CPU.
    environment = {**os.environ, "GOGC": "off"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return [_parse(text) for text in done.stdout.split("\n---\n")]


@cache
def _parse(text: str) -> Json:
    """Parse a document once: most objects are the same in all builds."""
    return t.cast(Json, yaml.safe_load(text))
