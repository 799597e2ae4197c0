# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Permissions in the pods' Role, which the operator must also have to grant them."""

from __future__ import annotations

import typing as t

from .._engine.kind import Rule


class Grant(t.NamedTuple):
    """A permission; each field is a space-separated list, and an empty group is the core group."""

    groups: str
    resources: str
    verbs: str

    def role_rule(self) -> dict[str, t.Any]:
        """The rule of the Role."""
        return {
            "apiGroups": self._groups,
            "resources": self.resources.split(),
            "verbs": self.verbs.split(),
        }

    def operator_rules(self, kind: str) -> list[Rule]:
        """The operator's rules for a permission in the Role of a ``kind``."""
        why = f"the Role of a {kind} grants it, so the operator needs it too"
        return [Rule(group, self.resources, self.verbs, why) for group in self._groups]

    @property
    def _groups(self) -> list[str]:
        return self.groups.split() or [""]
