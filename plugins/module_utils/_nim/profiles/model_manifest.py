# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Model manifests: the profiles that the image of a NIM can run.

An image and its manifest are untrusted, so every part is bounded. A manifest that is too large is
refused as a whole, because a truncated one would be a different manifest.
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass, field
from functools import cached_property

from ..._base.errors import NimError
from ..._base.types import Json
from ..._base.yaml_text import dump_yaml, read_bounded
from ..._engine.reads import LOG_LIMIT

NOT_FOUND = "model_manifest.yaml not found"
"""A pod prints this if there is no manifest."""

NO_PULLER = "download-to-cache not found"
"""A probe pod also prints this if its image cannot download models."""

BEGIN_MARK, END_MARK = "--- nimops: manifest begins ---", "--- nimops: manifest ends ---"
"""Lines around the manifest in our pods' logs; other operators' pods do not print them."""

INPUT_TAG = "input_profile"
"""Tag of a built profile in the status of a NIMCache: the profile that it was built from."""

MAX_KEPT = 1_000_000
"""Maximum bytes of a stored manifest: a ConfigMap holds 1 MiB in all its keys."""

MAX_LISTED = 512 << 10
"""Maximum bytes of profiles in a status: etcd accepts 1.5 MiB for the whole object."""

_MIB = 1 << 20
_MAX_BYTES = 2 * _MIB
_MAX_DEPTH = 32
_MAX_PROFILES = 4096
_MAX_TAGS = 128
_MAX_NAME = 253
_MAX_VALUE = 1024

_MARKER = "__ansible"
"""Prefix of keys that Ansible reserves to mark values; no model tag starts with it."""

_NULLS = (None, "", "~", "null")
_CRITERIA = "profile_selection_criteria"
"""This field is stored unchanged, with its numbers; no code reads it."""

_V1_FIELDS = ("model", "release", "tags", "container_url")
_V2_FIELDS = ("id", "tags")
_WRAPPED, _WRAPPED_MODEL = "manifest", "model_profile"
_EXCERPT = 200
_SIZE, _MAX_SIZE_DIGITS = "size", 15


@dataclass(frozen=True)
class Profile:
    """One way to run the model. ``model`` and ``release`` are empty in manifests of version 2.

    ``size``: the bytes of its files, 0 if the manifest does not list them.
    """

    id: str
    tags: dict[str, str] = field(default_factory=dict)
    model: str = ""
    release: str = ""
    size: int = 0

    def to_status(self) -> Json:
        """The profile as an entry of `status.profiles`."""
        entry = {"name": self.id, "model": self.model, "release": self.release}
        config = {"config": dict(self.tags)} if self.tags else {}
        return {key: value for key, value in entry.items() if value} | config


@dataclass(frozen=True)
class ModelManifest:
    """The stored part of a manifest of version 1 or 2.

    Profiles are in the order of the file or, in version 1, which has no order, sorted by id.
    """

    version: int
    profiles: list[Profile]
    stripped: Json

    @cached_property
    def text(self) -> str:
        """The YAML text to store."""
        return dump_yaml(self.stripped)


@dataclass(frozen=True)
class LogReading:
    """The content of the log of a manifest pod.

    ``complete``: the pod prints nothing more. ``text``: the manifest, empty if there is none.
    ``has_puller``: the image contains `download-to-cache`.
    """

    complete: bool
    text: str = ""
    has_puller: bool = True


def manifest_map_name(cache: str) -> str:
    """The name of the ConfigMap that stores the manifests of a NIMCache."""
    return f"{cache}-manifest"


def read_log(log: str) -> LogReading:
    """Find the manifest in a pod's log; NimError if the log is truncated."""
    if len(log) >= LOG_LIMIT or len(log.encode()) >= LOG_LIMIT:
        raise _error(f"the pod's log is longer than the maximum of {LOG_LIMIT >> 20} MiB")
    if NOT_FOUND in log:
        return LogReading(complete=True, has_puller=NO_PULLER not in log)
    head, begin, rest = log.partition(BEGIN_MARK)
    text, end, _tail = (rest if begin else head).partition(END_MARK)
    if end and not begin:
        raise _error(
            "its beginning is missing, because the kubelet truncates container logs at"
            " containerLogMaxSize"
        )
    if (begin and not end) or NO_PULLER in head:
        return LogReading(complete=False)
    return LogReading(complete=bool(text.strip()), text=text.strip("\n"))


def parse_manifest(text: str) -> ModelManifest:
    """Parse a manifest, stripped or not, of either version; NimError if it is invalid.

    Ids and tags are compared as strings, so all scalars are read as strings: a quoted "1" and a
    bare 1.10 stay as written. YAML tags are ignored.
    """
    size = len(text) if len(text) > _MAX_BYTES else len(text.encode(errors="replace"))
    _bound("it", size, _MAX_BYTES, "bytes")
    try:
        document = read_bounded(text, depth=_MAX_DEPTH, typed=(_CRITERIA,))
    except ValueError as error:
        raise _error(f"it is not valid YAML: {str(error)[:_EXCERPT]}") from error
    if not isinstance(document, dict):
        raise _error(f"it is not a mapping but starts with {text.strip()[:40]!r}")
    version = _text(document, "schema_version", "its") or "1"
    parse = {"1": _parse_v1, "2": _parse_v2}.get(version.lstrip("v").partition(".")[0])
    if parse is None:
        raise _error(f"its schema_version {version!r} is unknown: only versions 1 and 2 are known")
    return parse(document)


def dump_manifest(manifest: ModelManifest) -> str:
    """The YAML text for the ConfigMap, without workspaces; NimError if it is too large."""
    _bound("the part that a ConfigMap stores", len(manifest.text.encode()), MAX_KEPT, "bytes")
    return manifest.text


def list_profiles(profiles: t.Iterable[Profile]) -> list[Json]:
    """Entries for `status.profiles`: the first profiles that fit into `MAX_LISTED` bytes."""
    listed, left = [], MAX_LISTED
    for profile in profiles:
        entry = profile.to_status()
        left -= len(json.dumps(entry))
        if left < 0:
            break
        listed.append(entry)
    return listed


def _parse_v1(document: Json) -> ModelManifest:
    entries = _unwrap(document)
    _bound("it", len(entries), _MAX_PROFILES, "profiles")
    stripped: Json = {}
    profiles = []
    for name in sorted(entries):
        what = f"profile {_quote(name)}"
        kept = _keep(_mapping(entries[name], what), _V1_FIELDS, what)
        model, release = (kept.get(key, "") for key in ("model", "release"))
        profiles.append(Profile(_id(name), kept["tags"], model, release, size_of(kept)))
        stripped[profiles[-1].id] = kept
    if not profiles:
        raise _error("it has no profiles")
    return ModelManifest(1, profiles, stripped)


def _unwrap(document: Json) -> Json:
    """Id → profile of a manifest of version 1; older NIMs for biology and speech wrap a list."""
    wrapped, name = document.get(_WRAPPED), document.get(_WRAPPED_MODEL)
    if not isinstance(wrapped, list):
        if _WRAPPED in document and isinstance(name, str):
            raise _error(f"'{_WRAPPED}' is not a list of profiles")
        return {key: value for key, value in document.items() if key != "schema_version"}
    _bound("it", len(wrapped), _MAX_PROFILES, "profiles")
    model = _text(document, _WRAPPED_MODEL, "its")
    entries: Json = {}
    for index, value in enumerate(wrapped):
        what = f"{_WRAPPED}[{index}]"
        key, profile = _identify(_mapping(value, what), what)
        if key in entries:
            raise _error(f"two profiles have the id {_quote(key)}")
        entries[key] = profile | ({"model": model} if profile.get("model") in _NULLS else {})
    return entries


def _identify(entry: Json, what: str) -> tuple[str, Json]:
    """The id and the profile of an entry, whose id is a field or its only key."""
    if "id" not in entry and len(entry) == 1:
        ((key, value),) = entry.items()
        return key, _mapping(value, f"profile {_quote(key)}")
    if found := _text(entry, "id", f"{what}:"):
        return found, entry
    raise _error(f"{what} has no id")


def _parse_v2(document: Json) -> ModelManifest:
    entries = document.get("profiles")
    if not isinstance(entries, list) or not entries:
        raise _error("it has no list of profiles")
    _bound("it", len(entries), _MAX_PROFILES, "profiles")
    kept, profiles = [], []
    for index, value in enumerate(entries):
        what = f"profiles[{index}]"
        found = _keep(_mapping(value, what), _V2_FIELDS, what)
        if not found.get("id"):
            raise _error(f"{what} has no id")
        kept.append(found)
        profiles.append(Profile(_id(found["id"]), found["tags"], size=size_of(found)))
    head = ("schema_version", _CRITERIA)
    stripped = {key: document[key] for key in head if key in document}
    return ModelManifest(2, profiles, stripped | {"profiles": kept})


def _keep(entry: Json, fields: t.Iterable[str], what: str) -> Json:
    """The given fields of a profile, and its tags."""
    kept = {key: _text(entry, key, f"{what}:") for key in fields if key in entry and key != "tags"}
    size = _sum_sizes(entry.get("workspace")) or size_of(entry)
    return kept | {"tags": _tags(entry, what)} | ({_SIZE: str(size)} if size else {})


def size_of(entry: Json) -> int:
    """The size in a file's entry or in a stored profile; 0 if it has none."""
    value = entry.get(_SIZE)
    is_number = isinstance(value, str) and value.isdecimal() and len(value) <= _MAX_SIZE_DIGITS
    return int(value) if is_number and isinstance(value, str) else 0


def _sum_sizes(found: t.Any) -> int:
    """The sum of all sizes in a workspace; YAML of bounded depth has no aliases."""
    if isinstance(found, list):
        return sum(map(_sum_sizes, found))
    if not isinstance(found, dict):
        return 0
    return size_of(found) + sum(map(_sum_sizes, found.values()))


def _id(name: str) -> str:
    _bound(f"the id {_quote(name)}", len(name), _MAX_NAME, "characters")
    return _clean(name)


def _tags(entry: Json, what: str) -> dict[str, str]:
    found = entry.get("tags")
    tags = _mapping({} if not found or found in _NULLS else found, f"tags of {what}")
    _bound(what, len(tags), _MAX_TAGS, "tags")
    for key in tags:
        _bound(f"the tag {_quote(key)} of {what}", len(key), _MAX_NAME, "characters")
    names = sorted(key for key in tags if not key.startswith(_MARKER))
    return {_clean(key): _text(tags, key, f"tags of {what}:") for key in names}


def _text(entry: Json, key: str, what: str) -> str:
    """A string field, empty if missing; unprintable characters become spaces."""
    value = entry.get(key, "")
    if not isinstance(value, str):
        raise _error(f"{what} {_quote(key)} is a {type(value).__name__}, not a string")
    _bound(f"{what} {_quote(key)}", len(value), _MAX_VALUE, "characters")
    return _clean(value)


def _clean(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " for char in text)


def _mapping(value: t.Any, what: str) -> Json:
    if not isinstance(value, dict):
        raise _error(f"{what} is not a mapping but {str(value)[:40]!r}")
    return value


def _bound(what: str, found: int, limit: int, unit: str) -> None:
    """NimError if ``found`` exceeds the limit."""
    if found > limit:
        raise _error(f"{what} has {found} {unit}, and the maximum is {limit}")


def _quote(name: str) -> str:
    return repr(name[:80])


def _error(why: str) -> NimError:
    return NimError(f"the model manifest cannot be read: {why}", reason="ReconcileFailed")
