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

_ROOTLESS_SCRIPT = "; ".join(
    (
        "set -e",
        "echo 'custom CA: files given'",
        "ls -l /custom",
        # The image's links would lead to files that only root can add.
        "cp -rL /etc/ssl/certs /ca-certs/",
        "for file in /custom/*.crt /custom/*.pem",
        'do [ -f "$file" ] || continue',
        'cp "$file" /ca-certs/certs/',
        '{ echo; cat "$file"; } >> /ca-certs/certs/ca-certificates.crt',
        "done",
        "echo 'custom CA: hashing the names, if there is openssl'",
        "openssl rehash /ca-certs/certs || true",
        "echo 'custom CA: done'",
    )
)
"""Adds the certificates to a copy of the trust store, without root."""
_NAME = "update-ca-certificates"


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
        "name": _NAME,
        "image": image,
        "command": _command(_UPDATE_SCRIPT),
        "securityContext": {"runAsUser": 0, "runAsNonRoot": False},
        "volumeMounts": list(mounts),
    }
    if env:
        container["env"] = list(env)
    return container


def without_root_user(container: Fields) -> Json:
    """The `update-ca-certificates` container as the pod's user; any other container unchanged.

    Its script may be that of another release or of the reference, which running pods keep.
    """
    mounts = {mount["name"] for mount in container.get("volumeMounts") or []}
    if container["name"] != _NAME or CUSTOM_CA_VOLUME not in mounts:
        return dict(container)
    security = {
        key: value
        for key, value in (container.get("securityContext") or {}).items()
        if key not in ("runAsUser", "runAsNonRoot")
    }
    own = {key: value for key, value in container.items() if key != "args"}
    return own | {"command": _command(_ROOTLESS_SCRIPT), "securityContext": security}


def is_rootless_ca_container(live: Fields) -> bool:
    """Whether a live container is `update-ca-certificates` without root."""
    return live.get("name") == _NAME and live.get("command") == _command(_ROOTLESS_SCRIPT)


def _command(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]
