# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Errors that end a command with a message instead of a traceback, and their exit codes."""

from __future__ import annotations


class SandboxError(Exception):
    """Something failed at run time: a build, a component, a wait."""

    exit_code = 1


class UnsupportedError(SandboxError):
    """A real node is not possible on this machine, or not yet."""

    exit_code = 4


class SetupError(SandboxError):
    """The caller has to change something first: a setting, a missing program, an occupied port."""

    exit_code = 2
