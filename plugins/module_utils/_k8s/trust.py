# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Whom a model server's HTTPS is believed, and which of them is told who asks.

A model server is run by a tenant, who sees what it is sent, so the token is never the operator's
own: it is one that an administrator provides for the purpose. It goes only where the cluster itself
vouches for the peer: to a Service of the namespace whose model is asked for, whose certificate the
cluster's own authority has signed. That authority is a file that an administrator mounts.
"""

from __future__ import annotations

import os
import re
import ssl
from pathlib import Path

AUTHORITY = Path("/etc/pki/tls/service-ca/service-ca.crt")
TOKEN_VARIABLE = "NIMOPS_MODEL_TOKEN"
"""The environment variable that says in which file the token is; without it, none is sent."""


def make_context(url: str) -> ssl.SSLContext | None:
    """How to speak to an https URL, None for any other; ssl.SSLError if the authority is bad."""
    if not url.startswith("https://"):
        return None
    context = ssl.create_default_context(cadata=_read(AUTHORITY) or None)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def authorization(url: str, namespace: str) -> dict[str, str]:
    """The header that says who asks, empty if the URL's server is not to know."""
    if not is_in_cluster(url, namespace) or not _read(AUTHORITY):
        return {}
    file = os.environ.get(TOKEN_VARIABLE)
    token = _read(Path(file)).strip() if file else ""
    return {"Authorization": f"Bearer {token}"} if token else {}


def is_in_cluster(url: str, namespace: str) -> bool:
    """Whether an https URL names a Service of a namespace, as the cluster's DNS writes it."""
    host = rf"[a-z0-9-]+\.{re.escape(namespace)}\.svc(\.cluster\.local)?"
    return bool(namespace) and bool(re.fullmatch(rf"https://{host}(:\d+)?(/.*)?", url))


def _read(path: Path) -> str:
    """The text of a file, empty if it cannot be read."""
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
