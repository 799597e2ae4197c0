# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Reproducible archives, independent of the time, machine and user of the build."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

Files = Mapping[str, bytes]


def find_files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by their paths in it, sorted."""
    return {
        str(file.relative_to(folder)): file for file in sorted(folder.rglob("*")) if file.is_file()
    }


def pack(
    files: Files, epoch: int, first: Iterable[str] = (), modes: Mapping[str, int] | None = None
) -> bytes:
    """Return a .tar.gz, with the files in the order of their paths after those named first.

    The default mode is world-readable; a name that ends in / is a folder.
    """
    order = [*first, *sorted(set(files) - set(first))]
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in order:
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(files[name]), epoch
            member.mode = (modes or {}).get(name, 0o644)
            if name.endswith("/"):
                member.type = tarfile.DIRTYPE
            archive.addfile(member, io.BytesIO(files[name]))
    return gzip.compress(inner.getvalue(), mtime=epoch)


def repack_collection(tarball: bytes, epoch: int) -> bytes:
    """Return a collection's tarball with sorted lists: Ansible writes them in disk order."""
    files, modes = _unpack(tarball)
    listed = json.loads(files["FILES.json"])
    listed["files"].sort(key=lambda entry: entry["name"])
    files["FILES.json"] = _to_json(listed)
    manifest = json.loads(files["MANIFEST.json"])
    digest = hashlib.sha256(files["FILES.json"]).hexdigest()
    manifest["file_manifest_file"]["chksum_sha256"] = digest
    files["MANIFEST.json"] = _to_json(manifest)
    return pack(files, epoch, ("MANIFEST.json", "FILES.json"), modes)


def _unpack(tarball: bytes) -> tuple[dict[str, bytes], dict[str, int]]:
    files, modes = {}, {}
    with tarfile.open(fileobj=io.BytesIO(tarball)) as archive:
        for member in archive:
            content = archive.extractfile(member)
            # Ansible requires every folder that FILES.json lists.
            name = f"{member.name}/" if content is None else member.name
            files[name] = content.read() if content else b""
            modes[name] = 0o755 if content is None or member.mode & 0o100 else 0o644
    return files, modes


def _to_json(item: object) -> bytes:
    return json.dumps(item, indent=1, sort_keys=True).encode()


def checksums(folder: Path) -> str:
    """Return the input of `sha256sum --check` for all files of a folder."""
    lines = []
    for name, path in find_files(folder).items():
        lines.append(f"{digest_of(path)}  {name}\n")
    return "".join(lines)


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
