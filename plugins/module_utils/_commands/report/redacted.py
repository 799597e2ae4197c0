# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Removes credentials from a report, as `gather` does."""

from __future__ import annotations

import typing as t
from dataclasses import fields, is_dataclass, replace
from functools import cache

from ..gather.redact import Redactor
from .advice import Advice
from .model import Report


def redact_report(report: Report, redactor: Redactor) -> Report:
    """A copy in which each text of the cluster is redacted; advice is text of ours."""
    redact = cache(redactor.redact_text)

    def visit(value: t.Any) -> t.Any:
        if isinstance(value, str):
            return redact(value)
        if isinstance(value, tuple):
            return tuple(map(visit, value))
        if is_dataclass(value) and not isinstance(value, (type, Advice)):
            found = {item.name: visit(getattr(value, item.name)) for item in fields(value)}
            return replace(value, **found)
        return value

    return t.cast(Report, visit(report))
