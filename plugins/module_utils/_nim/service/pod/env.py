# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The environment of the containers. Its order is part of the contract."""

from __future__ import annotations

import typing as t

from ...._builders.env import (
    EnvVar,
    drop_env,
    env,
    merge_env,
    normalize_env,
    secret_env,
    yield_to,
)
from ..app import NIMServiceApp
from ..model_layout import NATIVE_PATH
from ..model_store import Store
from .group_env import group_env

MODEL_STORE_PATH = "/model-store"

_HF_SCHEME = "hf://"


def base_env(app: NIMServiceApp, *, requires_key: bool = False) -> list[EnvVar]:
    """The variables of all containers: the proxy's, then the user's, then our other variables.

    User variables take precedence. In groups of pods, the variables about the group come last.
    ``requires_key``: pods do not start without NGC_API_KEY.
    """
    merged = merge_env(_standard_env(app, requires_key), app.spec.env)
    merged = merge_env(merged, yield_to(app.spec.env, app.spec.proxy.env))
    return merge_env(group_env(app), merged) if app.spec.is_multi_node else merged


def side_env(
    app: NIMServiceApp, own: t.Sequence[EnvVar] = (), *, requires_key: bool = False
) -> list[EnvVar]:
    """The environment of an init container or sidecar; its own variables take precedence."""
    return normalize_env(merge_env(base_env(app, requires_key=requires_key), own))


def main_env(
    app: NIMServiceApp,
    store: Store,
    *,
    native: bool,
    role: t.Sequence[EnvVar] = (),
    requires_key: bool = False,
) -> list[EnvVar]:
    """The environment of the model container; ``role``: variables of the pod's role in a group."""
    given = app.spec.env
    merged = merge_env(role, base_env(app, requires_key=requires_key))
    if store.is_universal and not native:
        merged = merge_env(_universal_env(store), merged)
    if native:
        cache = (store.cache or {}).get("metadata", {}).get("name", "")
        path = f"{NATIVE_PATH}/{cache}" if cache else NATIVE_PATH
        merged = merge_env(merged, yield_to(given, env(NIM_ENGINE_MODEL_PATH=path)))
        merged = _with_tokens(app, merged, hf_optional=True)
    if _is_hf_model(app, store):
        merged = _with_tokens(app, merged, hf_optional=False)
    if store.profile:
        merged = [*merged, *drop_env(env(NIM_MODEL_PROFILE=store.profile), *_names(merged))]
    return normalize_env(merged)


def _standard_env(app: NIMServiceApp, requires_key: bool) -> list[EnvVar]:
    numbers = {name: str(number) for name, number in app.spec.expose.ports.items()}
    items = env(
        NIM_CACHE_PATH=MODEL_STORE_PATH,
        OUTLINES_CACHE_DIR="/tmp/outlines",
        NIM_SERVER_PORT=numbers["api"],
        NIM_HTTP_API_PORT=numbers["api"],
        NIM_JSONL_LOGGING="1",
        NIM_LOG_LEVEL="INFO",
    )
    if app.spec.auth_secret:
        key = secret_env("NGC_API_KEY", app.spec.auth_secret, optional=not requires_key)
        items.append(key)
    if "grpc" in numbers:
        items += env(NIM_GRPC_API_PORT=numbers["grpc"], NIM_TRITON_GRPC_PORT=numbers["grpc"])
    if "metrics" in numbers:
        items += env(NIM_TRITON_METRICS_PORT=numbers["metrics"])
    return items


def _universal_env(store: Store) -> list[EnvVar]:
    items = env(NIM_MODEL_NAME=MODEL_STORE_PATH, HF_HOME=f"{MODEL_STORE_PATH}/huggingface/hub")
    return items + (env(NIM_MODEL_PATH=store.model_uri) if store.model_uri else [])


def _with_tokens(app: NIMServiceApp, items: list[EnvVar], *, hf_optional: bool) -> list[EnvVar]:
    """The variables with NGC_API_KEY and HF_TOKEN from ``spec.authSecret``, if there is one."""
    if not app.spec.auth_secret:
        return items
    tokens = [
        secret_env("NGC_API_KEY", app.spec.auth_secret, optional=True),
        secret_env("HF_TOKEN", app.spec.auth_secret, optional=hf_optional),
    ]
    return merge_env(items, yield_to(app.spec.env, tokens))


def _is_hf_model(app: NIMServiceApp, store: Store) -> bool:
    """Whether the model comes from Hugging Face, which requires its token."""
    return store.is_hf or any(
        item["name"] == "NIM_MODEL_NAME" and str(item.get("value", "")).startswith(_HF_SCHEME)
        for item in app.spec.env
    )


def _names(items: t.Sequence[EnvVar]) -> list[str]:
    return [item["name"] for item in items]
