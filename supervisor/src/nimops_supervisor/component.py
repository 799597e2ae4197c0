# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The optional part of the installation that is served, too: it has watches of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

SWITCH = "NIMOPS_COMPONENT"


def name(environment: Mapping[str, str] = os.environ) -> str:
    """The name of the part, such as gpu; empty if there is only the default one."""
    return environment.get(SWITCH, "").strip()


def watches_file(given: str, environment: Mapping[str, str]) -> str:
    """The watches of the default part and this one, beside the given file; LookupError if there is no such part."""
    wanted = name(environment)
    if not wanted:
        return given
    usual = Path(given)
    known = sorted(
        file.stem.removeprefix(f"{usual.stem}-") for file in usual.parent.glob(f"{usual.stem}-*{usual.suffix}")
    )
    if wanted not in known:
        raise LookupError(f"{SWITCH}={wanted!r}: must be one of {', '.join(known) or 'none'}, or empty")
    return str(usual.with_stem(f"{usual.stem}-{wanted}"))
