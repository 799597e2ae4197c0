# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What the administrator sets for the GPU stack, by environment variables of the operator."""

from __future__ import annotations

import typing as t

from ..._engine.observed import OPERATOR, Observed
from .images import read_images

NAMESPACE = "NIMOPS_GPU_NAMESPACE"
_NAMESPACE_SETTING = "gpu_namespace"
_USUAL = "gpu-operator"


def read_gpu_settings(environment: t.Mapping[str, str]) -> dict[str, t.Any]:
    """The settings for pure code, as part of the operator's configuration."""
    return {_NAMESPACE_SETTING: environment.get(NAMESPACE, ""), **read_images(environment)}


def gpu_namespace(observed: Observed) -> str:
    """The namespace of the stack: the operator's, unless the administrator names another one.

    Without an operator, as when rendering, it is the one that such stacks usually have.
    """
    given = (observed.get(OPERATOR) or {}).get(_NAMESPACE_SETTING)
    return str(given or observed.operator_namespace or _USUAL)
