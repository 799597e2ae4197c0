# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Copies images and models between registries and a layout."""

from __future__ import annotations

import time
import typing as t
from dataclasses import dataclass
from functools import partial

from ..._base.errors import NimError
from ..._base.json_size import show_size
from ..._http.image_registry import Reference, parse_reference
from ..._http.mirrors import part_of
from ..._http.registry_auth import RegistryError
from ..._http.registry_client import RegistryClient
from .layout import Descriptor, Entry, Layout, parts_of
from .registries import Registries

_MAX_DEPTH = 3
_REPORT_SECONDS = 10.0
_DOCKER_HUB, _DOCKER_REGISTRY = "docker.io", "registry-1.docker.io"


class Meter:
    """Reports the bytes of one image from time to time."""

    def __init__(
        self,
        name: str,
        report: t.Callable[[str], None],
        clock: t.Callable[[], float] = time.monotonic,
    ) -> None:
        self._name, self._report, self._clock = name, report, clock
        self._next = clock() + _REPORT_SECONDS
        self.done = 0

    def count(self, size: int) -> None:
        """Count bytes."""
        self.done += size
        if self._clock() >= self._next:
            self._next = self._clock() + _REPORT_SECONDS
            self._report(f"{self._name}: {show_size(self.done)} so far")


@dataclass(frozen=True)
class Destination:
    """A registry, and the part of the names before those of the images; it may be empty."""

    host: str
    prefix: str

    def name_of(self, entry: Entry) -> tuple[str, str]:
        """The repository and the tag or digest of an image or a model."""
        if entry.is_model:
            name, _colon, version = entry.name.rpartition(":")
        else:
            reference = parse_reference(entry.name)
            host = part_of(public_host(reference.host))
            name, version = f"{host}/{reference.name}", reference.version
        return f"{self.prefix}/{name}" if self.prefix else name, version

    def reference_of(self, entry: Entry) -> str:
        """The reference of an image or a model in this registry."""
        name, version = self.name_of(entry)
        return f"{self.host}/{name}{'@' if ':' in version else ':'}{version}"


def parse_destination(text: str) -> Destination:
    """A registry, with a part of names if there is one; NimError if it is invalid."""
    host, _slash, prefix = text.strip("/").partition("/")
    try:
        found = parse_reference(f"{host}/{prefix}/x" if prefix else f"{host}/x")
    except RegistryError:
        found = None
    if found is None or public_host(found.host) != host:
        raise NimError(
            f"to: {text[:200]!r} is not a registry such as registry.example.com:5000 or"
            " registry.example.com/mirror"
        )
    return Destination(found.host, prefix)


def public_host(host: str) -> str:
    """The host in references: that of Docker Hub differs from its registry."""
    return _DOCKER_HUB if host == _DOCKER_REGISTRY else host


def pull_image(
    registries: Registries, layout: Layout, reference: Reference, notify: t.Callable[[int], None]
) -> Descriptor:
    """Complete an image of all its platforms in a layout; its descriptor."""
    client = registries.client_of(reference.host)
    return _pull(client, layout, reference.name, reference.version, notify, _MAX_DEPTH)


def _pull(
    client: RegistryClient,
    layout: Layout,
    name: str,
    version: str,
    notify: t.Callable[[int], None],
    depth: int,
) -> Descriptor:
    if not depth:
        raise RegistryError("its index contains too many levels of indexes")
    manifest = client.read_manifest(name, version)
    manifests, blobs = parts_of(manifest)
    for part in manifests:
        found = _pull(client, layout, name, part.digest, notify, depth - 1)
        if found.size != part.size:
            raise RegistryError(f"size of manifest {part.digest} does not match its index")
    for blob in blobs:
        layout.fetch(blob, partial(client.read_blob, name, blob.digest), notify)
    digest = layout.store(manifest.content)
    return Descriptor(manifest.media_type, digest, len(manifest.content))


class Push:
    """Copies a layout to a registry, which keeps what it has."""

    def __init__(self, registries: Registries, layout: Layout, to: Destination) -> None:
        self._client = registries.client_of(to.host)
        self._layout, self._to = layout, to
        self._homes: dict[str, str] = {}
        """Blob → a repository of the registry that has it."""

    def push(self, entry: Entry, notify: t.Callable[[int], None]) -> None:
        """Copy an image or a model, and give it its tag."""
        name, version = self._to.name_of(entry)
        self._push(name, version, entry.manifest, notify, _MAX_DEPTH)

    def _push(
        self,
        name: str,
        version: str,
        descriptor: Descriptor,
        notify: t.Callable[[int], None],
        depth: int,
    ) -> None:
        if not depth:
            raise RegistryError("its index contains too many levels of indexes")
        manifest = self._layout.read_manifest(descriptor)
        manifests, blobs = parts_of(manifest)
        for part in manifests:
            if not self._client.has_manifest(name, part.digest):
                self._push(name, part.digest, part, notify, depth - 1)
        for blob in blobs:
            self._push_blob(name, blob)
            notify(blob.size)
        self._client.write_manifest(name, version, manifest)

    def _push_blob(self, name: str, blob: Descriptor) -> None:
        if not self._client.has_blob(name, blob.digest):
            file = self._layout.path_of(blob.digest)
            if not file.is_file() or file.stat().st_size != blob.size:
                raise RegistryError(f"{file} is missing or damaged: run bundle again")
            self._client.write_blob(
                name,
                blob.digest,
                blob.size,
                lambda offset, length: self._layout.read_part(blob.digest, offset, length),
                other=self._homes.get(blob.digest, ""),
            )
        self._homes.setdefault(blob.digest, name)
