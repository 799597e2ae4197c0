# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The pods of files with custom resources, as the operator would ever write them."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._builders.pod_templates import (
    at,
    pod_of,
    templates_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._cluster.simulated import SimulatedCluster
from ansible_collections.nimops.nim.plugins.module_utils._commands.render.simulation import simulate
from ansible_collections.nimops.nim.plugins.module_utils._kinds import assumed_objects

Json = dict[str, t.Any]

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted((ROOT / "config/samples").glob("*_*.yaml"))
FACTS = [ROOT / "config/samples/nemo-prerequisites.yaml", ROOT / "tests/golden/facts.yaml"]
MAKING_PODS = {
    *("NIMBuild", "NIMCache", "NIMService"),
    *("NemoCustomizer", "NemoDatastore", "NemoEntitystore", "NemoEvaluator", "NemoGuardrail"),
}
SIDES = {"NIMCache": ["initContainers"], "NIMService": ["initContainers", "sidecarContainers"]}
"""Containers of users that each resource gets here, so that every kind of pod has some.

These kinds also get a custom CA, with the container that adds it."""
OURS = {*MAKING_PODS, "NIMPipeline"}


def pods_of(files: t.Iterable[Path], facts: t.Iterable[Path] = ()) -> list[tuple[str, str, Json]]:
    """Kinds of the custom resource and of the object, and pod: of all that is ever written."""
    objects = read(files)
    others = [*read(facts), *(item for item in objects if item["kind"] not in OURS)]
    for item in objects:
        item["metadata"].setdefault("namespace", "nim")
        if item["kind"] in MAKING_PODS and item["spec"].get("userID") == 0:
            del item["spec"]["userID"]  # it is refused
        for field in SIDES.get(item["kind"], ()):
            side = {"name": "side", "image": {"repository": "side", "tag": "1"}}
            item["spec"][field] = [*(item["spec"].get(field) or []), side | {"name": field.lower()}]
        if item["kind"] in SIDES:
            item["spec"].setdefault("proxy", {}).setdefault("certConfigMap", "ca")
    ours = [item for item in objects if item["kind"] in OURS]
    return [
        (item["metadata"]["ownerReferences"][0]["kind"], item["kind"], pod)
        for item, pod in write(ours, others)
    ]


def write(resources: t.Iterable[Json], others: list[Json]) -> list[tuple[Json, Json]]:
    """Each object with pods that is ever written for the resources, and its pod."""
    written: list[Json] = []
    put = SimulatedCluster.put

    def spy(cluster: SimulatedCluster, manifest: Json) -> None:
        written.append(manifest)
        put(cluster, manifest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SimulatedCluster, "put", spy)
        simulate(resources, Facts(others, assumed=assumed_objects(), namespace="nim").ask)
    return [(item, pod_of(at(item, path))) for item in written for path in templates_of(item)]


def read(files: t.Iterable[Path]) -> list[Json]:
    """The objects in files, also those of lists."""
    found: list[Json] = []
    for file in files:
        for item in yaml.safe_load_all(file.read_text()):
            if item:
                found += item["items"] if item["kind"] == "List" else [item]
    return found
