# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The custom CA of `spec.proxy.certConfigMap`: volumes, mounts and the init container."""

from __future__ import annotations

import typing as t

from .._base.types import Fields, Json

CA_VOLUME = "ca-cert-volume"
CUSTOM_CA_VOLUME = "custom-ca"

_UPDATE_SCRIPT = "; ".join(
    (
        "echo 'custom CA: files given'",
        "ls -l /custom",
        "for crt in /custom/*.crt",
        'do [ -f "$crt" ] && cp "$crt" /usr/local/share/ca-certificates/',
        "done",
        "for pem in /custom/*.pem",
        'do [ -f "$pem" ] && cp "$pem"'
        ' "/usr/local/share/ca-certificates/$(basename "$pem" .pem)-pem.crt"',
        "done",
        "echo 'custom CA: updating the trust store'",
        "update-ca-certificates",
        "cp -r /etc/ssl/certs/ /ca-certs",
        "echo 'custom CA: done'",
    )
)


def ca_volumes(config_map: str) -> list[Json]:
    """The two volumes that the CA needs; they come after all others."""
    return [
        {"name": CA_VOLUME, "emptyDir": {}},
        {"name": CUSTOM_CA_VOLUME, "configMap": {"name": config_map}},
    ]


def ca_main_mount() -> Json:
    """The mount of the updated trust store in the main container."""
    return {"name": CA_VOLUME, "mountPath": "/etc/ssl"}


def ca_init_mounts() -> list[Json]:
    """The init container's mounts: the trust store to write, and the user's certificates."""
    return [
        {"name": CA_VOLUME, "mountPath": "/ca-certs"},
        {"name": CUSTOM_CA_VOLUME, "mountPath": "/custom"},
    ]


def ca_init_container(image: str, env: t.Sequence[Fields], mounts: t.Sequence[Fields]) -> Json:
    """The `update-ca-certificates` container; it must be the first init container, as root."""
    container: Json = {
        "name": "update-ca-certificates",
        "image": image,
        "command": ["/bin/sh", "-c", _UPDATE_SCRIPT],
        "securityContext": {"runAsUser": 0, "runAsNonRoot": False},
        "volumeMounts": list(mounts),
    }
    if env:
        container["env"] = list(env)
    return container
