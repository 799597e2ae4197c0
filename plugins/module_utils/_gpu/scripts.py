# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""POSIX shell code for the GPU stack's pods, assembled from the files in `shell`."""

from __future__ import annotations

from pathlib import Path

_SHELL = Path(__file__).parent / "shell"


def _text(*files: str) -> str:
    """Concatenate files."""
    return "\n".join((_SHELL / f"{file}.sh").read_text(encoding="utf-8") for file in files)


STARTUP_PROBE = _text("startup-probe")
"""Startup probe of the driver container; a file in a ConfigMap."""

DRIVER_PRE_STOP = _text("driver-pre-stop")
"""preStop hook of the driver container. This and the following texts, except entrypoints, are
arguments of `sh -c`."""

TOOLKIT_ENTRYPOINT = _text("wait", "driver-ready", "toolkit-entrypoint")
DEVICE_PLUGIN_ENTRYPOINT = _text("wait", "driver-ready", "device-plugin-entrypoint")
MIG_MANAGER_ENTRYPOINT = _text("wait", "driver-ready", "mig-manager-entrypoint")
"""Entrypoints are files in ConfigMaps."""

WAIT_FOR_TOOLKIT = _text("wait", "wait-for-toolkit")
"""Init container `toolkit-validation`."""

VALIDATOR_MAIN = _text("wait", "validator-main")
VALIDATOR_STOP = _text("validator-stop")
"""Main container of the validator, and its preStop hook."""

GDS_INSTALL = _text("wait", "driver-sources", "gds-install")
GDRCOPY_INSTALL = _text("wait", "driver-sources", "gdrcopy-install")
"""Side containers of the driver."""

GDS_PROBE = _text("gds-probe")
GDRCOPY_PROBE = _text("gdrcopy-probe")
"""Startup probes of the side containers."""

TEXTS = frozenset(
    value for name, value in list(globals().items()) if name.isupper() and isinstance(value, str)
)
"""All shell code that a pod template may contain."""
