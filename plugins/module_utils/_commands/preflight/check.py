# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The result of one check: a line of `preflight`."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._base.printable import printable
from ..._engine.api_resources import ObjectKey as Key
from ..text import name_of

OK, WARNING, ERROR = "ok", "warning", "error"
LEVELS = (OK, WARNING, ERROR)

_MAX_TEXT = 600
_MAX_NAME = 200


@dataclass(frozen=True)
class Check:
    """A verdict about a resource.

    ``check``: its subject, such as `nodes` or `quota`. ``remedy`` is empty if all is well. Texts
    may come from the cluster: `to_dict` bounds them.
    """

    level: str
    resource: str
    check: str
    message: str
    remedy: str = ""

    def to_dict(self) -> dict[str, str]:
        """The check as plain data, without control characters."""
        return {
            "level": self.level,
            "resource": printable(self.resource, _MAX_NAME),
            "check": self.check,
            "message": printable(self.message, _MAX_TEXT),
            "remedy": printable(self.remedy, _MAX_TEXT),
        }


class Reporter:
    """Collects the checks of one subject of one resource."""

    def __init__(self, resource: Key | str, check: str) -> None:
        self.resource = resource if isinstance(resource, str) else name_of(resource)
        self.check = check
        self.found: list[Check] = []

    def ok(self, message: str) -> None:
        """Report that something is as it must be."""
        self._add(OK, message, "")

    def warn(self, message: str, remedy: str) -> None:
        """Report something that may be wrong, or that limits the resource."""
        self._add(WARNING, message, remedy)

    def fail(self, message: str, remedy: str) -> None:
        """Report something that keeps the resource from running."""
        self._add(ERROR, message, remedy)

    def _add(self, level: str, message: str, remedy: str) -> None:
        check = Check(level, self.resource, self.check, message, remedy)
        if check not in self.found:
            self.found.append(check)


def is_runnable(checks: t.Iterable[Check]) -> bool:
    """Whether there is no error."""
    return all(check.level != ERROR for check in checks)
