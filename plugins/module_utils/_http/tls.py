# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""TLS for model servers and registries, and the token for model servers.

Tenants run model servers and see every request, so the token is never the operator's own: an
administrator provides it for this purpose. It is only sent to a Service in the namespace of the
model, with a certificate signed by the CA of the cluster. An administrator mounts that CA as a
file.
"""

from __future__ import annotations

import os
import re
import ssl
from pathlib import Path

AUTHORITY = Path("/etc/pki/tls/service-ca/service-ca.crt")
TOKEN_VARIABLE = "NIMOPS_MODEL_TOKEN"
"""Environment variable with the path of the token file; without it, no token is sent."""


def unify_verification(context: ssl.SSLContext) -> ssl.SSLContext:
    """The same context, which then verifies certificates like kubectl, on each Python.

    By default, Python 3.13 and later refuses authorities that violate RFC 5280, as those of many
    clusters and registries do (no key identifiers), and earlier versions refuse a trusted
    intermediate authority without its root.
    """
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def make_context(url: str) -> ssl.SSLContext | None:
    """The TLS context for an https URL, None for any other; ssl.SSLError if the CA is invalid."""
    if not url.startswith("https://"):
        return None
    context = unify_verification(ssl.create_default_context(cadata=_read(AUTHORITY) or None))
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def authorization(url: str, namespace: str) -> dict[str, str]:
    """The header with the token; empty if the server of the URL must not receive it."""
    if not is_in_cluster(url, namespace) or not _read(AUTHORITY):
        return {}
    file = os.environ.get(TOKEN_VARIABLE)
    token = _read(Path(file)).strip() if file else ""
    return {"Authorization": f"Bearer {token}"} if token else {}


def is_in_cluster(url: str, namespace: str) -> bool:
    """Whether an https URL names a Service in a namespace, in cluster DNS form."""
    host = rf"[a-z0-9-]+\.{re.escape(namespace)}\.svc(\.cluster\.local)?"
    return bool(namespace) and bool(re.fullmatch(rf"https://{host}(:\d+)?(/.*)?", url))


def _read(path: Path) -> str:
    """The text of a file, empty if it cannot be read."""
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
