# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Checks that the policy of config/admission limits the operator's account.

Some installation methods cannot include the policy, and an administrator may remove it. A dry run
of a forbidden write shows whether it is in effect, without permission to read the policy.
"""

from __future__ import annotations

import typing as t

from .._base.errors import ApiError
from .._engine.api_resources import api_path, manifest
from .._engine.metadata import FIELD_MANAGER
from .client import Client

_NAME = "nimops-account-check"
_ACCOUNT = {"kubernetes.io/service-account.name": "default"}
_UNKNOWN = (403, 404)
"""Statuses of a refusal, by the policy or by RBAC, and of a missing namespace."""


def find_missing_limits(client: Client, namespace: str) -> t.Iterator[str]:
    """A warning if the API server accepts a Secret that creates a token of another account.

    ``namespace``: a namespace in which the account may create Secrets. Nothing is stored. ApiError
    if the API server does not answer.
    """
    secret = manifest(
        "Secret",
        _NAME,
        namespace,
        metadata={"annotations": _ACCOUNT},
        type="kubernetes.io/service-account-token",
    )
    try:
        client.apply(api_path("Secret", namespace, _NAME), secret, FIELD_MANAGER, dry=True)
    except ApiError as error:
        if error.status not in _UNKNOWN:
            raise
        return
    yield (
        "no policy limits the operator's account: an attacker with its token can become any"
        " account, with a Secret of type service-account-token."
        " Apply the ServiceAccount with its label nimops.nim/account, and the policies; with OLM,"
        " admission.yaml of the release: docs/operate/install.md#olm"
    )
