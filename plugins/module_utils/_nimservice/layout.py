# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Which of two ways the image wants its model files: legacy, or native (single-model) layout."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    LATER,
    Observed,
    Read,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.pods import image_reference
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    cache_name,
    namespace_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.part import find_container
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.readiness import (
    is_past_deadline,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.store import Store
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.workload import (
    container_of,
    live_template,
    live_workload,
)

NATIVE_PATH = "/model"
MODEL_VOLUME = "model-store"


def is_native(cr: Resource, observed: Observed, store: Store) -> bool:
    """Whether the native layout is due; a cache knows, else the image, decided once per image."""
    if store.cache is not None:
        return bool((store.cache.get("status") or {}).get("type") == "native")
    decided = _live_layout(cr, observed)
    return observed.get(_key(cr)) == "native" if decided is None else decided


def is_layout_awaited(cr: Resource, observed: Observed) -> bool:
    """Whether the registry has still to be asked: a layout must not be decided without it."""
    return not cache_name(cr) and observed.get(_key(cr)) == LATER


def layout_reads(cr: Resource, observed: Observed) -> list[Read]:
    """The registry is asked only while nothing else tells; the workload must be known."""
    if cache_name(cr) or _live_layout(cr, observed) is not None:
        return []
    image = cr["spec"]["image"]
    return [
        Read(
            _key(cr),
            "protocol",
            namespace=namespace_of(cr),
            image=image_reference(image),
            pull_secrets=tuple(image.get("pullSecrets") or ()),
        )
    ]


def _key(cr: Resource) -> str:
    return f"protocol/{image_reference(cr['spec']['image'])}"


def _live_layout(cr: Resource, observed: Observed) -> bool | None:
    """What the live workload of this image was given.

    None if it does not tell: there is none, it is of another image, or it is legacy and never came
    up, which happens where the registry gave no answer at first.
    """
    live = live_workload(cr, observed)
    container = find_container(live_template(cr, observed), container_of(cr))
    if live is None or container.get("image") != image_reference(cr["spec"]["image"]):
        return None
    if any(
        mount.get("name") == MODEL_VOLUME and mount.get("mountPath") == NATIVE_PATH
        for mount in container.get("volumeMounts") or []
    ):
        return True
    return None if is_past_deadline(live) else False
