# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The containers of the pod: the model, sidecars and init containers."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ...._base.types import Json
from ...._builders.certificates import ca_init_container
from ...._builders.copies import refuse_copies
from ...._builders.image import Image
from ...._builders.pod import find_container, without_empty
from ...._builders.side_container import SideContainer, build_side_container
from ...dra.pod_claims import PodClaim, with_claims
from ..app import NIMServiceApp
from ..dra import pod_claims
from ..model_layout import is_native
from ..model_store import Store
from . import drain
from .env import main_env, side_env
from .gpu import build_resources
from .variant import PodVariant
from .volumes import build_init_mounts, build_main_mounts


def build_containers(app: NIMServiceApp, store: Store, variant: PodVariant) -> list[Json]:
    """The model container, then the sidecars; all use the claims of the pod.

    NimError if a claim is invalid.
    """
    spec, native = app.spec, is_native(app, store)
    mounts = [*build_main_mounts(app, store, native=native), *variant.mounts]
    model = {
        "name": variant.container,
        "image": spec.image.reference,
        "imagePullPolicy": spec.image.pull_policy,
        "command": spec.command,
        "args": spec.args or list(variant.args),
        "ports": [
            {"name": name, "containerPort": number, "protocol": "TCP"}
            for name, number in {**spec.expose.ports, **variant.ports}.items()
        ],
        "env": main_env(
            app,
            replace(store, profile=store.profile or variant.profile),
            native=native,
            role=variant.env,
            requires_key=variant.requires_key,
        ),
        "volumeMounts": mounts,
        "resources": build_resources(app, store),
        **variant.probes,
        **drain.container_fields(app, variant.drain, serves="readinessProbe" in variant.probes),
    }
    sidecars, claims = spec.sidecars, pod_claims(app)
    _refuse_copies(app, "spec.sidecarContainers", len(sidecars), mounts, claims)
    beside = [_side_container(app, item, mounts, variant) for item in sidecars]
    return with_claims([without_empty(model), *beside], claims)


def build_init_containers(app: NIMServiceApp, store: Store, variant: PodVariant) -> list[Json]:
    """The init container for certificates, if any, then the user's."""
    mounts = build_init_mounts(app, store, native=is_native(app, store))
    first = [_ca_container(app, mounts, variant)] if app.spec.proxy.config_map else []
    users = app.spec.init_containers
    _refuse_copies(app, "spec.initContainers", len(users), mounts)
    return first + [_side_container(app, item, mounts, variant) for item in users]


def pull_policy(app: NIMServiceApp, own: Image) -> str:
    """The pull policy of a container with its own image; by default that of the model."""
    return own.pull_policy or app.spec.image.pull_policy


def _refuse_copies(
    app: NIMServiceApp,
    into: str,
    copies: int,
    mounts: list[Json],
    claims: t.Sequence[PodClaim] = (),
) -> None:
    """NimError if the copies of shared settings in so many containers would be too large."""
    shared = {
        "spec.env": app.spec.env,
        "spec.authSecret": app.spec.auth_secret,
        "spec.image": app.spec.image.pull_policy,
        "spec.proxy": app.spec.proxy.env,
        "spec.storage": mounts,
        "spec.draResources": [[claim.name, claim.requests] for claim in claims],
    }
    refuse_copies(shared, into, copies)


def _side_container(
    app: NIMServiceApp, given: SideContainer, mounts: list[Json], variant: PodVariant
) -> dict[str, t.Any]:
    env = side_env(app, given.env, requires_key=variant.requires_key)
    return build_side_container(given, env, mounts, pull_policy(app, given.image))


def _ca_container(app: NIMServiceApp, mounts: list[Json], variant: PodVariant) -> dict[str, t.Any]:
    """The init container that adds certificates.

    If its image is unchanged, the live script is kept: scripts of the reference or of other
    releases are equivalent, and a change would restart the pods without need.
    """
    image = app.spec.image.reference
    container = ca_init_container(image, side_env(app, requires_key=variant.requires_key), mounts)
    if policy := app.spec.image.pull_policy:
        container["imagePullPolicy"] = policy
    live = find_container(variant.live, container["name"], "initContainers")
    if live.get("image") == image and live.get("command"):
        container |= {key: live[key] for key in ("command", "args") if live.get(key)}
    return container
