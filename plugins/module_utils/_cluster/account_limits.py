# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Whether the policy of config/admission limits the account that we use.

Some ways of installing cannot include it, and an administrator may remove it. It is asked what it
must refuse, as a dry run: this shows that it is in effect, and needs no permission to read it.
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
"""Refused, by the policy or as RBAC does not allow it either; or there is no such namespace."""


def find_missing_limits(client: Client, namespace: str) -> t.Iterator[str]:
    """A warning if the API server accepts a Secret that mints a token of another account.

    ``namespace``: one in which the account may create Secrets. Nothing is stored. ApiError if the
    API server does not answer.
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
        " Apply admission.yaml of the release:"
        " docs/operate/install.md#olm"
    )
