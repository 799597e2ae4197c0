# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Answers of the API server of $KUBECONFIG to resources and children; all requests are dry runs."""

from __future__ import annotations

import re
import typing as t
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError
from ansible_collections.nimops.nim.plugins.module_utils._base.reserved_keys import (
    remove_reserved_keys,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import FIELD_MANAGER
from nimops_harness.api_server import apply_our_crds
from nimops_harness.cluster import APPLY, Api, Json, is_loopback, path_of
from nimops_harness.errors import HarnessError

from .chain import Apply
from .schema import GPU_NAMESPACE, NAMESPACE
from .simulated import SimulatedCluster

_THREADS = 4
_DETAIL = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|`[^`]*`|\{.*?\}|\d+')


class Cluster:
    """An API server on a loopback address, with our CRDs and the namespaces.

    ``refused``: the messages of refused children, by the kind of the child and of the message.
    """

    def __init__(self) -> None:
        self.refused: dict[str, list[str]] = defaultdict(list)
        self._api = Api()
        if not is_loopback(self._api.host):
            raise HarnessError(
                f"the API server {self._api.host} is not on loopback: use the sandbox"
            )
        apply_our_crds()
        for name in (NAMESPACE, GPU_NAMESPACE):
            path = path_of("Namespace", "", name, fieldManager="nimops-fuzz", force="true")
            space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self._api.request("PATCH", path, space, APPLY)

    def create(self, resource: Json) -> tuple[Json | None, str]:
        """(the resource as the operator would read it, None if it is refused; the reason)."""
        path = f"{api_path(resource['kind'], NAMESPACE)}?dryRun=All&fieldValidation=Strict"
        answer = self._api.ask("POST", path, resource)
        if answer.refusal and answer.status not in (400, 413, 422):
            raise HarnessError(f"the API server gave no answer: {answer.refusal}")
        if answer.refusal:
            return None, answer.refusal
        remove_reserved_keys(answer.body)  # as the operator's client
        return answer.body, ""

    def create_all(self, resources: t.Iterable[Json]) -> t.Iterator[tuple[Json | None, str]]:
        """`create` for many, in their order."""
        with ThreadPoolExecutor(_THREADS) as pool:
            yield from pool.map(self.create, resources)

    def writer(self, simulated: SimulatedCluster) -> Apply:
        """Has the API server judge children, and puts them into a simulated cluster."""

        def write(manifest: Json) -> Json:
            metadata, kind = manifest["metadata"], manifest["kind"]
            path = api_path(kind, metadata.get("namespace"), metadata["name"])
            query = f"?dryRun=All&fieldManager={FIELD_MANAGER}&force=true"
            answer = self._api.ask("PATCH", path + query, manifest, APPLY)
            if answer.refusal:
                message = answer.refusal.partition(" is invalid: ")[2] or answer.refusal
                self.refused[f"{kind}: {_DETAIL.sub('…', message)[:110]}"].append(answer.refusal)
                raise ApiError(answer.status, answer.refusal)
            remove_reserved_keys(answer.body)  # as the operator's client
            return simulated.put({**answer.body, "kind": kind}, is_whole=True)

        return write
