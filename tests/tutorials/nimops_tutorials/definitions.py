# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""CRDs of a cluster that has none of ours, or those of another operator."""

from __future__ import annotations

import json
import re

import yaml
from nimops_harness.cluster import Json, kubectl
from nimops_harness.runtime import ROOT

OURS = re.compile(r"[a-z]+\.(apps\.)?nvidia\.com")
"""The name of a CRD that the sandbox has of ours."""


def remove_definitions() -> None:
    """Delete the CRDs that the sandbox has of ours."""
    found = kubectl("get", "crd", "-o", "jsonpath={.items[*].metadata.name}").split()
    if ours := [name for name in found if OURS.fullmatch(name)]:
        kubectl("delete", "crd", *ours)


def add_foreign_definition(name: str, labels: dict[str, str]) -> None:
    """Create a CRD as another operator has it, without our metadata and our field of the status."""
    (file,) = (ROOT / "config/crd/bases").glob(f"*_{name.partition('.')[0]}.yaml")
    item = make_foreign(yaml.safe_load(file.read_text()), labels)
    kubectl("create", "-f", "-", stdin=json.dumps(item))


def make_foreign(definition: Json, labels: dict[str, str]) -> Json:
    """The CRD with other labels, without annotations and the field `status.operatorVersion`."""
    definition["metadata"] = {"name": definition["metadata"]["name"], "labels": labels}
    for version in definition["spec"]["versions"]:
        status = version["schema"]["openAPIV3Schema"]["properties"]["status"]
        del status["properties"]["operatorVersion"]
    return definition
