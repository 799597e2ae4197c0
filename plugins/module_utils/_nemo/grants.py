# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What the Role of pods grants, and the operator must have to grant it."""

from __future__ import annotations

import typing as t

from .._engine.kind import Rule


class Grant(t.NamedTuple):
    """Permissions; each field is a list of words, and no group means the core group."""

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
        """The rules of the operator; ``kind``: whose Role it is."""
        why = f"the Role of a {kind} grants it, so the operator needs it too"
        return [Rule(group, self.resources, self.verbs, why) for group in self._groups]

    @property
    def _groups(self) -> list[str]:
        return self.groups.split() or [""]
