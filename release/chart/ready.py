# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The program of `helm test`, run with the operator's image and account: checks the leader."""

from __future__ import annotations

import json
import os
import ssl
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
SECONDS = 60


def get(path: str) -> Any:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    if ":" in host:
        host = f"[{host}]"
    headers = {"Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}"}
    request = urllib.request.Request(f"https://{host}:{port}{path}", headers=headers)
    trusted = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    trusted.verify_flags &= ~ssl.VERIFY_X509_STRICT  # same as in _http/tls.py
    with urllib.request.urlopen(request, timeout=10, context=trusted) as answer:
        return json.load(answer)


def read_lease() -> tuple[str, str]:
    """The leader, and the time of its last renewal."""
    group = "/apis/coordination.k8s.io/v1"
    spec = get(f"{group}/namespaces/{os.environ['NAMESPACE']}/leases/{os.environ['LEASE']}")["spec"]
    return spec.get("holderIdentity") or "", spec.get("renewTime") or ""


def wait_for_leader() -> None:
    """Wait until the Lease is renewed (its time alone is unreliable: node clocks differ)."""
    holder, first = read_lease()
    for _second in range(SECONDS):
        time.sleep(1)
        holder, renewed = read_lease()
        if holder and renewed != first:
            print(f"{holder} leads")
            return
    sys.exit(f"no operator renews the Lease {os.environ['LEASE']} (last: {holder or 'none'})")


def main() -> None:
    for path in os.environ["RESOURCES"].split():
        print(f"{path}: {len(get(path)['items'])}")
    if os.environ.get("LEASE"):
        wait_for_leader()


if __name__ == "__main__":
    main()
