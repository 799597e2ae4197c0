# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Choose the watches of the parts of the installation to serve; each part has its own file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from nimops_supervisor.settings import SettingsError

COMPONENT, NEMO, RECONCILE = "NIMOPS_COMPONENT", "NIMOPS_NEMO", "NIMOPS_RECONCILE"
_BASE, _NEMO = "nim", "nemo"
_ON, _OFF = "on", "off"
_TASK, _ROLE = "task", "role"
_BY_ROLE = "-by-role"
_HEAD = "---\n"


def served(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The parts to serve in addition to the base; SettingsError."""
    nemo, component = (environment.get(name, "").strip() for name in (NEMO, COMPONENT))
    if nemo.lower() not in {"", _ON, _OFF}:
        raise SettingsError(f"{NEMO}={nemo!r}: must be {_ON} or {_OFF}")
    return [*([] if nemo.lower() == _OFF else [_NEMO]), *([component] if component else [])]


def is_by_role(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether resources are reconciled by roles instead of one task; SettingsError."""
    way = environment.get(RECONCILE, "").strip().lower()
    if way not in {"", _TASK, _ROLE}:
        raise SettingsError(f"{RECONCILE}={way!r}: must be {_TASK} or {_ROLE}")
    return way == _ROLE


def compose_watches(given: str, environment: Mapping[str, str]) -> str:
    """The watches of the parts to serve; empty if the given file has exactly these. SettingsError."""
    default, parts = Path(given), [_BASE, *served(environment)]
    wanted, way = environment.get(COMPONENT, "").strip(), _BY_ROLE if is_by_role(environment) else ""
    if parts == [_BASE, _NEMO] and not wanted and not way:
        return ""
    prefix = f"{default.stem}-"
    files = {file.stem.removeprefix(prefix): file for file in default.parent.glob(f"{prefix}*{default.suffix}")}
    known = sorted(name for name in files.keys() - {_BASE, _NEMO} if not name.endswith(_BY_ROLE))
    if wanted and wanted not in known:
        raise SettingsError(f"{COMPONENT}={wanted!r}: must be one of {', '.join(known) or 'none'}, or empty")
    missing = [f"{prefix}{name}{way}{default.suffix}" for name in parts if f"{name}{way}" not in files]
    if missing:
        switch = COMPONENT if wanted else RECONCILE if way else NEMO
        raise SettingsError(f"{switch}={environment[switch]!r}: {', '.join(missing)} is missing beside {given}")
    return "\n".join(files[f"{name}{way}"].read_text().removeprefix(_HEAD) for name in parts)
