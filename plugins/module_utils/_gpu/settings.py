# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The namespace of the GPU stack, which the administrator can set."""

from __future__ import annotations

from .._engine.observed import OPERATOR, Observed

_NAMESPACE_SETTING = "gpu_namespace"
_USUAL = "gpu-operator"


def gpu_namespace(observed: Observed) -> str:
    """The namespace of the stack: the operator's, unless the administrator names another one.

    Without an operator, as when rendering, it is the one that such stacks usually have.
    """
    given = (observed.get(OPERATOR) or {}).get(_NAMESPACE_SETTING)
    return str(given or observed.operator_namespace or _USUAL)
