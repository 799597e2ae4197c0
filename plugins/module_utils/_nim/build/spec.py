# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The parsed spec of a NIMBuild; no other module parses its fields."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._base.types import Fields
from ..._builders.env import EnvVar
from ..._builders.gpu import Amounts, amounts_of
from ..._builders.image import Image, parse_image
from ..cache_spec import named_cache


@dataclass(frozen=True)
class Spec:
    """The spec of a NIMBuild.

    ``cache_name``: the NIMCache that the engine is built on. ``profile``: the profile to build
    for; if empty, the cache must have exactly one. ``model_name``: the name of the built engine.
    """

    cache_name: str
    profile: str
    model_name: str
    image: Image
    env: t.Sequence[EnvVar]
    amounts: Amounts
    tolerations: t.Sequence[Fields]
    node_selector: t.Mapping[str, str]
    labels: t.Mapping[str, str]
    annotations: t.Mapping[str, str]


def parse_spec(build: Fields) -> Spec:
    """Parse the spec of a NIMBuild."""
    fields = build["spec"]
    return Spec(
        cache_name=named_cache(build),
        profile=(fields.get("nimCache") or {}).get("profile") or "",
        model_name=fields.get("modelName") or build["metadata"]["name"],
        image=parse_image(fields.get("image")),
        env=fields.get("env") or [],
        amounts=amounts_of(fields.get("resources")),
        tolerations=fields.get("tolerations") or [],
        node_selector=fields.get("nodeSelector") or {},
        labels=fields.get("labels") or {},
        annotations=fields.get("annotations") or {},
    )
