# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Many objects at once: foreign ones, and those that a plain client creates without an operator."""

from __future__ import annotations

import json
import typing as t
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import yaml
from nimops_harness.cluster import Api, Json, path_of, version_of
from nimops_harness.crds import strip
from nimops_harness.errors import HarnessError
from nimops_harness.progress import Every, say

T = t.TypeVar("T")

CONNECTIONS = 6
FOREIGN = tuple(yaml.safe_load_all(Path(__file__).parents[1].joinpath("foreign.yaml").read_text()))
ROUNDS_OF_ALL = 20
LARGE_EVERY, LARGE_BYTES = 10, 8192
"""One foreign object in ten has annotations of so many bytes."""

ADDED = ("status", "clusterIP", "clusterIPs", "serviceAccount", "serviceAccountName")
"""Fields that the API server, a controller or an owner gives an object."""
PLAIN = "bench.nimops.nim/plain"


def make_foreign(number: int) -> Json:
    """A foreign object: kinds in turns, metadata small and large."""
    kinds = FOREIGN if number < ROUNDS_OF_ALL * len(FOREIGN) else FOREIGN[:-1]
    metadata: Json = {"name": f"foreign-{number:06}", "labels": {"app": f"foreign-{number:06}"}}
    if number // len(kinds) % LARGE_EVERY == 0:
        metadata["annotations"] = {"example.com/configuration": "x" * LARGE_BYTES}
    return {**kinds[number % len(kinds)], "metadata": metadata}


def make_plain(kind: str, item: Json, name: str = "") -> Json:
    """An object as a plain client would create it, with another name on request."""
    found = item["metadata"]
    labels = {**(found.get("labels") or {}), PLAIN: "true"}
    metadata = {"name": found["name"], "labels": labels}
    body = strip(item, ADDED.__contains__) | {"apiVersion": version_of(kind), "kind": kind}
    text = json.dumps(body | {"metadata": metadata})
    return t.cast(Json, json.loads(text.replace(found["name"], name or found["name"])))


def in_parallel(items: t.Sequence[T], do: t.Callable[[T], object], what: str) -> None:
    """Do something with each item, over several connections; the first error ends it."""
    due = Every(10)
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        futures = [pool.submit(do, item) for item in items]
        try:
            for number, future in enumerate(as_completed(futures), 1):
                future.result()
                if due.is_due():
                    say(f"  {what}: {number} of {len(items)}")
        except HarnessError:
            pool.shutdown(cancel_futures=True)
            raise


def create_all(api: Api, namespace: str, items: t.Iterable[Json], what: str) -> None:
    """Create objects."""

    def create(item: Json) -> None:
        api.request("POST", path_of(item["kind"], namespace), item)

    in_parallel(list(items), create, what)
