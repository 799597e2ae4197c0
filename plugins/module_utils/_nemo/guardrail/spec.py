# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The parsed spec of a NemoGuardrail."""

from __future__ import annotations

from dataclasses import dataclass

from ..._base.types import Fields
from ..._builders.pvc import parse_claim
from .. import spec

API_KEY = "NIM_ENDPOINT_API_KEY"
"""The variable for the model's API key; also the default key in its Secret."""

_SUB_PATH = "guardrails-config-store"


@dataclass(frozen=True)
class Model:
    """`spec.nimEndpoint`."""

    url: str
    api_key: spec.SecretKey | None


@dataclass(frozen=True, kw_only=True)
class Spec(spec.Spec):
    """The spec. ``config_map``: the ConfigMap with the rail configuration, or empty.

    If there is a ``claim``, it contains the configuration.
    """

    config_map: str
    model: Model | None
    telemetry: spec.Telemetry | None


def parse_spec(resource: Fields) -> Spec:
    """The spec."""
    given = resource["spec"]
    store, model = given.get("configStore") or {}, given.get("nimEndpoint")
    pvc = store.get("pvc")
    return Spec(
        **spec.shared_fields(resource),
        claim=(
            None if pvc is None else parse_claim(resource, pvc, "spec.configStore.pvc", _SUB_PATH)
        ),
        config_map=str((store.get("configMap") or {}).get("name") or ""),
        model=_parse_model(model) if model else None,
        telemetry=spec.parse_telemetry(given.get("otel")),
    )


def _parse_model(given: Fields) -> Model:
    secret = given.get("apiKeySecret")
    key = spec.text_of(given, "apiKeyKey", API_KEY)
    return Model(given["baseURL"], spec.SecretKey(secret, key) if secret else None)
