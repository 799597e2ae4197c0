# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What a NIMCache asks for that the operator may forbid: `_common/policy.py` says whether."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.certificates import cert_config_map
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.policy import (
    refuse,
    root_user_faults,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.names import Resource


def refuse_forbidden(cr: Resource, observed: Observed) -> None:
    """NimError if the spec has what the operator forbids."""
    refuse(root_user_faults(observed, cr["spec"], cert_config_map(cr["spec"])))
