# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The containers of the pod: the model's, the user's, and the one that adds certificates."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.certificates import (
    ca_init_container,
    cert_config_map,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.dra.pod_claims import with_claims
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.pods import (
    image_reference,
    without_empty,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.dra import pod_claims
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.env import main_env, side_env
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    ports,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.gpu import build_resources
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.layout import is_native
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.part import (
    Part,
    find_container,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.store import Store
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.volumes import (
    build_init_mounts,
    build_main_mounts,
)

Items = list[dict[str, t.Any]]


def build_containers(cr: Resource, observed: Observed, store: Store, part: Part) -> Items:
    """The model container, then the sidecars; all use the claims of the pod.

    NimError if a claim cannot be had.
    """
    spec, native = cr["spec"], is_native(cr, observed, store)
    mounts = [*build_main_mounts(cr, store, native=native), *part.mounts]
    model = {
        "name": part.container,
        "image": image_reference(spec["image"]),
        "imagePullPolicy": spec["image"].get("pullPolicy"),
        "command": spec.get("command"),
        "args": spec.get("args") or list(part.args),
        "ports": [
            {"name": name, "containerPort": number, "protocol": "TCP"}
            for name, number in {**ports(cr), **part.ports}.items()
        ],
        "env": main_env(cr, store, native=native, role=part.env),
        "volumeMounts": mounts,
        "resources": build_resources(cr, store),
        **part.probes,
    }
    sidecars = spec.get("sidecarContainers") or []
    containers = [without_empty(model), *(_side_container(cr, item, mounts) for item in sidecars)]
    return with_claims(containers, pod_claims(cr, observed))


def build_init_containers(cr: Resource, observed: Observed, store: Store, part: Part) -> Items:
    """The init container for certificates, if any, then the user's."""
    mounts = build_init_mounts(cr, store, native=is_native(cr, observed, store))
    first = [_ca_container(cr, mounts, part)] if cert_config_map(cr["spec"]) else []
    users = cr["spec"].get("initContainers") or []
    return first + [_side_container(cr, item, mounts) for item in users]


def pull_policy(cr: Resource, given: t.Mapping[str, t.Any]) -> str:
    """The pull policy of a container that the user gives: its own, else the model's, or neither."""
    images = (given["image"], cr["spec"]["image"])
    return next((str(image["pullPolicy"]) for image in images if image.get("pullPolicy")), "")


def _side_container(cr: Resource, given: t.Mapping[str, t.Any], mounts: Items) -> dict[str, t.Any]:
    return without_empty(
        {
            "name": given["name"],
            "image": image_reference(given["image"]),
            "imagePullPolicy": pull_policy(cr, given),
            "command": given.get("command"),
            "args": given.get("args"),
            "workingDir": given.get("workingDir"),
            "env": side_env(cr, given.get("env")),
            "volumeMounts": mounts,
        }
    )


def _ca_container(cr: Resource, mounts: Items, part: Part) -> dict[str, t.Any]:
    """The certificates' container.

    The script of a live one of the same image is kept: that of the reference, or of another release
    of ours, does the same, and changing it would restart the pods for nothing.
    """
    image = image_reference(cr["spec"]["image"])
    container = ca_init_container(image, side_env(cr, None), mounts)
    if policy := cr["spec"]["image"].get("pullPolicy"):
        container["imagePullPolicy"] = policy
    live = find_container(part.live, container["name"], "initContainers")
    if live.get("image") == image and live.get("command"):
        container |= {key: live[key] for key in ("command", "args") if live.get(key)}
    return container
