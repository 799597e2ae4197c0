# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A variable of ``spec.env`` wins over each variable that the operator derives, in every pod."""

from __future__ import annotations

import typing as t

import pytest
from nimops_sample_pods import FACTS, OURS, SAMPLES, read, write
from nimops_sample_pods import MAKING_PODS as WITH_ENV

Json = dict[str, t.Any]
Env = dict[tuple[str, str, str], dict[str, Json]]
"""The variables of each container, by resource, child and container."""

MARKER = "GIVEN_BY_THE_USER"
PROXY = {"httpProxy": "http://proxy:3128", "httpsProxy": "http://proxy:3128", "noProxy": "svc"}


def add_proxy(spec: Json) -> None:
    spec["proxy"] = PROXY


def name_hf_model(spec: Json) -> None:
    spec["env"] = [{"name": "NIM_MODEL_NAME", "value": "hf://org/model"}]


def name_hf_model_without_secret(spec: Json) -> None:
    name_hf_model(spec)
    spec.pop("authSecret", None)


Change = t.Callable[[Json], None]
CHANGES: dict[str, tuple[tuple[str, ...], Change]] = {
    "samples": ((), lambda spec: None),
    "services and caches with a proxy": (("NIMService", "NIMCache"), add_proxy),
    "services of Hugging Face": (("NIMService",), name_hf_model),
    "services of Hugging Face, no secret": (("NIMService",), name_hf_model_without_secret),
}


def samples(change: tuple[tuple[str, ...], Change]) -> list[Json]:
    """The samples of services and caches, of some kinds with a change of their spec; without a change, of all."""
    kinds, apply = change
    given = ("NIMService", "NIMCache") if kinds else WITH_ENV
    found = [item for item in read(SAMPLES) if item["kind"] in given]
    for item in found:
        item["metadata"].setdefault("namespace", "nim")
        if item["kind"] in kinds:
            apply(item["spec"])
    return found


def render(resources: list[Json]) -> Env:
    """The variables of the containers of all pods that the resources have."""
    others = [*read(FACTS), *(item for item in read(SAMPLES) if item["kind"] not in OURS)]
    return {
        (item["kind"], item["metadata"]["name"], container["name"]): {
            variable["name"]: variable for variable in container.get("env", [])
        }
        for item, pod in write(resources, others)
        for container in [*pod.get("initContainers", []), *pod["containers"]]
    }


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_spec_env_wins(change: tuple[tuple[str, ...], Change]) -> None:
    resources = samples(change)
    derived = render(resources)
    names = {variable for variables in derived.values() for variable in variables}
    for item in resources:
        own = item["spec"].get("env", [])
        free = {*names, MARKER} - {variable["name"] for variable in own}
        given = [{"name": name, "value": "user"} for name in sorted(free)]
        item["spec"]["env"] = [*own, *given]
    seen = {place: found for place, found in render(resources).items() if MARKER in found}
    assert {kind for kind, *_rest in seen} >= {"Deployment", "Job", "LeaderWorkerSet"}
    own = {variable["name"] for item in samples(change) for variable in item["spec"].get("env", [])}
    wrong = {
        (place, name)
        for place, found in seen.items()
        for name in found
        if name not in own and found[name].get("value") != "user"
    }
    assert wrong == set()
