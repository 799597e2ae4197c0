# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What an InferenceService tells: whether its pods serve, and where."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.conditions import find_condition

Live = t.Optional[t.Mapping[str, t.Any]]  # noqa: UP045 a bar is no type before it is evaluated


def predictor_standing(name: str, live: Live, *, is_changed: bool = False) -> tuple[bool, str]:
    """Whether the predictor is ready, and what is said of it.

    ``is_changed``: its spec was changed in this pass, so that the status is older. The generation
    in the status tells nothing of that: KServe copies it from the object that runs the pods.
    """
    if live is None:
        return False, f'Waiting for InferenceService "{name}" creation'
    found = find_condition((live.get("status") or {}).get("conditions"), "PredictorReady")
    if found is None or is_changed:
        return False, f'Waiting for InferenceService "{name}" reporting Predictor readiness'
    return found.get("status") == "True", str(found.get("message") or "")


def cluster_url(live: Live) -> str:
    """Where pods of the cluster reach it, empty while it does not say."""
    address = ((live or {}).get("status") or {}).get("address") or {}
    return _clean(address.get("url"))


def external_url(live: Live) -> str:
    """Where it is reached by its own name, empty while it does not say."""
    return _clean(((live or {}).get("status") or {}).get("url"))


def _clean(url: t.Any) -> str:
    return url if isinstance(url, str) and url.isprintable() else ""
