# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A model in a registry, as `bundle` packs it, in place of the download from `spec.source`."""

from __future__ import annotations

import re
import typing as t

from ..._base.errors import NimError
from ..._base.image_reference import DIGEST, REGISTRY, REPOSITORY, TAG
from ..._base.types import Json
from ..._builders.app import invalid_annotation
from ..._builders.certificates import CUSTOM_CA_VOLUME
from ..._engine.reads import Read, ReadImage
from .app import NIMCacheApp
from .source import ARTIFACT, source_of

_PROGRAM = "nimops-pull-model"
"""The program in the image of the operator: `_commands/bundle/pull.py`."""
_AUTH, _AUTH_FOLDER = "registry-auth", "/var/run/nimops/registry"
_CA_FOLDER = "/var/run/nimops/ca"
_MAX_LENGTH = 1024
_SCHEME = "oci://"
_PLACE = re.compile(rf"{REGISTRY}/{REPOSITORY}(?::{TAG}|@{DIGEST})", re.ASCII)


def artifact_of(app: NIMCacheApp) -> str:
    """The reference of the model in a registry; empty if the spec's source is used.

    NimError if the annotation is invalid.
    """
    given = app.annotation(ARTIFACT).strip()
    if not given:
        return ""
    place = given.removeprefix(_SCHEME)
    is_plain = given.startswith(_SCHEME) and len(given) <= _MAX_LENGTH
    if not is_plain or not _PLACE.fullmatch(place):
        raise invalid_annotation(
            ARTIFACT,
            given,
            "is not a model in a registry, such as oci://registry.example.com/models/llama:1.0",
        )
    return place


def pull_command(app: NIMCacheApp, place: str, store: str) -> list[str]:
    """The command that downloads the model to the store."""
    command = [_PROGRAM, place, store]
    if source_of(app).pull_secret:
        command += ["--auth", f"{_AUTH_FOLDER}/config.json"]
    if app.spec.proxy.config_map:
        command += ["--ca", _CA_FOLDER]
    return command


def image_reads(app: NIMCacheApp) -> list[Read]:
    """The read of the operator's own image, if it downloads and no other one is configured."""
    observed = app.observed
    namespace, pod = observed.operator_namespace, observed.operator_pod
    if not app.annotation(ARTIFACT).strip() or observed.puller_image or not (namespace and pod):
        return []
    return [ReadImage("Pod", namespace, pod)]


def puller_image(app: NIMCacheApp) -> str:
    """The image that downloads; NimError if the operator has none for models in registries."""
    if not artifact_of(app):
        return source_of(app).puller
    own = [str(app.observed.get(read.key) or "") for read in image_reads(app)]
    if image := app.observed.puller_image or "".join(own):
        return image
    raise NimError(
        f"metadata.annotations[{ARTIFACT}]: the operator cannot read its own image, which"
        " downloads such a model, from its pod: set its environment variable NIMOPS_PULLER_IMAGE",
        reason="NoPullerImage",
    )


def artifact_volumes(app: NIMCacheApp) -> list[Json]:
    """The credentials of the registry, and the authorities to trust."""
    volumes: list[Json] = []
    if secret := source_of(app).pull_secret:
        items = [{"key": ".dockerconfigjson", "path": "config.json"}]
        source = {"secretName": secret, "optional": True, "items": items}
        volumes.append({"name": _AUTH, "secret": source})
    if config_map := app.spec.proxy.config_map:
        volumes.append({"name": CUSTOM_CA_VOLUME, "configMap": {"name": config_map}})
    return volumes


def artifact_mounts(app: NIMCacheApp) -> list[Json]:
    """The mounts of these volumes."""
    folders: t.Mapping[str, str] = {_AUTH: _AUTH_FOLDER, CUSTOM_CA_VOLUME: _CA_FOLDER}
    return [
        {"name": volume["name"], "mountPath": folders[volume["name"]], "readOnly": True}
        for volume in artifact_volumes(app)
    ]
