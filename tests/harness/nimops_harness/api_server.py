# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""For pytest: an API server with our CRDs, as `tests/admission` and `tests/commands` need it.

Only a server on a loopback address is touched.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t

import pytest
from kubernetes import client, config

from .cluster import Json, is_loopback, kubectl
from .errors import HarnessError
from .runtime import ROOT


@pytest.fixture(scope="session")
def api_server() -> t.Any:
    """The official client of the API server of $KUBECONFIG, to which our CRDs were applied."""
    if not os.environ.get("KUBECONFIG"):
        pytest.skip("KUBECONFIG is not set")
    api: client.ApiClient = config.new_client_from_config()
    if not is_loopback(api.configuration.host):
        pytest.skip(f"the API server {api.configuration.host} is not on a loopback address")
    apply_our_crds()
    return api


def apply_our_crds() -> None:
    """Apply those that the API server does not serve unchanged, as hack/operator.sh does."""
    manifests = kubectl("kustomize", str(ROOT / "config/overlays/gpu"))
    command = [sys.executable, str(ROOT / "hack/apply_crds.py"), "--replace"]
    done = subprocess.run(command, input=manifests, capture_output=True, text=True, check=False)
    if done.returncode:
        raise HarnessError(done.stderr.strip())


def apply_crds(*crds: Json) -> None:
    """Apply CRDs; the schema of one that was there already takes effect a moment later."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": crds})
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text)
    kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", "-", stdin=text)
