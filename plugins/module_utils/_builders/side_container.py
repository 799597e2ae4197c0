# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The init containers and sidecars of a spec."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .._base.types import Fields, Json
from .env import EnvVar
from .image import Image, parse_image
from .pod import without_empty


@dataclass(frozen=True)
class SideContainer:
    """An additional container of the user."""

    name: str
    image: Image
    command: t.Sequence[str] | None
    args: t.Sequence[str] | None
    working_dir: str | None
    env: t.Sequence[EnvVar]


def parse_side_containers(given: t.Sequence[Fields] | None) -> list[SideContainer]:
    """The containers of `spec.initContainers` or `spec.sidecarContainers`."""
    return [
        SideContainer(
            name=fields["name"],
            image=parse_image(fields["image"]),
            command=fields.get("command"),
            args=fields.get("args"),
            working_dir=fields.get("workingDir"),
            env=fields.get("env") or [],
        )
        for fields in given or []
    ]


def build_side_container(
    given: SideContainer, env: t.Sequence[EnvVar], mounts: t.Sequence[Json], pull_policy: str
) -> Json:
    """The container; ``env`` is its whole environment."""
    return without_empty(
        {
            "name": given.name,
            "image": given.image.reference,
            "imagePullPolicy": pull_policy,
            "command": given.command,
            "args": given.args,
            "workingDir": given.working_dir,
            "env": env,
            "volumeMounts": mounts,
        }
    )
