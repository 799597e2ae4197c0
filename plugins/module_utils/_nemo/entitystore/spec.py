# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The parsed spec of a NemoEntitystore."""

from __future__ import annotations

from dataclasses import dataclass

from ..._base.types import Fields
from .. import spec
from ..database import Database


@dataclass(frozen=True, kw_only=True)
class Spec(spec.Spec):
    """The spec. ``datastore``: the URL of the datastore."""

    database: Database
    datastore: str


def parse_spec(resource: Fields) -> Spec:
    """The spec."""
    datastore = spec.endpoint_of(resource["spec"], "datastore")
    return Spec(**spec.shared_fields(resource), datastore=datastore)
