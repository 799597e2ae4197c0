# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The image of a container in a spec."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .._base.types import Fields
from .pod import image_reference


@dataclass(frozen=True)
class Image:
    """The image of a container, as a spec has it.

    ``reference``: `repository:tag`; empty without an image. ``tag``, ``pull_policy``: empty if
    unset. ``pull_secrets``: names of Secrets for the registry, in the namespace of the resource.
    """

    reference: str
    tag: str = ""
    pull_policy: str = ""
    pull_secrets: t.Sequence[str] = ()


def parse_image(fields: Fields | None) -> Image:
    """Parse `spec.image`, with `repository`, `tag`, `pullPolicy` and `pullSecrets`.

    Returns an empty `Image` without fields: the spec of a resource that is being deleted may lack
    them. KeyError without a repository or a tag, which the CRDs require.
    """
    if not fields:
        return Image("")
    policy, secrets = fields.get("pullPolicy") or "", fields.get("pullSecrets") or ()
    return Image(image_reference(fields), fields.get("tag") or "", policy, secrets)
