# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The record on a claim without an owner: the model that it holds."""

from __future__ import annotations

import json
import re
import typing as t
from dataclasses import dataclass, replace

from ..._base.errors import NimError
from ..._base.printable import printable
from ..._base.types import Fields, Json
from ..cache_spec import join
from ..cache_versions import FOLDER, served_version
from ..profiles.model_manifest import INPUT_TAG
from .app import NIMCacheApp
from .constants import READY
from .source import ALL_PROFILES, content_of
from .wanted import is_renewal_wanted, served_content

CACHED_MODEL = "nimops.nim/cached-model"
"""Annotation of a claim without an owner: the model that it holds, as JSON."""

_VERSION = re.compile(r"\.nimops/[0-9a-f]{1,64}")
_MAX_BYTES, _MAX_SHOWN = 128 << 10, 100
_NAMES = ("model_name", "dataset", "model_endpoint", "puller")


@dataclass(frozen=True)
class Record:
    """The model of a claim.

    ``source``: what was downloaded, as `content_of` has it; empty if nothing was.
    ``is_complete``: whether the download succeeded. ``profiles``: the ids that it fetched, or
    `all`. ``built``: the profiles that NIMBuilds added, as in `status.profiles`. ``folder``: of a
    renewed version, below the folder of the spec.
    """

    source: Json
    is_complete: bool
    profiles: t.Sequence[str]
    built: t.Sequence[Json]
    folder: str = ""

    def holds(self, source: Json, profiles: t.Sequence[str]) -> bool:
        """Whether nothing of this is missing."""
        if not self.is_complete or source != self.source:
            return False
        return ALL_PROFILES in self.profiles or set(profiles) <= set(self.profiles)


def record_of(app: NIMCacheApp) -> Record | None:
    """The record of the live claim; None without one of this NIMCache's name and folder."""
    live = app.live("PersistentVolumeClaim", app.spec.claim.name) or {"metadata": {}}
    text = (live["metadata"].get("annotations") or {}).get(CACHED_MODEL) or ""
    try:
        given = json.loads(text) if len(text) <= 2 * _MAX_BYTES else None
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict) or given.get("cache") != app.name:
        return None
    folder = _folder_in(app, given.get("subPath"))
    if folder is None:
        return None
    source = given.get("source")
    return Record(
        source=source if isinstance(source, dict) else {},
        is_complete=given.get("complete") is True,
        profiles=[item for item in _list(given.get("profiles")) if isinstance(item, str)],
        built=[item for item in _list(given.get("built")) if _is_profile(item)],
        folder=folder,
    )


def _folder_in(app: NIMCacheApp, path: t.Any) -> str | None:
    """The folder of a renewed version from the path in a record; None if it is another one."""
    sub_path = app.spec.claim.sub_path
    if path == sub_path:
        return ""
    folder = FOLDER + "/" + str(path).rpartition("/")[2]
    is_ours = _VERSION.fullmatch(folder) is not None and path == join(sub_path, folder)
    return folder if is_ours else None


def write_record(app: NIMCacheApp) -> str:
    """The text of the record.

    Built profiles that make it too large are left out: they can be built again.
    """
    is_complete = app.state == READY
    has_any = is_complete or bool((app.status.get("download") or {}).get("started"))
    before = record_of(app)
    if not has_any and before:
        record = before
    else:
        built = [item for item in app.status.get("profiles") or [] if _is_built(item)]
        source = served_content(app) if app.spec.source and has_any else {}
        ids = _ids_of(app) if is_complete else []
        served = served_version(app.resource) if is_complete else None
        folder = served.folder if served else ""
        record = Record(source, is_complete, ids, built if is_complete else [], folder)
    text = _dump(app, record)
    return text if len(text) <= _MAX_BYTES else _dump(app, replace(record, built=[]))


def refuse_other_model(app: NIMCacheApp, record: Record | None) -> None:
    """NimError if the claim holds another model, which the download would mix with its own."""
    if record is None or not record.source or record.source == content_of(app):
        return
    name = next((text for key in _NAMES if (text := str(record.source.get(key) or ""))), "")
    claim = app.spec.claim.name
    raise NimError(
        f'PersistentVolumeClaim "{claim}" holds another model, {printable(name, _MAX_SHOWN)}, of'
        f" an earlier NIMCache {app.name}: restore spec.source, delete the claim, or remove its"
        f" annotation {CACHED_MODEL} to download into it nevertheless",
        reason="ClaimHoldsOtherModel",
    )


def _ids_of(app: NIMCacheApp) -> list[str]:
    source = app.spec.source
    if source and ALL_PROFILES in source.profiles and not is_renewal_wanted(app):
        return [ALL_PROFILES]
    listed = app.status.get("profiles") or []
    return [str(item.get("name") or "") for item in listed if not _is_built(item)]


def _dump(app: NIMCacheApp, record: Record) -> str:
    fields = {
        "cache": app.name,
        "subPath": _path_of(app, record),
        "complete": record.is_complete,
        "source": record.source,
        "profiles": list(record.profiles),
        "built": list(record.built),
    }
    return json.dumps(fields, sort_keys=True)


def _path_of(app: NIMCacheApp, record: Record) -> str:
    """The path of the version, so that a release without renewals does not adopt a renewed one."""
    sub_path = app.spec.claim.sub_path
    return join(sub_path, record.folder) if record.folder else sub_path


def _is_built(profile: Fields) -> bool:
    return INPUT_TAG in (profile.get("config") or {})


def _is_profile(item: t.Any) -> bool:
    """Whether an item can be an entry of `status.profiles` that a NIMBuild added."""
    if not isinstance(item, dict) or not isinstance(item.get("config"), dict):
        return False
    texts = [item.get("name"), item.get("model", ""), item.get("release", "")]
    texts += [part for pair in item["config"].items() for part in pair]
    known = {"name", "model", "release", "config"}
    return {*item} <= known and all(isinstance(text, str) for text in texts) and _is_built(item)


def _list(value: t.Any) -> list[t.Any]:
    return value if isinstance(value, list) else []
