# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A folder with a model as an OCI artifact, in the form of ORAS: one layer for each file."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import typing as t
from pathlib import Path

from ..._base.errors import NimError
from ..._base.image_reference import REPOSITORY, TAG
from ..._base.types import Json
from ..._http.registry_client import MANIFEST_LIMIT, MANIFEST_TYPES
from .layout import MODEL_TYPE, Descriptor, Layout

TITLE = "org.opencontainers.image.title"
"""Annotation of a layer: the path of the file."""

_EMPTY = b"{}"
_EMPTY_TYPE = "application/vnd.oci.empty.v1+json"
_FILE_TYPE = "application/octet-stream"
_NAME = re.compile(rf"{REPOSITORY}(?::{TAG})?", re.ASCII)
_MAX_NAME = 255
MAX_FILES = 4096
"""Maximum files of a model."""
_IGNORED = {"lost+found"}
_PIECE = 1 << 20


def check_model_name(name: str) -> str:
    """A name with a tag, `latest` by default; NimError if a registry would refuse it."""
    if len(name) > _MAX_NAME or not _NAME.fullmatch(name):
        raise NimError(
            f"models: {name!r} is not a repository and a tag such as models/llama:1.0, without a"
            " registry"
        )
    return name if ":" in name else f"{name}:latest"


def pack_model(layout: Layout, folder: Path, notify: t.Callable[[int], None]) -> Descriptor:
    """Add the files of a folder to a layout; the descriptor of their manifest.

    The same files give the same digest. A file is linked instead of copied where this is possible,
    so do not change it before it is pushed.
    """
    layers: list[Json] = []
    for path, file in list_files(folder):
        blob = _add_file(layout, file, notify)
        layers.append(blob.to_json() | {"annotations": {TITLE: path}})
    config = Descriptor(_EMPTY_TYPE, layout.store(_EMPTY), len(_EMPTY))
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPES[0],
        "artifactType": MODEL_TYPE,
        "config": config.to_json(),
        "layers": layers,
    }
    content = json.dumps(manifest, sort_keys=True).encode()
    if len(content) > MANIFEST_LIMIT:
        raise NimError(f"models: {folder} has more files than a manifest can list")
    return Descriptor(MANIFEST_TYPES[0], layout.store(content), len(content))


def list_files(folder: Path) -> list[tuple[str, Path]]:
    """The files of a folder with their paths below it, sorted; NimError if one cannot be packed.

    A link is followed if it leads to a file below the folder, as in the caches of Hugging Face.
    """
    root = folder.resolve()
    if not root.is_dir():
        raise NimError(f"models: {folder} is not a folder")
    found: list[tuple[str, Path]] = []
    for place, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - _IGNORED)
        for name in [*folders, *names]:
            item = Path(place, name)
            if name in folders and not item.is_symlink():
                continue
            path, target = str(item.relative_to(root)), item.resolve()
            if not target.is_file() or not target.is_relative_to(root):
                raise NimError(f"models: {item} is neither a file nor a link to one in the folder")
            if not path.isprintable() or "\\" in path:
                raise NimError(f"models: {item!r}: its name is not plain text")
            found.append((path, target))
    if not found:
        raise NimError(f"models: {folder} has no files")
    if len(found) > MAX_FILES:
        raise NimError(f"models: {folder} has more than {MAX_FILES} files")
    return sorted(found)


def _add_file(layout: Layout, file: Path, notify: t.Callable[[int], None]) -> Descriptor:
    digest, size = hashlib.sha256(), 0
    with file.open("rb") as stream:
        while piece := stream.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            notify(len(piece))
    blob = Descriptor(_FILE_TYPE, f"sha256:{digest.hexdigest()}", size)
    target = layout.path_of(blob.digest)
    draft = target.with_name(f".{target.name}.link")
    draft.unlink(missing_ok=True)
    try:
        os.link(file, draft)
    except OSError:  # another volume, or one without links
        shutil.copyfile(file, draft)
    os.replace(draft, target)
    return blob
