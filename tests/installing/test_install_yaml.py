# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""One file installs everything, and applying it again changes nothing."""

from __future__ import annotations

import json

from nimops_harness.cluster import kubectl
from nimops_release.manifests import MANAGER, NAMESPACE

APPLY = ("apply", "--server-side", "--force-conflicts", "-f")


def versions(path):
    """The generations of the objects in the file, which do not change with the status."""
    found = json.loads(kubectl("get", "-f", str(path), "-o", "json"))["items"]
    return {
        f"{item['kind']}/{item['metadata']['name']}": item["metadata"].get("generation")
        or item["metadata"]["resourceVersion"]
        for item in found
    }


def test_install_yaml_idempotent(clean, install_yaml):
    kubectl(*APPLY, str(install_yaml))
    kubectl("-n", NAMESPACE, "rollout", "status", f"deployment/{MANAGER}", "--timeout=120s")
    before = versions(install_yaml)
    assert len(before) > 25
    kubectl(*APPLY, str(install_yaml))
    changed = {name for name, version in versions(install_yaml).items() if before[name] != version}
    assert changed == set()
