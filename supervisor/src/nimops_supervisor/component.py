# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of the installation that are served. Each has a file of watches beside that of the default parts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from nimops_supervisor.settings import SettingsError

COMPONENT, NEMO = "NIMOPS_COMPONENT", "NIMOPS_NEMO"
_BASE, _NEMO = "nim", "nemo"
_ON, _OFF = "on", "off"
_HEAD = "---\n"


def served(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The parts beside the one that is always there; SettingsError."""
    nemo, component = (environment.get(name, "").strip() for name in (NEMO, COMPONENT))
    if nemo.lower() not in {"", _ON, _OFF}:
        raise SettingsError(f"{NEMO}={nemo!r}: must be {_ON} or {_OFF}")
    return [*([] if nemo.lower() == _OFF else [_NEMO]), *([component] if component else [])]


def compose_watches(given: str, environment: Mapping[str, str]) -> str:
    """The watches of the parts that are served; empty if the given file has just these. SettingsError."""
    usual, parts = Path(given), [_BASE, *served(environment)]
    wanted = environment.get(COMPONENT, "").strip()
    if parts == [_BASE, _NEMO] and not wanted:
        return ""
    prefix = f"{usual.stem}-"
    files = {file.stem.removeprefix(prefix): file for file in usual.parent.glob(f"{prefix}*{usual.suffix}")}
    known = sorted(files.keys() - {_BASE, _NEMO})
    if wanted and wanted not in known:
        raise SettingsError(f"{COMPONENT}={wanted!r}: must be one of {', '.join(known) or 'none'}, or empty")
    missing = [f"{prefix}{name}{usual.suffix}" for name in parts if name not in files]
    if missing:
        switch = COMPONENT if wanted else NEMO
        raise SettingsError(f"{switch}={environment[switch]!r}: {', '.join(missing)} is missing beside {given}")
    return "\n".join(files[name].read_text().removeprefix(_HEAD) for name in parts)
