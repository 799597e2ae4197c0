# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The files of an image, read from its archive without unpacking it."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from ..errors import ReleaseError

_REMOVED, _REPLACED = ".wh.", ".wh..wh..opq"
_MOST_LINKS = 40


class Image:
    """An archive in the format of `docker save`, with one image. Paths have no leading slash."""

    def __init__(self, archive: Path) -> None:
        self._archive = archive
        self._outer = tarfile.open(archive)  # noqa: SIM115 files are read from it later
        manifests = json.loads(self._bytes_of("manifest.json"))
        if len(manifests) != 1:
            raise ReleaseError(f"{archive}: contains {len(manifests)} images, expected one")
        [manifest] = manifests
        self.names: list[str] = manifest["RepoTags"] or []
        self.config_digest = f"sha256:{PurePosixPath(manifest['Config']).stem}"
        self.config: dict[str, Any] = json.loads(self._bytes_of(manifest["Config"]))
        self._files: dict[str, tuple[tarfile.TarFile, tarfile.TarInfo]] = {}
        for name in manifest["Layers"]:
            self._add(tarfile.open(fileobj=self._outer.extractfile(name)))  # noqa: SIM115 the same

    @property
    def labels(self) -> dict[str, str]:
        return self.config.get("config", {}).get("Labels") or {}

    @property
    def distribution(self) -> str:
        """The ID of /etc/os-release, such as rhel."""
        match = re.search(r"""^ID=["']?([\w.-]+)""", self.text("etc/os-release"), re.M)
        return match[1] if match else ""

    def files(self) -> Iterator[str]:
        """Yield the paths of regular files, sorted."""
        for path, (_layer, member) in sorted(self._files.items()):
            if member.isreg() or member.islnk():
                yield path

    def glob(self, *patterns: str) -> Iterator[str]:
        """Yield the paths of regular files that match one of the patterns from the right."""
        for path in self.files():
            if any(PurePosixPath(path).match(pattern) for pattern in patterns):
                yield path

    def read(self, path: str, most: int = -1) -> bytes | None:
        """Return the content or its first ``most`` bytes; None if the file does not exist."""
        found = self._files.get(self.resolve(path))
        content = found[0].extractfile(found[1]) if found else None
        return content.read(most) if content else None

    def text(self, path: str) -> str:
        """Return the text of a file; empty if the file does not exist."""
        return (self.read(path) or b"").decode(errors="replace")

    def resolve(self, path: str) -> str:
        """Return the path without symbolic links."""
        for _ in range(_MOST_LINKS):
            parts = PurePosixPath(path.lstrip("/")).parts
            for count in range(1, len(parts) + 1):
                link = "/".join(parts[:count])
                found = self._files.get(link)
                if found and found[1].issym():
                    target = PurePosixPath("/", link).parent / found[1].linkname
                    path = _normalize(PurePosixPath(target, *parts[count:]))
                    break
            else:
                return "/".join(parts)
        return path

    def _bytes_of(self, name: str) -> bytes:
        try:
            content = self._outer.extractfile(name)
        except KeyError:
            content = None
        if content is None:
            raise ReleaseError(f"{self._archive}: has no {name}: it is not an image archive")
        return content.read()

    def _add(self, layer: tarfile.TarFile) -> None:
        members = {str(PurePosixPath(member.name)).lstrip("/"): member for member in layer}
        for name in members:
            path = PurePosixPath(name)
            if path.name == _REPLACED:
                self._remove_below(str(path.parent))
            elif path.name.startswith(_REMOVED):
                self._remove(str(path.with_name(path.name.removeprefix(_REMOVED))))
        for name, member in members.items():
            if PurePosixPath(name).name.startswith(_REMOVED):
                continue
            found = self._files.get(name)
            if found and found[1].isdir() and not member.isdir():
                self._remove_below(name)
            self._files[name] = (layer, member)

    def _remove(self, path: str) -> None:
        self._files.pop(path, None)
        self._remove_below(path)

    def _remove_below(self, path: str) -> None:
        for name in [name for name in self._files if name.startswith(f"{path}/")]:
            del self._files[name]


def _normalize(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts[1:]:
        if part == "..":
            parts = parts[:-1]
        else:
            parts.append(part)
    return "/".join(parts)
