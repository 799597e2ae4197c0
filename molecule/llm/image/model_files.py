# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The files of a profile, and their download to the cache."""

from __future__ import annotations

import hashlib
import http.client
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

MANIFEST = Path("/opt/nim/etc/default/model_manifest.yaml")
OVERRIDE = "NIM_REPOSITORY_OVERRIDE"
KEYS = ("NGC_API_KEY", "HF_TOKEN")
ATTEMPTS = 5
PAUSE = 1.0  # seconds between two attempts
PIECE = 1 << 20  # bytes
_SCHEME = "ngc://"


class RefusedError(Exception):
    """Print the error of a NIM that ends with 1."""


@dataclass(frozen=True)
class ModelFile:
    """`repository`: such as `acme/llm/model:version`. `digest`: SHA-256, hexadecimal."""

    repository: str
    name: str
    digest: str

    @property
    def key(self) -> str:
        """The path below a mirror of the registry: the whole address without its scheme, quoted."""
        return urllib.parse.quote(f"{self.repository}?file={self.name}", safe="")

    def path(self, cache: Path) -> Path:
        model, _, version = self.repository.rpartition(":")
        folder = "models--" + model.replace("/", "--")
        return cache / "ngc/hub" / folder / "snapshots" / version / self.name


@dataclass(frozen=True)
class Profile:
    """A profile of the manifest."""

    id: str
    model: str
    tags: dict[str, str]
    files: tuple[ModelFile, ...]

    def is_in(self, cache: Path) -> bool:
        return all(file.path(cache).is_file() for file in self.files)


def read_profiles(text: str) -> list[Profile]:
    """The profiles of a manifest of version 1."""
    return [
        Profile(identity, given["model"], given["tags"], tuple(_files(given)))
        for identity, given in yaml.safe_load(text).items()
    ]


def _files(given: dict[str, Any]) -> list[ModelFile]:
    sources = [component["src"] for component in given["workspace"]["components"]]
    return [
        ModelFile(source["repo_id"].removeprefix(_SCHEME), name, source["sha256"][name])
        for source in sources
        for name in source["files"]
    ]


def download(file: ModelFile, cache: Path) -> None:
    """Bring a file to the cache, unless it is there; RefusedError if the registry refuses."""
    target = file.path(cache)
    if target.is_file():
        print(f"{file.name} is in the cache", flush=True)
        return
    part = target.with_name(f"{file.name}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    _fetch(_url(file), part)
    found = _digest(part)
    if found != file.digest:
        part.unlink()
        raise RefusedError(f"{file.name}: the SHA-256 is {found}, not {file.digest}")
    part.rename(target)
    print(f"{file.name}: {target.stat().st_size} bytes, SHA-256 {found}", flush=True)


def _url(file: ModelFile) -> str:
    mirror = os.environ.get(OVERRIDE) or ""
    if not mirror.startswith(("http://", "https://")):
        raise RefusedError(f"{file.name} is not in the cache, and {OVERRIDE} names no registry")
    return f"{mirror.rstrip('/')}/{file.key}"


def _fetch(url: str, part: Path) -> None:
    """Complete a file, which may have a beginning; try again if the connection ends early."""
    for attempt in range(ATTEMPTS):
        time.sleep(PAUSE if attempt else 0.0)
        try:
            if _continue(url, part):
                return
            reason = "the connection ended"
        except urllib.error.HTTPError as error:
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # there is nothing after the end of our file
            if error.code < 500:
                raise RefusedError(f"{url}: {error.code} {error.reason}") from error
            reason = str(error)
        except (OSError, http.client.HTTPException) as error:
            reason = str(error)
        print(f"{part.name}: {_size(part)} bytes: {reason}", file=sys.stderr, flush=True)
    raise RefusedError(f"{url}: gave up after {ATTEMPTS} attempts")


def _continue(url: str, part: Path) -> bool:
    """Append what the server sends from the end of the file on; return whether that is all."""
    start = _size(part)
    request = urllib.request.Request(url, headers={"Range": f"bytes={start}-"})
    if key := next(filter(None, map(os.environ.get, KEYS)), None):
        request.add_header("Authorization", f"Bearer {key}")
    with urllib.request.urlopen(request, timeout=60) as answer:
        is_rest = answer.status == http.HTTPStatus.PARTIAL_CONTENT
        whole = int(answer.headers["Content-Length"]) + (start if is_rest else 0)
        with part.open("ab" if is_rest else "wb") as file:
            while piece := answer.read(PIECE):
                file.write(piece)
    return _size(part) >= whole


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
