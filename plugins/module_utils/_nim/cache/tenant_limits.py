# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Refusal of NIMCaches that the operator forbids, by `_builders/tenant_limits.py`."""

from __future__ import annotations

from ..._builders.tenant_limits import refuse, root_user_violations
from .app import NIMCacheApp


def refuse_forbidden(app: NIMCacheApp) -> None:
    """NimError if the spec contains something that the operator forbids."""
    refuse(root_user_violations(app, app.spec.user))
