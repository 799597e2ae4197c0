# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""One thing that an image contains."""

from __future__ import annotations

from dataclasses import dataclass, field

UNKNOWN = "unknown"


@dataclass(frozen=True, order=True)
class Component:
    """A package, a collection or a file.

    kind: that of its package URL. licenses: SPDX identifiers, or names where the package has
    others. texts: of its licenses, for who has to recognize them. owns: paths of its files.
    """

    kind: str
    name: str
    version: str
    namespace: str = ""
    arch: str = ""
    licenses: tuple[str, ...] = ()
    texts: tuple[str, ...] = field(default=(), compare=False, repr=False)
    owns: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def full_name(self) -> str:
        # Packages of an operating system are in the namespace of all of them.
        apart = self.kind in ("deb", "rpm") or not self.namespace
        return self.name if apart else f"{self.namespace}/{self.name}"
