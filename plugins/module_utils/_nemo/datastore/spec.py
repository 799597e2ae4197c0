# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The parsed spec of a NemoDatastore."""

from __future__ import annotations

from dataclasses import dataclass

from ..._base.types import Fields
from ..._builders.pvc import parse_claim
from .. import spec
from ..database import Database

_GROUP = 1000


@dataclass(frozen=True)
class Secrets:
    """`spec.secrets`: the names of Secrets."""

    admin: str
    jwt: str
    init: str
    config: str
    inline_config: str


@dataclass(frozen=True)
class ObjectStore:
    """`spec.objectStoreConfig`."""

    endpoint: str
    bucket: str
    region: str
    uses_tls: bool
    is_direct: bool
    user: str
    password: spec.SecretKey


@dataclass(frozen=True, kw_only=True)
class Spec(spec.Spec):
    """The spec. ``object_store``: None if large files are stored in the data volume."""

    database: Database
    secrets: Secrets
    object_store: ObjectStore | None


def parse_spec(resource: Fields) -> Spec:
    """The spec."""
    given = resource["spec"]
    pvc, store = given.get("pvc"), given.get("objectStoreConfig")
    return Spec(
        **spec.shared_fields(resource, default_group=_GROUP),
        claim=None if pvc is None else parse_claim(resource, pvc, "spec.pvc"),
        secrets=_parse_secrets(given["secrets"]),
        object_store=_parse_object_store(store) if store else None,
    )


def _parse_secrets(given: Fields) -> Secrets:
    return Secrets(
        admin=str(given["giteaAdminSecret"]),
        jwt=str(given["lfsJwtSecret"]),
        init=str(given["datastoreInitSecret"]),
        config=str(given["datastoreConfigSecret"]),
        inline_config=str(given["datastoreInlineConfigSecret"]),
    )


def _parse_object_store(given: Fields) -> ObjectStore:
    credentials = given["credentials"]
    return ObjectStore(
        endpoint=given["endpoint"],
        bucket=given["bucketName"],
        region=given["region"],
        uses_tls=given["ssl"],
        is_direct=given.get("serveDirect", True),
        user=credentials["user"],
        password=spec.SecretKey(credentials["secretName"], credentials["passwordKey"]),
    )
