# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The shell code of the GPU stack's pods: POSIX, ours, and made of the files in `shell`."""

from __future__ import annotations

from pathlib import Path

_SHELL = Path(__file__).parent / "shell"


def _text(*files: str) -> str:
    """The files, one after the other."""
    return "\n".join((_SHELL / f"{file}.sh").read_text(encoding="utf-8") for file in files)


STARTUP_PROBE = _text("startup-probe")
"""Of the driver container; a file of a ConfigMap."""

DRIVER_PRE_STOP = _text("driver-pre-stop")
"""Of the driver container; an argument of `sh -c`, as are all that follow but the entrypoints."""

TOOLKIT_ENTRYPOINT = _text("wait", "driver-ready", "toolkit-entrypoint")
DEVICE_PLUGIN_ENTRYPOINT = _text("wait", "driver-ready", "device-plugin-entrypoint")
MIG_MANAGER_ENTRYPOINT = _text("wait", "driver-ready", "mig-manager-entrypoint")
"""Entrypoints are files of ConfigMaps."""

WAIT_FOR_TOOLKIT = _text("wait", "wait-for-toolkit")
"""Of the init container `toolkit-validation`."""

VALIDATOR_MAIN = _text("wait", "validator-main")
VALIDATOR_STOP = _text("validator-stop")
"""Of the validator's main container, and of its preStop hook."""

GDS_INSTALL = _text("wait", "driver-sources", "gds-install")
GDRCOPY_INSTALL = _text("wait", "driver-sources", "gdrcopy-install")
"""Of the side containers of the driver."""

GDS_PROBE = _text("gds-probe")
GDRCOPY_PROBE = _text("gdrcopy-probe")
"""Startup probes of these."""

TEXTS = frozenset(
    value for name, value in list(globals().items()) if name.isupper() and isinstance(value, str)
)
"""All shell code that may be part of a pod template."""
