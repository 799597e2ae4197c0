# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Builds nimops-apiproxy for the image, the only program of ours that must be compiled."""

from __future__ import annotations

import os
from pathlib import Path

from nimops_sandbox.gocache import GoCache
from nimops_sandbox.settings import REPOSITORY

from .architecture import PLATFORMS

PROGRAM = "nimops-apiproxy"
SOURCE = REPOSITORY / "packages/nimops-apiproxy"


def build_apiproxy(cache: GoCache, version: str, machine: str, source: Path = SOURCE) -> Path:
    """Build the program for an architecture unless it is in the cache; return its file.

    The build is reproducible: without paths, time and build ID.
    """
    system, _slash, architecture = PLATFORMS[machine].partition("/")
    flags = f"-ldflags=-s -w -buildid= -X main.version={version}"
    command = ["go", "build", "-mod=readonly", "-buildvcs=false", "-trimpath", flags]

    def make(result: Path) -> None:
        output = ["-o", f"{result}{os.sep}", f"./cmd/{PROGRAM}"]
        doing = f"building {PROGRAM} for {machine}"
        cache.run(command + output, source, doing, GOOS=system, GOARCH=architecture)

    return cache.provide(source, " ".join([PLATFORMS[machine], *command]), make) / PROGRAM
