# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The parsed spec of a NIMCache, which NIMBuilds and NIMServices also read."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .._base.types import Fields
from .._builders.env import EnvVar
from .._builders.pod import group_id, user_id
from .._builders.proxy import Proxy, parse_proxy
from .._builders.pvc import Claim, parse_claim
from .._builders.side_container import SideContainer, parse_side_containers
from .._engine.conditions import RECONCILING, STALLED, find_condition

SourceKind = t.Literal["ngc", "dataStore", "hf"]

_BLOCKED = ("WaitingForPVC", "WaitingForJob", "Retrying")
"""Reasons of Reconciling that do not mean progress."""

_BESIDE = ("kind", "artifact")
"""Fields of `status.served.source` that `spec.source` does not have."""
_SECRETS = ("authSecret", "pullSecret")
_UNSET: t.Sequence[t.Any] = (None, "", [])
_SOURCES: t.Sequence[SourceKind] = ("ngc", "dataStore", "hf")


@dataclass(frozen=True)
class Source:
    """The given part of `spec.source`; missing strings are empty.

    ``puller``: the image that downloads. From NGC, ``model_endpoint`` is the model that it serves,
    ``profiles`` are the ids of the profiles to download, and ``wanted_model`` selects profiles.
    The fields from ``endpoint`` on are those of Hugging Face or a compatible service.
    """

    kind: SourceKind
    puller: str
    auth_secret: str
    pull_secret: str
    model_endpoint: str
    profiles: t.Sequence[str]
    wanted_model: Fields
    endpoint: str
    namespace: str
    model_name: str
    dataset: str
    revision: str

    @property
    def is_hf(self) -> bool:
        """Whether the model comes from Hugging Face or a compatible service."""
        return self.kind != "ngc"

    @property
    def is_optimized(self) -> bool:
        """Whether the image serves one model with several profiles."""
        return not self.is_hf and not self.model_endpoint

    @property
    def ignored_options(self) -> list[str]:
        """The fields of ``wanted_model`` that have no effect beside ``profiles``."""
        given = [name for name, value in self.wanted_model.items() if value not in _UNSET]
        return sorted({*given} - {"profiles"}) if self.profiles else []

    @property
    def is_universal(self) -> bool:
        """Whether the model runs in an image for any model, instead of being an image's profile."""
        return self.is_hf or bool(self.model_endpoint)


@dataclass(frozen=True)
class CacheSpec:
    """The spec of a NIMCache.

    ``source``: None if none is given. ``host_path``: if there is no `spec.storage.pvc`.
    ``amounts``: CPU and memory, zero where unset. ``node_selector``: an empty one means any node,
    None the default. ``has_cert_config``: whether the deprecated `spec.certConfig` is used.
    ``ignores_host_path``: whether there is a `spec.storage.hostPath` beside the claim.
    """

    source: Source | None
    claim: Claim
    host_path: str
    user: int
    group: int
    env: t.Sequence[EnvVar]
    proxy: Proxy
    init_containers: t.Sequence[SideContainer]
    amounts: t.Mapping[str, str]
    runtime_class: str
    tolerations: t.Sequence[Fields]
    node_selector: t.Mapping[str, str] | None
    has_cert_config: bool
    ignores_host_path: bool = False


def parse_cache(cache: Fields) -> CacheSpec:
    """Parse the spec of a NIMCache.

    A resource that is too large is finalized without its spec: its claim is that of the status.
    """
    fields = cache["spec"]
    storage, amounts = fields.get("storage") or {}, fields.get("resources") or {}
    pvc = storage.get("pvc")
    if not fields:
        pvc = {"name": (cache.get("status") or {}).get("pvc")}
    return CacheSpec(
        source=_parse_source(fields.get("source") or {}),
        claim=parse_claim(cache, pvc),
        host_path="" if pvc else storage.get("hostPath") or "",
        user=user_id(fields),
        group=group_id(fields),
        env=fields.get("env") or [],
        proxy=parse_proxy(fields.get("proxy")),
        init_containers=parse_side_containers(fields.get("initContainers")),
        amounts={name: str(amounts.get(name) or "0") for name in ("cpu", "memory")},
        runtime_class=fields.get("runtimeClassName") or "",
        tolerations=fields.get("tolerations") or [],
        node_selector=fields.get("nodeSelector"),
        has_cert_config=bool(fields.get("certConfig")),
        ignores_host_path=bool(pvc and storage.get("hostPath")),
    )


def in_folder(cache: Fields, folder: str) -> Fields:
    """The NIMCache with its files in a folder below the folder of its spec."""
    if not folder:
        return cache
    spec, storage = cache["spec"], cache["spec"].get("storage") or {}
    claim = storage.get("pvc") or {}
    claim = {**claim, "subPath": join(claim.get("subPath") or "", folder)}
    return {**cache, "spec": {**spec, "storage": {**storage, "pvc": claim}}}


def join(parent: str, folder: str) -> str:
    """A folder below another one, which may be the root of the volume."""
    return f"{parent.strip('/')}/{folder}" if parent.strip("/") else folder


def with_source(cache: Fields, source: t.Mapping[str, str]) -> Fields:
    """The NIMCache with another source, as in `status.served.source`, and its present Secrets."""
    if not source:
        return cache
    spec, kind = cache["spec"], source.get("kind") or "ngc"
    given = (spec.get("source") or {}).get(kind) or {}
    kept = {key: given[key] for key in _SECRETS if key in given}
    fields = {key: text for key, text in source.items() if key not in _BESIDE}
    return {**cache, "spec": {**spec, "source": {kind: {**kept, **fields}}}}


def named_cache(user: Fields) -> str:
    """The NIMCache that a NIMService (in `storage`) or a NIMBuild refers to; empty if none."""
    fields = user.get("spec") or {}
    given = fields.get("nimCache") or (fields.get("storage") or {}).get("nimCache") or {}
    return given.get("name") or ""


def uses_claim(user: Fields, cache: str, claim: str) -> bool:
    """Whether a NIMService or a NIMBuild refers to a NIMCache, or its claim."""
    return named_cache(user) == cache or mounts_claim(user, claim)


def mounts_claim(user: Fields, claim: str) -> bool:
    """Whether a NIMService refers to a claim directly."""
    return bool(_pvc_of(user).get("name") == claim)


def mounted_folder(user: Fields) -> str:
    """The folder of the claim that a NIMService refers to directly; empty for the whole volume."""
    return str(_pvc_of(user).get("subPath") or "")


def _pvc_of(user: Fields) -> Fields:
    storage = (user.get("spec") or {}).get("storage") or {}
    return storage.get("pvc") or {}


def why_not_ready(cache: Fields) -> str:
    """The message about a NIMCache that is not ready, with the cause unless it is in progress."""
    text = f"NIMCache {cache['metadata']['name']} not ready"
    conditions = (cache.get("status") or {}).get("conditions")
    for kind in (STALLED, RECONCILING):
        found = find_condition(conditions, kind) or {}
        if found.get("status") == "True" and (kind == STALLED or found.get("reason") in _BLOCKED):
            return f"{text}: {found.get('reason')}: {found.get('message')}"
    return text


def _parse_source(given: Fields) -> Source | None:
    kind = next((kind for kind in _SOURCES if given.get(kind)), None)
    if kind is None:
        return None
    fields = given[kind]
    model = fields.get("model") or {}
    return Source(
        kind=kind,
        puller=fields.get("modelPuller") or "",
        auth_secret=fields.get("authSecret") or "",
        pull_secret=fields.get("pullSecret") or "",
        model_endpoint=fields.get("modelEndpoint") or "",
        profiles=model.get("profiles") or [],
        wanted_model=model,
        endpoint=fields.get("endpoint") or "",
        namespace=fields.get("namespace") or "",
        model_name=fields.get("modelName") or "",
        dataset=fields.get("datasetName") or "",
        revision=fields.get("revision") or "",
    )
