# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Fields of a ClusterPolicy that become labels of nodes, and its empty maps."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SPECS = yaml.safe_load((Path(__file__).parent / "gpu.yaml").read_text())
POLICY = {"kind": "ClusterPolicy", "metadata": {"name": "a"}, "spec": SPECS["ClusterPolicy"]}
DEFAULT = "spec.migManager.config.default"


@pytest.mark.parametrize("value", ["all-disabled", ""])
def test_mig_default_valid(cluster: Any, value: str) -> None:
    assert cluster.create(POLICY, {DEFAULT: value}) is None


@pytest.mark.parametrize("value", ["all disabled", "all-enabled", "x" * 64])
def test_mig_default_invalid(cluster: Any, value: str) -> None:
    refusal = cluster.create(POLICY, {DEFAULT: value})
    assert refusal, "accepted"
    assert refusal.names(DEFAULT, f'Unsupported value: "{value}"'), refusal


def apply(name: str, spec: dict[str, Any], *options: str) -> str:
    """Apply a ClusterPolicy by kubectl, which takes ownership over as Argo CD does; returns errors."""
    item = {"apiVersion": "nvidia.com/v1", **POLICY, "metadata": {"name": name}, "spec": spec}
    done = subprocess.run(
        ["kubectl", "apply", *options, "--filename", "-"],
        input=json.dumps(item), capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stderr


def test_empty_maps_become_server_side(cluster: Any) -> None:
    """The page on GitOps: the API server refuses it, as with NVIDIA's CRD, unless Git has the defaults."""
    page = (ROOT / "docs/operate/gitops.md").read_text()
    paragraph = page.partition("A ClusterPolicy with empty maps")[2].partition("\n\n")[0]
    texts = [" ".join(text.split()) for text in re.findall(r"`([^`]+)`", paragraph)]
    quoted = next(text for text in texts if text.startswith("spec."))
    defaults = {
        key: value for text in texts if re.match(r"\w+: {\w", text)
        for key, value in yaml.safe_load(text).items()
    }  # fmt: skip
    assert len(defaults) == 4
    spec = POLICY["spec"]
    by_argo = ("--server-side", "--force-conflicts", "--field-manager=argocd-controller")
    for name, changes in (("empty", {}), ("written", defaults)):
        try:
            assert apply(name, spec) == ""
            assert apply(name, spec | changes) == ""
            refusal = apply(name, spec | changes, *by_argo)
        finally:
            cluster.delete({**POLICY, "metadata": {"name": name}})
        assert (quoted in refusal, bool(refusal)) == (name == "empty",) * 2, refusal
