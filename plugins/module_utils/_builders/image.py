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
    """An image.

    ``reference``: `repository:tag`. ``pull_policy``: empty if unset. ``pull_secrets``: names of
    Secrets.
    """

    reference: str
    tag: str = ""
    pull_policy: str = ""
    pull_secrets: t.Sequence[str] = ()


def parse_image(given: Fields | None) -> Image:
    """The image; empty if unset, as in a spec that is only finalized."""
    if not given:
        return Image("")
    policy, secrets = given.get("pullPolicy") or "", given.get("pullSecrets") or ()
    return Image(image_reference(given), given.get("tag") or "", policy, secrets)
