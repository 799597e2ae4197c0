# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Where model manifests are found in a cluster: kept for a NIMCache, or in an image."""

from __future__ import annotations

import secrets
import time
import typing as t
from dataclasses import dataclass

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest import ModelManifest
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest_pod import read_log_of
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    NODES,
    Observed,
    read_nodes,
    read_object,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.pods import pull_secrets
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import (
    API_VERSION,
    api_path,
)
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import ApiError, Client
from ansible_collections.nimops.nim.plugins.module_utils._k8s.observer import answer
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.flavour import wanted_model
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.names import (
    CONTAINER,
    config_map_name,
    pod_name,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.probe import (
    Probe,
    kept_manifest,
    probe_image,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.probe_pod import (
    build_probe_pod,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.selection import discover_gpus

Json = dict[str, t.Any]

MANAGER = "nimops.nim.profiles"
_PAUSES = (0.5, 1.0, 2.0)
_GRACE_SECONDS = 60
"""After which a pod ends by itself that nobody could delete."""


@dataclass(frozen=True)
class Inquiry:
    """An image to ask for its manifest, and how its pod may run."""

    image: str
    namespace: str
    pull_secrets: t.Sequence[str] = ()
    service_account: str = "default"
    node_selector: t.Mapping[str, str] | None = None
    tolerations: t.Sequence[Json] = ()
    seconds: int = 600

    def to_cache(self, name: str) -> Json:
        """The NIMCache that would ask the same."""
        spec: Json = {"source": {"ngc": {"modelPuller": self.image}}}
        if self.node_selector is not None:
            spec["nodeSelector"] = dict(self.node_selector)
        if self.tolerations:
            spec["tolerations"] = list(self.tolerations)
        metadata = {"name": name, "namespace": self.namespace}
        return {"apiVersion": API_VERSION, "kind": "NIMCache", "metadata": metadata, "spec": spec}

    def to_pod(self, cache: Json, orchestrator: str) -> Json:
        """The probe pod of that NIMCache, but owned by nobody, with rights of nobody."""
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


def read_kept(client: Client, namespace: str, name: str) -> tuple[ModelManifest, Json]:
    """The manifest that is kept for a NIMCache, and the model that it wants."""
    cache = client.get(api_path("NIMCache", namespace, name))
    if cache is None:
        raise NimError(f"NIMCache {namespace}/{name} does not exist")
    cache = {"kind": "NIMCache", **cache}
    read = read_object("ConfigMap", namespace, config_map_name(cache))
    found = answer(client, read)
    if found is None:
        raise NimError(
            f"ConfigMap {namespace}/{read.name} does not exist: NIMCache {name} has not found a"
            " model manifest, or needs none; ask its image instead"
        )
    manifest = kept_manifest(cache, Observed({read.key: found}), Probe())
    return manifest, dict(wanted_model(cache))


def find_products(client: Client) -> list[str]:
    """The GPU products of the cluster's nodes."""
    return discover_gpus(Observed({NODES: _list_nodes(client)}).node_labels)


def ask_image(
    client: Client, inquiry: Inquiry, say: t.Callable[[str], None]
) -> ModelManifest | None:
    """The manifest of an image, None if it has none. A pod is made for it, and deleted again.

    NimError if there is no answer in time.
    """
    cache = inquiry.to_cache(f"nim-profiles-{secrets.token_hex(4)}")
    pod = inquiry.to_pod(cache, _find_orchestrator(client))
    path = api_path("Pod", inquiry.namespace, pod_name(cache))
    try:
        client.apply(path, pod, MANAGER)
        return _await_manifest(client, cache, inquiry.seconds, say)
    finally:
        _remove(client, path, say)


def _await_manifest(
    client: Client, cache: Json, seconds: float, say: t.Callable[[str], None]
) -> ModelManifest | None:
    """What the pod prints; the NIMCache's own function tells how far it is."""
    deadline = time.monotonic() + seconds
    said, number = "", 0
    while True:
        probe = probe_image(cache, _look(client, cache))
        if probe.fresh or not probe.waiting:
            return probe.fresh
        if not probe.pod:
            raise NimError(f"image: gave no manifest while waiting for {probe.waiting}")
        if probe.waiting != said:
            said = probe.waiting
            say(f"waiting for {said}")
        pause = _PAUSES[min(number, len(_PAUSES) - 1)]
        number += 1
        if time.monotonic() + pause > deadline:
            raise NimError(f"image: no manifest after {seconds:g} s of waiting for {said}")
        time.sleep(pause)


def _look(client: Client, cache: Json) -> Observed:
    """The pod, and its log once it runs."""
    namespace, name = cache["metadata"]["namespace"], pod_name(cache)
    read = read_object("Pod", namespace, name)
    pod = answer(client, read)
    if pod is None:
        raise NimError(f"Pod {namespace}/{name} was deleted by somebody else")
    answers = {read.key: pod}
    answers |= {log.key: answer(client, log) for log in read_log_of(cache, pod, CONTAINER)}
    return Observed(answers)


def _remove(client: Client, path: str, say: t.Callable[[str], None]) -> None:
    try:
        client.delete(path)
    except ApiError as error:
        if error.status != 404:
            say(f"{path} is left behind, delete it: {error}")


def _find_orchestrator(client: Client) -> str:
    """Which Kubernetes this is; who may not list nodes has a plain one."""
    try:
        return Observed({NODES: _list_nodes(client)}).orchestrator
    except ApiError as error:
        if error.status == 403:
            return Observed({}).orchestrator
        raise


def _list_nodes(client: Client) -> list[Json]:
    return t.cast("list[Json]", answer(client, read_nodes()))
