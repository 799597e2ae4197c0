# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Filters of a user: a label on each child, and a sidecar beside each model."""

from __future__ import annotations


def add_team(child, resource):
    labels = dict(child["metadata"].get("labels") or {})
    labels["acme.example/team"] = resource["metadata"].get("namespace", "platform")
    return {**child, "metadata": {**child["metadata"], "labels": labels}}


def add_sidecar(child, resource):
    if child["kind"] == "Deployment" and resource["kind"] == "NIMService":
        pod = child["spec"]["template"]["spec"]
        pod["containers"].append({"name": "audit", "image": "registry.example/acme/audit:1"})
    return child


class FilterModule:
    """Ansible's entry point."""

    def filters(self):
        return {"add_team": add_team, "add_sidecar": add_sidecar}
