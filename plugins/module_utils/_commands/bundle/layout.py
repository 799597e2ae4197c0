# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A folder in OCI's image layout: blobs by digest, and an index of what they belong to."""

from __future__ import annotations

import json
import os
import tempfile
import typing as t
from dataclasses import dataclass
from pathlib import Path

from ..._base.errors import NimError
from ..._base.types import Json
from ..._http.registry_auth import RegistryError
from ..._http.registry_client import INDEX_TYPES, MANIFEST_LIMIT, Manifest, check_digest, digest_of
from ..._http.verified_file import Notify, Read, fetch_file, has_content

REF_NAME = "org.opencontainers.image.ref.name"
"""Annotation of an entry of the index: the reference of the image or the model."""
MODEL_TYPE = "application/vnd.nimops.model.v1"
"""The artifactType of a model."""

_MARKER, _INDEX = "oci-layout", "index.json"
_VERSION = {"imageLayoutVersion": "1.0.0"}
_INDEX_LIMIT = 16 << 20
_MAX_PARTS = 4096
_PIECE = 1 << 20


@dataclass(frozen=True)
class Descriptor:
    """The target of a reference in an index or a manifest."""

    media_type: str
    digest: str
    size: int

    def to_json(self) -> Json:
        """The fields of OCI's format."""
        return {"mediaType": self.media_type, "digest": self.digest, "size": self.size}


@dataclass(frozen=True)
class Entry:
    """An image or a model of the index; ``name`` is its reference."""

    name: str
    manifest: Descriptor
    is_model: bool


class Layout:
    """The folder. It is complete for each entry of its index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def create(cls, folder: Path) -> Layout:
        """The layout in a folder, made if it does not exist; NimError for other content."""
        layout = cls(folder)
        if folder.is_dir() and any(folder.iterdir()):
            layout.entries()
            return layout
        layout.blobs.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / _INDEX, _dump({"schemaVersion": 2, "manifests": []}))
        write_atomically(folder / _MARKER, _dump(_VERSION))
        return layout

    @property
    def blobs(self) -> Path:
        """The folder of blobs."""
        return self.folder / "blobs" / "sha256"

    def path_of(self, digest: str) -> Path:
        """The file of a blob."""
        return self.blobs / check_digest(digest).partition(":")[2]

    def entries(self) -> list[Entry]:
        """The images and models; NimError if the folder is none."""
        if not (self.folder / _MARKER).is_file():
            raise NimError(f"{self.folder}: is not a folder that bundle wrote: it has no {_MARKER}")
        listed = self._read_index().get("manifests")
        return [_entry_of(item) for item in _mappings(listed)]

    def add(self, name: str, manifest: Descriptor, *, is_model: bool = False) -> None:
        """List an image or a model whose blobs are complete, in place of one of its name."""
        index = self._read_index()
        listed = [item for item in _mappings(index.get("manifests")) if _name_of(item) != name]
        entry = manifest.to_json() | {"annotations": {REF_NAME: name}}
        if is_model:
            entry["artifactType"] = MODEL_TYPE
        index["manifests"] = sorted([*listed, entry], key=_name_of)
        write_atomically(self.folder / _INDEX, _dump(index))

    def fetch(self, blob: Descriptor, read: Read, notify: Notify) -> bool:
        """Download a blob; False if it was there."""
        file = self.path_of(blob.digest)
        if has_content(file, blob.digest, blob.size):
            notify(blob.size)
            return False
        draft = file.with_name(f".{file.name}.part")
        fetch_file(file, draft, blob.digest, blob.size, read, notify)
        return True

    def store(self, content: bytes) -> str:
        """Store a small blob; its digest."""
        digest = digest_of(content)
        write_atomically(self.path_of(digest), content)
        return digest

    def read_manifest(self, descriptor: Descriptor) -> Manifest:
        """A manifest or an index; RegistryError if it is damaged."""
        file = self.path_of(descriptor.digest)
        try:
            with file.open("rb") as stream:
                content = stream.read(MANIFEST_LIMIT + 1)
        except FileNotFoundError:
            raise RegistryError(f"{file} is missing: run bundle again") from None
        if len(content) > MANIFEST_LIMIT or digest_of(content) != descriptor.digest:
            raise RegistryError(f"{file} is damaged: run bundle again")
        return Manifest(descriptor.media_type, descriptor.digest, content)

    def read_part(self, digest: str, offset: int, length: int) -> t.Iterator[bytes]:
        """The pieces of a part of a blob."""
        with self.path_of(digest).open("rb") as stream:
            stream.seek(offset)
            while length > 0 and (piece := stream.read(min(_PIECE, length))):
                length -= len(piece)
                yield piece

    def _read_index(self) -> Json:
        file = self.folder / _INDEX
        try:
            with file.open("rb") as stream:
                content = stream.read(_INDEX_LIMIT + 1)
            found = json.loads(content) if len(content) <= _INDEX_LIMIT else None
        except FileNotFoundError:
            found = None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise NimError(f"{file}: is missing, or is not the index of a layout")
        return found


def is_index(media_type: str) -> bool:
    """Whether a document is an index of manifests."""
    return media_type in INDEX_TYPES


def parts_of(manifest: Manifest) -> tuple[list[Descriptor], list[Descriptor]]:
    """The manifests and the blobs that a document refers to; RegistryError if it is invalid."""
    found = manifest.parse()
    if is_index(manifest.media_type):
        return [descriptor_of(item) for item in _bounded(found.get("manifests"))], []
    config = [found["config"]] if isinstance(found.get("config"), dict) else []
    blobs = [descriptor_of(item) for item in [*config, *_bounded(found.get("layers"))]]
    return [], list({item.digest: item for item in blobs}.values())


def descriptor_of(item: t.Any) -> Descriptor:
    """The descriptor in a document; RegistryError if it is invalid."""
    fields = item if isinstance(item, dict) else {}
    size, media_type = fields.get("size"), fields.get("mediaType")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise RegistryError("a descriptor has no size")
    if not isinstance(media_type, str) or not media_type.isprintable():
        raise RegistryError("a descriptor has no media type")
    return Descriptor(media_type, check_digest(fields.get("digest")), size)


def write_atomically(file: Path, content: bytes) -> None:
    """Write a file that appears when it is complete."""
    handle, draft = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name[:40]}-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(draft, 0o644)
        os.replace(draft, file)
    finally:
        Path(draft).unlink(missing_ok=True)


def _entry_of(item: Json) -> Entry:
    try:
        descriptor = descriptor_of(item)
    except RegistryError as error:
        raise NimError(f"{_INDEX}: {error}") from error
    return Entry(_name_of(item), descriptor, item.get("artifactType") == MODEL_TYPE)


def _name_of(item: Json) -> str:
    annotations = item.get("annotations")
    return str(annotations.get(REF_NAME) or "") if isinstance(annotations, dict) else ""


def _mappings(items: t.Any) -> list[Json]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _bounded(items: t.Any) -> list[t.Any]:
    if items is None:
        return []
    if not isinstance(items, list) or len(items) > _MAX_PARTS:
        raise RegistryError(f"a document does not list at most {_MAX_PARTS} parts")
    return items


def _dump(value: t.Any) -> bytes:
    return json.dumps(value, indent=2, sort_keys=True).encode()
