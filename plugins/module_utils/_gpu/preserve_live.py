# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Preserves texts and the digest of a live DaemonSet, to avoid needless restarts of pods.

Our texts in a pod template, such as shell code, differ from those of the reference operator and
between releases. If nothing else in the template changes, the live texts stay. The digest that
tells the driver pods whether to reinstall the driver also stays while the configuration that it
stands for is unchanged.
"""

from __future__ import annotations

import hashlib
import json
import typing as t

from .._base.types import Manifest
from .._engine.drift import has_wanted
from .._engine.field_ownership import own_entry
from .pods import Container, Item, containers_of, set_env

DIGEST = "DRIVER_CONFIG_DIGEST"

_LENGTH = 16
_Path = tuple[str, ...]
_Trust = t.Callable[[_Path], bool]


class _DiffersError(Exception):
    """More than one of our texts differs."""


def keep_texts(wanted: Manifest, live: Manifest | None, texts: t.Collection[str]) -> Manifest:
    """Replace our texts by the live ones, if the pod template is otherwise the same.

    A text that another client changed since we applied it is not kept.
    """
    if live is None:
        return wanted
    fields = (own_entry(live) or {}).get("fieldsV1") or {}
    # After an interrupted takeover, our entry has the adopted fields, but not the applied ones.
    was_applied = _is_in(("f:spec", "f:selector"), fields)

    def is_trusted(path: _Path) -> bool:
        return not was_applied or _is_in(path, fields)

    template = wanted["spec"]["template"]
    try:
        kept = _graft(
            template, live["spec"]["template"], texts, is_trusted, ("f:spec", "f:template")
        )
    except _DiffersError:
        return wanted
    return {**wanted, "spec": {**wanted["spec"], "template": kept}}


def set_digest(
    pod: Item, live: Manifest | None, names: t.Collection[str], texts: t.Collection[str]
) -> None:
    """Set the digest of the driver configuration in the containers with these names."""
    stands_for = _configuration(pod)
    value = hashlib.sha256(json.dumps(stands_for, sort_keys=True).encode()).hexdigest()[:_LENGTH]
    if live is not None:
        before = live["spec"]["template"]["spec"]
        if (known := _digest_of(before)) and _is_same(stands_for, _configuration(before), texts):
            value = known
    for container in containers_of(pod):
        if container["name"] in names:
            set_env(container, DIGEST, value)


def _digest_of(pod: Item) -> str:
    for container in containers_of(pod):
        for item in container.get("env") or []:
            if item["name"] == DIGEST and item.get("value"):
                return str(item["value"])
    return ""


def _configuration(pod: Item) -> dict[str, t.Any]:
    """The fields that the digest covers, without defaults of the API server."""
    used = {}
    for container in containers_of(pod):
        used[container["name"]] = {
            "image": container["image"],
            "command": container.get("command") or [],
            "args": container.get("args") or [],
            "env": [
                _variable(item) for item in container.get("env") or [] if item["name"] != DIGEST
            ],
            "envFrom": [_source_name(item) for item in container.get("envFrom") or []],
            "mounts": [_mount(item) for item in container.get("volumeMounts") or []],
        }
    volumes = [_volume(item) for item in pod.get("volumes") or []]
    return {"containers": used, "volumes": volumes}


def _variable(item: Container) -> list[str]:
    if item["name"] == DIGEST:
        return []
    source = (item.get("valueFrom") or {}).get("fieldRef") or {}
    return [item["name"], item.get("value") or "", source.get("fieldPath") or ""]


def _source_name(item: Item) -> str:
    return str((item.get("secretRef") or {}).get("name") or "")


def _mount(item: Item) -> list[str]:
    return [item["name"], item["mountPath"], item.get("subPath") or ""]


def _volume(item: Item) -> list[t.Any]:
    source = item.get("configMap") or item.get("secret") or {}
    keys = [key["key"] for key in source.get("items") or []]
    path = (item.get("hostPath") or {}).get("path") or ""
    return [item["name"], path, source.get("name") or source.get("secretName") or "", keys]


def _is_same(wanted: t.Any, have: t.Any, texts: t.Collection[str]) -> bool:
    try:
        _graft(wanted, have, texts, lambda _path: True, ())
    except _DiffersError:
        return False
    return bool(wanted["containers"].keys() == have["containers"].keys())


def _graft(
    want: t.Any, have: t.Any, texts: t.Collection[str], is_trusted: _Trust, path: _Path
) -> t.Any:
    """Return ``want`` with the texts of ``have``; `_DiffersError` if anything else differs."""
    if want == have:
        return want
    if isinstance(want, dict):
        live = have if isinstance(have, dict) else {}
        return {
            key: _graft(value, live.get(key), texts, is_trusted, (*path, f"f:{key}"))
            for key, value in want.items()
        }
    if isinstance(want, list) and want:
        if not isinstance(have, list) or len(have) != len(want):
            raise _DiffersError
        return [
            _graft(item, live, texts, is_trusted, (*path, *_step(item)))
            for item, live in zip(want, have, strict=True)
        ]
    if isinstance(want, str) and want in texts and isinstance(have, str):
        if want != have and not is_trusted(path):
            raise _DiffersError
        return have
    if not has_wanted(have, want, tuple(name.removeprefix("f:") for name in path)):
        raise _DiffersError
    return want


def _step(item: t.Any) -> _Path:
    """The path of a list item in managedFields; a list of strings has none."""
    if isinstance(item, dict) and "name" in item:
        return (f'k:{{"name":{json.dumps(item["name"])}}}',)
    return ()


def _is_in(path: _Path, fields: t.Mapping[str, t.Any]) -> bool:
    below: t.Any = fields
    for name in path:
        below = below.get(name)
        if below is None:
            return False
    return True
