# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Namespace of the GPU stack, a setting of the operator."""

from __future__ import annotations

from .._engine.observed import OPERATOR, Observed

_NAMESPACE_SETTING = "gpu_namespace"
_USUAL = "gpu-operator"


def gpu_namespace(observed: Observed) -> str:
    """Return the configured namespace, by default the operator's own.

    Without an operator, as when rendering, it is the usual namespace of such stacks.
    """
    given = (observed.get(OPERATOR) or {}).get(_NAMESPACE_SETTING)
    return str(given or observed.operator_namespace or _USUAL)
