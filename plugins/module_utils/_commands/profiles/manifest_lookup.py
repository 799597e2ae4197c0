# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Finds model manifests in a cluster: those stored for a NIMCache, and those in an image."""

from __future__ import annotations

import secrets
import typing as t
from dataclasses import dataclass

from ..._base.errors import ApiError, NimError
from ..._base.types import Json
from ..._builders.pod import pull_secrets
from ..._cluster.client import Client
from ..._cluster.reader import Reader
from ..._engine.api_resources import KINDS, api_path
from ..._engine.observed import Observed
from ..._engine.reads import ReadNodes, ReadObject
from ..._nim.cache.app import NIMCacheApp
from ..._nim.cache.constants import CONTAINER
from ..._nim.cache.probe import Probe, probe_image, stored_manifest
from ..._nim.cache.probe_pod import build_probe_pod
from ..._nim.cache.source import source_of
from ..._nim.profiles.manifest_pod import read_log_of
from ..._nim.profiles.model_manifest import ModelManifest
from ..._nim.profiles.profile_selection import discover_gpus
from ..waiting import poll

MANAGER = "nimops.nim.profiles"
_PAUSES = (0.5, 1.0, 2.0)
_GRACE_SECONDS = 60
"""Seconds after which a pod that could not be deleted ends by itself."""


@dataclass(frozen=True)
class ImageLookup:
    """An image with a model manifest, and the settings of its probe pod."""

    image: str
    namespace: str
    pull_secrets: t.Sequence[str] = ()
    service_account: str = "default"
    node_selector: t.Mapping[str, str] | None = None
    tolerations: t.Sequence[Json] = ()
    seconds: int = 600

    def to_cache(self, name: str) -> NIMCacheApp:
        """The NIMCache with the same image and pod settings."""
        spec: Json = {"source": {"ngc": {"modelPuller": self.image}}}
        if self.node_selector is not None:
            spec["nodeSelector"] = dict(self.node_selector)
        if self.tolerations:
            spec["tolerations"] = list(self.tolerations)
        metadata = {"name": name, "namespace": self.namespace}
        version = KINDS["NIMCache"].version
        return NIMCacheApp(
            {"apiVersion": version, "kind": "NIMCache", "metadata": metadata, "spec": spec}
        )

    def to_pod(self, cache: NIMCacheApp, orchestrator: str) -> Json:
        """The probe pod of that NIMCache, but without an owner and a ServiceAccount token."""
        pod = build_probe_pod(cache, orchestrator)
        metadata = {
            key: value for key, value in pod["metadata"].items() if key != "ownerReferences"
        }
        spec = pod["spec"] | {
            "serviceAccountName": self.service_account,
            "automountServiceAccountToken": False,
            "imagePullSecrets": pull_secrets(self.pull_secrets),
            "activeDeadlineSeconds": self.seconds + _GRACE_SECONDS,
        }
        return {**pod, "metadata": metadata, "spec": spec}


def read_stored(client: Client, namespace: str, name: str) -> tuple[ModelManifest, Json]:
    """The stored manifest of a NIMCache, and its requested model."""
    cache = client.get(api_path("NIMCache", namespace, name))
    if cache is None:
        raise NimError(f"NIMCache {namespace}/{name} does not exist")
    cache = {"kind": "NIMCache", **cache}
    app = NIMCacheApp(cache)
    read = ReadObject("ConfigMap", namespace, app.config_map_name)
    found = read.answer(Reader(client))
    if found is None:
        raise NimError(
            f"ConfigMap {namespace}/{read.name} does not exist: NIMCache {name} has not found a"
            " model manifest, or needs none; use its image instead"
        )
    manifest = stored_manifest(app.at(Observed({read.key: found})), Probe())
    return manifest, dict(source_of(app).wanted_model)


def find_products(client: Client) -> list[str]:
    """The GPU products of the cluster's nodes."""
    return discover_gpus(_observe_nodes(client).node_labels)


def ask_image(
    client: Client, lookup: ImageLookup, notify: t.Callable[[str], None]
) -> ModelManifest | None:
    """The manifest of an image, or None if it has none; uses a temporary pod.

    NimError if there is no output in time.
    """
    cache = lookup.to_cache(f"nim-profiles-{secrets.token_hex(4)}")
    pod = lookup.to_pod(cache, _find_orchestrator(client))
    path = api_path("Pod", lookup.namespace, cache.pod_name)
    try:
        client.apply(path, pod, MANAGER)
        return _await_manifest(client, cache, lookup.seconds, notify)
    finally:
        _remove(client, path, notify)


def _await_manifest(
    client: Client, cache: NIMCacheApp, seconds: float, notify: t.Callable[[str], None]
) -> ModelManifest | None:
    """The manifest in the pod's output, with the NIMCache's own progress messages."""
    waiting = ""
    for _turn in poll(seconds, _PAUSES):
        probe = probe_image(cache.at(_observe_pod(client, cache)))
        if probe.fresh or not probe.waiting:
            return probe.fresh
        if not probe.pod:
            raise NimError(f"image: printed no manifest while waiting for {probe.waiting}")
        if probe.waiting != waiting:
            waiting = probe.waiting
            notify(f"waiting for {waiting}")
    raise NimError(f"image: no manifest after {seconds:g} s of waiting for {waiting}")


def _observe_pod(client: Client, cache: NIMCacheApp) -> Observed:
    """The pod, and its log once it runs."""
    namespace, name = cache.namespace, cache.pod_name
    read, reader = ReadObject("Pod", namespace, name), Reader(client)
    pod = read.answer(reader)
    if pod is None:
        raise NimError(f"Pod {namespace}/{name} was deleted by another client")
    logs = read_log_of(cache.resource, pod, CONTAINER)
    return Observed({read.key: pod, **{log.key: log.answer(reader) for log in logs}})


def _remove(client: Client, path: str, notify: t.Callable[[str], None]) -> None:
    try:
        client.delete(path)
    except ApiError as error:
        if error.status != 404:
            notify(f"{path} could not be deleted, delete it yourself: {error}")


def _find_orchestrator(client: Client) -> str:
    """The Kubernetes distribution; plain Kubernetes if the user may not list nodes."""
    try:
        return _observe_nodes(client).orchestrator
    except ApiError as error:
        if error.status == 403:
            return Observed({}).orchestrator
        raise


def _observe_nodes(client: Client) -> Observed:
    read = ReadNodes()
    return Observed({read.key: read.answer(Reader(client))})
