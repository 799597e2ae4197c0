# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Downloads a model from a registry to a folder, in a pod: `nimops-pull-model` of the image.

It imports neither Ansible nor the client of Kubernetes. If it is repeated, files with the right
content stay, and a broken one is completed.
"""

from __future__ import annotations

import argparse
import base64
import os
import re
import shutil
import sys
import time
import typing as t
from functools import partial
from pathlib import Path

from ..._http.image_registry import Reference, find_credentials, parse_reference
from ..._http.registry_auth import RegistryError
from ..._http.registry_client import INDEX_TYPES, Access, Manifest, RegistryClient
from ..._http.verified_file import fetch_file, has_content
from ..._nim.cache_versions import FOLDER
from .layout import Descriptor, descriptor_of
from .model import MAX_FILES, TITLE

_DRAFTS = ".nimops-drafts"
_RESERVED = (_DRAFTS, FOLDER)
"""The second has the renewed versions of a model, which other pods may mount."""
_REPORT_SECONDS = 10.0
_MAX_AUTHORITIES = 1 << 20
_MIB = 1 << 20
_MAX_NAMED = 5
_PROFILE = re.compile(r"[0-9a-f]{64}")
_UMASK = 0o002
"""The group of the volume may write: a service can run as another user."""

File = tuple[str, Descriptor]
"""A path below the folder, and the content."""


class Progress:
    """Prints lines in the form of a puller's bar of all files, which the operator reads."""

    def __init__(self, total: int, clock: t.Callable[[], float] = time.monotonic) -> None:
        self._total, self._clock = total, clock
        self._next = clock()
        self.done = 0

    def count(self, size: int) -> None:
        """Count bytes."""
        self.done += size
        if self._clock() >= self._next:
            self._next = self._clock() + _REPORT_SECONDS
            self.report()

    def report(self) -> None:
        """Print the bytes."""
        done, total = (f"{size / _MIB:.3f}MiB" for size in (self.done, self._total))
        sys.stdout.write(f"Processing Files: {done} / {total}\n")
        sys.stdout.flush()


def main(words: t.Sequence[str] | None = None) -> int:
    """Download; the exit code."""
    given = _parse(words)
    os.umask(_UMASK)
    try:
        reference = parse_place(given.reference)
        client = RegistryClient(reference.host, _find_access(given))
        count = pull_model(client, reference, Path(given.folder), given.profiles or ())
    except RegistryError as error:
        sys.stderr.write(f"error: {given.reference}: {error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"error: {error.filename or given.folder}: {error.strerror}\n")
        return 1
    sys.stdout.write(f"complete: {count} files of {given.reference}\n")
    return 0


def parse_place(text: str) -> Reference:
    """The place of a model, which always begins with a registry; RegistryError if it is invalid.

    In references of images, a first part without a dot or a port belongs to Docker Hub.
    """
    host, _slash, name = text.partition("/")
    if name and ("." in host or ":" in host):
        return parse_reference(text)
    return parse_reference(f"localhost/{name}")._replace(host=host)


def pull_model(
    client: RegistryClient, reference: Reference, folder: Path, profiles: t.Collection[str] = ()
) -> int:
    """Complete the files of a model in a folder; their number.

    ``profiles``: see `choose_files`.
    """
    manifest = client.read_manifest(reference.name, reference.version)
    files = choose_files(list_model(manifest), profiles)
    progress = Progress(sum(blob.size for _path, blob in files))
    root = folder.resolve()
    drafts = root / _DRAFTS
    drafts.mkdir(exist_ok=True)
    homes: dict[str, Path] = {}
    for path, blob in files:
        target = _find_target(root, path)
        if has_content(target, blob.digest, blob.size):
            progress.count(blob.size)
        elif blob.digest in homes:
            _copy(homes[blob.digest], target, drafts)
            progress.count(blob.size)
        else:
            draft = drafts / blob.digest.partition(":")[2]
            read = partial(client.read_blob, reference.name, blob.digest)
            fetch_file(target, draft, blob.digest, blob.size, read, progress.count)
        homes.setdefault(blob.digest, target)
    shutil.rmtree(drafts)
    progress.report()
    return len(files)


def list_model(manifest: Manifest) -> list[File]:
    """The files of a model; RegistryError if it is none, or if a path leads elsewhere."""
    layers = manifest.parse().get("layers")
    if manifest.media_type in INDEX_TYPES or not isinstance(layers, list) or not layers:
        raise RegistryError("is not a model: bundle packs one with --model")
    if len(layers) > MAX_FILES:
        raise RegistryError(f"has more than {MAX_FILES} files")
    files: dict[str, Descriptor] = {}
    for layer in layers:
        blob = descriptor_of(layer)
        annotations = layer.get("annotations")
        path = annotations.get(TITLE) if isinstance(annotations, dict) else None
        files[_check_path(path)] = blob
    return sorted(files.items())


def choose_files(files: list[File], profiles: t.Collection[str]) -> list[File]:
    """The files without those in folders of other profiles; RegistryError if a profile has none.

    The id of a profile names its folder; most images do not store files by profile. All files
    without ``profiles``.
    """
    homes = [(_find_profile(path), (path, blob)) for path, blob in files]
    known = {profile for profile, _file in homes if profile}
    if not profiles or not known:
        return files
    if missing := sorted(set(profiles) - known):
        raise RegistryError(
            f"has no files of profile {missing[0]}, but of {', '.join(sorted(known)[:_MAX_NAMED])}"
        )
    return [file for profile, file in homes if not profile or profile in profiles]


def _find_profile(path: str) -> str:
    """The first folder of a path that the id of a profile names; empty without one."""
    folders = path.split("/")[:-1]
    return next((name for name in folders if _PROFILE.fullmatch(name)), "")


def _check_path(path: t.Any) -> str:
    if not isinstance(path, str) or not path:
        raise RegistryError("has a file without a path: bundle packs a model with --model")
    parts = path.split("/")
    is_plain = path.isprintable() and "\\" not in path and parts[0] not in _RESERVED
    if not is_plain or {"", ".", ".."} & {*parts}:
        raise RegistryError(f"has a file with the path {path[:100]!r}, which is not allowed")
    return path


def _find_target(root: Path, path: str) -> Path:
    """The place of a file, whose folder is made; RegistryError if a link leads elsewhere."""
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.parent.resolve().is_relative_to(root):
        raise RegistryError(f"{path}: a link in the volume leads out of it")
    return target


def _copy(source: Path, target: Path, drafts: Path) -> None:
    """Give a content that is there a second path."""
    draft = drafts / "copy"
    draft.unlink(missing_ok=True)
    try:
        os.link(source, draft)
    except OSError:  # a volume without links
        shutil.copyfile(source, draft)
    os.replace(draft, target)
    draft.unlink(missing_ok=True)  # a link to the same file is not moved


def _find_access(given: argparse.Namespace) -> Access:
    config = ""
    if given.auth and Path(given.auth).is_file():
        config = base64.b64encode(Path(given.auth).read_bytes()).decode()
    return Access(
        find_credentials=lambda host: find_credentials([config] if config else [], host),
        authorities=list(_read_authorities(Path(given.ca))) if given.ca else [],
    )


def _read_authorities(folder: Path) -> t.Iterator[str]:
    for file in sorted(folder.iterdir()):
        if file.suffix in (".crt", ".pem") and file.stat().st_size <= _MAX_AUTHORITIES:
            yield file.read_text(encoding="ascii", errors="replace")


def _parse(words: t.Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("nimops-pull-model", description="Download a model")
    parser.add_argument("reference", help="a model in a registry")
    parser.add_argument("folder", help="the folder for its files")
    parser.add_argument("--auth", help="a file with credentials, as Docker's config.json")
    parser.add_argument("--ca", help="a folder of .crt and .pem files with authorities to trust")
    parser.add_argument("--profiles", nargs="*", help="the profiles whose folders to download")
    parser.add_argument("--all", action="store_true", help="download all files, the default")
    return parser.parse_args(words)


if __name__ == "__main__":
    raise SystemExit(main())
