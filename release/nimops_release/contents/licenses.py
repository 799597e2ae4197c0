# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Recognizes license texts, and lists the license of each component."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ..programs import run_program
from .component import UNKNOWN, Component

_COLUMNS = ("kind", "name", "version", "license")
Classify = Callable[[Sequence[str]], Mapping[str, Sequence[str]]]


def classify(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the SPDX identifiers of the licenses in each text."""
    with tempfile.TemporaryDirectory() as folder:
        files = {str(Path(folder, str(index))): text for index, text in enumerate(texts)}
        for name, text in files.items():
            Path(name).write_text(text)
        found: dict[str, list[str]] = json.loads(run_program("licenses", *files)) if files else {}
    return {text: found[name] for name, text in files.items()}


def recognize(components: Iterable[Component], how: Classify = classify) -> list[Component]:
    """Return the sorted components; undeclared licenses are recognized from the texts."""
    found = sorted(set(components))
    known = how(sorted({text for item in found if not item.licenses for text in item.texts}))
    return [
        item
        if item.licenses
        else dataclasses.replace(
            item, licenses=tuple(sorted({name for text in item.texts for name in known[text]}))
        )
        for item in found
    ]


def to_table(components: Iterable[Component]) -> str:
    """Return the list as CSV; unknown licenses are listed as unknown."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for item in components:
        license_names = "; ".join(item.licenses) or UNKNOWN
        writer.writerow((item.kind, item.full_name, item.version, license_names))
    return table.getvalue()
