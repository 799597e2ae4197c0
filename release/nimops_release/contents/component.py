# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""A component of an image."""

from __future__ import annotations

from dataclasses import dataclass, field

UNKNOWN = "unknown"


@dataclass(frozen=True, order=True)
class Component:
    """A package, a collection or a file.

    kind: the type in its package URL. licenses: SPDX identifiers, or other names from the package.
    texts: license texts to recognize licenses from. owns: paths of its files.
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
        # For operating system packages, the namespace is the distribution.
        apart = self.kind in ("deb", "rpm") or not self.namespace
        return self.name if apart else f"{self.namespace}/{self.name}"
