# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The environment of the containers. Its order is part of the contract."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.env import (
    EnvVar,
    drop_env,
    env,
    merge_env,
    proxy_env,
    secret_env,
    tidy_env,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    is_multi_node,
    ports,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.group_env import group_env
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.layout import NATIVE_PATH
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.store import Store

MODEL_STORE_PATH = "/model-store"

_HF_SCHEME = "hf://"


def base_env(cr: Resource) -> list[EnvVar]:
    """What all containers share: the proxy's, then the user's, then what is left of ours.

    In groups of pods, what these are told of each other comes last.
    """
    merged = merge_env(_standard_env(cr), cr["spec"].get("env") or [])
    merged = merge_env(merged, proxy_env(cr["spec"].get("proxy")))
    return merge_env(group_env(cr), merged) if is_multi_node(cr) else merged


def side_env(cr: Resource, own: t.Sequence[EnvVar] | None) -> list[EnvVar]:
    """The environment of an init container or sidecar; its own variables win and stand first."""
    return tidy_env(merge_env(base_env(cr), own or []))


def main_env(
    cr: Resource, store: Store, *, native: bool, role: t.Sequence[EnvVar] = ()
) -> list[EnvVar]:
    """The environment of the model container; ``role`` is what its pod's role in a group adds."""
    secret = cr["spec"].get("authSecret") or ""
    merged = merge_env(role, base_env(cr))
    if store.is_universal and not native:
        merged = merge_env(_universal_env(store), merged)
    if native:
        cache = (store.cache or {}).get("metadata", {}).get("name", "")
        path = f"{NATIVE_PATH}/{cache}" if cache else NATIVE_PATH
        merged = merge_env(merged, env(NIM_ENGINE_MODEL_PATH=path))
        merged = _with_tokens(merged, secret, hf_optional=True)
    if _is_hf_model(cr, store):
        merged = _with_tokens(merged, secret, hf_optional=False)
    if store.profile:
        merged = [*merged, *drop_env(env(NIM_MODEL_PROFILE=store.profile), *_names(merged))]
    return tidy_env(merged)


def _standard_env(cr: Resource) -> list[EnvVar]:
    numbers = {name: str(number) for name, number in ports(cr).items()}
    items = env(
        NIM_CACHE_PATH=MODEL_STORE_PATH,
        OUTLINES_CACHE_DIR="/tmp/outlines",
        NIM_SERVER_PORT=numbers["api"],
        NIM_HTTP_API_PORT=numbers["api"],
        NIM_JSONL_LOGGING="1",
        NIM_LOG_LEVEL="INFO",
    )
    if cr["spec"].get("authSecret"):
        items.append(secret_env("NGC_API_KEY", cr["spec"]["authSecret"]))
    if "grpc" in numbers:
        items += env(NIM_GRPC_API_PORT=numbers["grpc"], NIM_TRITON_GRPC_PORT=numbers["grpc"])
    if "metrics" in numbers:
        items += env(NIM_TRITON_METRICS_PORT=numbers["metrics"])
    return items


def _universal_env(store: Store) -> list[EnvVar]:
    items = env(NIM_MODEL_NAME=MODEL_STORE_PATH, HF_HOME=f"{MODEL_STORE_PATH}/huggingface/hub")
    return items + (env(NIM_MODEL_PATH=store.model_uri) if store.model_uri else [])


def _with_tokens(items: list[EnvVar], secret: str, *, hf_optional: bool) -> list[EnvVar]:
    """NGC_API_KEY and HF_TOKEN from the secret; without one, no NGC_API_KEY at all."""
    if not secret:
        return drop_env(items, "NGC_API_KEY")
    return [
        secret_env("NGC_API_KEY", secret, optional=True),
        secret_env("HF_TOKEN", secret, optional=hf_optional),
        *drop_env(items, "NGC_API_KEY", "HF_TOKEN"),
    ]


def _is_hf_model(cr: Resource, store: Store) -> bool:
    """Whether the model comes through the Hugging Face protocol, so that its token is needed."""
    return store.is_hf or any(
        item["name"] == "NIM_MODEL_NAME" and str(item.get("value", "")).startswith(_HF_SCHEME)
        for item in cr["spec"].get("env") or []
    )


def _names(items: t.Sequence[EnvVar]) -> list[str]:
    return [item["name"] for item in items]
