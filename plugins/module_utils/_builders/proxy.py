# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""`spec.proxy`: the environment variables of a proxy, and its certificates."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .env import EnvVar, env


@dataclass(frozen=True)
class Proxy:
    """`spec.proxy`; a proxy without fields differs from none.

    ``env``: the variables, which override the user's. ``config_map``: the ConfigMap with the user's
    certificates; empty if unset.
    """

    is_given: bool
    env: t.Sequence[EnvVar]
    config_map: str


def parse_proxy(given: t.Mapping[str, str] | None) -> Proxy:
    """The proxy; ``given`` is None if the spec has none."""
    if given is None:
        return Proxy(False, (), "")
    return Proxy(True, _env(given), given.get("certConfigMap") or "")


def _env(given: t.Mapping[str, str]) -> list[EnvVar]:
    https, http, no = (given.get(key, "") for key in ("httpsProxy", "httpProxy", "noProxy"))
    return env(
        NIM_SDK_USE_NATIVE_TLS="1",
        HTTPS_PROXY=https,
        HTTP_PROXY=http,
        NO_PROXY=no,
        https_proxy=https,
        http_proxy=http,
        no_proxy=no,
    )
