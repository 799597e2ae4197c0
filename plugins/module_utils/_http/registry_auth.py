# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""How the clients of a registry must authenticate, and the token of its token service.

What a registry or a token service answers is data: bounded, and never part of a header unchecked.
"""

from __future__ import annotations

import base64
import json
import re
from urllib.parse import urlencode, urlsplit

_MAX_CHALLENGE = 4096
_MAX_TOKEN = 16 << 10
_BEARER = re.compile(r'\bBearer\s+((?:\w+="[^"]*"[\s,]*)+)', re.IGNORECASE)
_BASIC = re.compile(r"\bBasic\b", re.IGNORECASE)
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')


class RegistryError(Exception):
    """The registry gave no usable answer. The message is safe to show."""


def basic(credentials: str) -> str:
    """The Authorization header of ``user:password``; empty without credentials."""
    return "Basic " + base64.b64encode(credentials.encode()).decode() if credentials else ""


def find_token_service(challenge: str) -> dict[str, str]:
    """The parameters of a challenge (`WWW-Authenticate`) for a token; empty for any other.

    RegistryError if it requires a token but has no realm.
    """
    found = _BEARER.search(challenge[:_MAX_CHALLENGE])
    if not found:
        return {}
    parameters = dict(_PARAMETER.findall(found[1]))
    if not parameters.get("realm"):
        raise RegistryError("the registry's challenge for a token has no realm")
    return parameters


def accepts_basic(challenge: str) -> bool:
    """Whether a challenge accepts a user and a password."""
    return bool(_BASIC.search(challenge[:_MAX_CHALLENGE]))


def token_url(parameters: dict[str, str], scope: str) -> str:
    """The URL of the token service, with the scope of a token."""
    query = {"scope": scope}
    if "service" in parameters:
        query["service"] = parameters["service"]
    separator = "&" if urlsplit(parameters["realm"]).query else "?"
    return f"{parameters['realm']}{separator}{urlencode(query)}"


def bearer(answer: bytes) -> str:
    """The Authorization header of the token in an answer; RegistryError if it has none."""
    try:
        found = json.loads(answer)
        token = str(found.get("token") or found["access_token"])
    except (ValueError, AttributeError, KeyError, RecursionError):
        raise RegistryError("the token service returned no token") from None
    if len(token) > _MAX_TOKEN or not token.isascii() or not token.isprintable():
        raise RegistryError("the token service returned no valid token")
    return f"Bearer {token}"
