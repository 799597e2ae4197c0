# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Key-based signatures of images and of provenance, without a transparency log or other service."""

from __future__ import annotations

import io
import json
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import provenance
from .archives import digest_of, find_files
from .errors import ReleaseError, SetupError
from .programs import find_program, run_program

SIGNED = "provenance.sigstore.json"
"""the signed statement about all files of a release"""
_TYPE = "slsaprovenance1"
_LARGEST_BUNDLE = 16 << 20
"""bytes of the layers"""
# A name that can change its meaning: a tag after the registry's name.
_TAGGED = re.compile(r"[^/@]+(/[^/@:]+)+:[\w.-]+")
_DIGEST = re.compile(r"[^/@]+(/[^/@]+)+@sha256:[0-9a-f]{64}")


def sign_image(image: str, key: Path) -> str:
    """Sign an image in a registry, including all images of an index; return its name by digest.

    cosign prompts for the key's password, unless COSIGN_PASSWORD contains it.
    """
    require_key(key)
    pinned = pin(image)
    _run_cosign("sign", key, "--recursive", pinned)
    return pinned


def attest_files(dist: Path, key: Path) -> Path:
    """Sign the provenance of all files of a release; return the file with the signature."""
    require_key(key)
    require_unchanged(dist)
    signed = dist / SIGNED
    signed.unlink(missing_ok=True)
    statement = f"--statement={dist / provenance.FILE}"
    _run_cosign("attest-blob", key, statement, f"--type={_TYPE}", f"--bundle={signed}")
    return signed


def attest_image(image: str, dist: Path, key: Path) -> str:
    """Attach the signed provenance to an image in a registry; return its name by digest.

    The image must be that of this release, or made of its OLM bundle.
    """
    require_key(key)
    require_unchanged(dist)
    pinned = pin(image)
    if not is_built_from(pinned, dist):
        raise SetupError(
            f"IMAGE={image}: is neither the image in {dist} nor made of {dist / 'bundle'}: push one"
            " of them, or name the folder of its release"
        )
    with tempfile.TemporaryDirectory() as folder:
        predicate = Path(folder, "predicate.json")
        predicate.write_text(provenance.to_json(read_statement(dist)["predicate"]))
        _run_cosign("attest", key, f"--predicate={predicate}", f"--type={_TYPE}", pinned)
    return pinned


def require_key(key: Path) -> None:
    """Raise SetupError if there is no such key."""
    if not key.is_file():
        raise SetupError(
            f"KEY={key}: no such file; `cosign generate-key-pair` creates one, with a password"
        )


def read_statement(dist: Path) -> dict[str, Any]:
    """Return the statement about the files of a release."""
    file = dist / provenance.FILE
    if not file.is_file():
        raise SetupError(f"{file}: no such file; `make release` writes it")
    loaded: dict[str, Any] = json.loads(file.read_text())
    return loaded


def require_unchanged(dist: Path) -> None:
    """Raise SetupError unless all files of a release are as it was built."""
    for subject in read_statement(dist)["subject"]:
        file = dist / subject["name"]
        if not file.is_file() or digest_of(file) != subject["digest"]["sha256"]:
            raise SetupError(f"{file}: is not as `make release` wrote it: make the release again")


def is_built_from(pinned: str, dist: Path) -> bool:
    """Whether an image in a registry is the operator's of a release, or made of its OLM bundle."""
    manifest = json.loads(_read_crane("manifest", pinned))
    if "layers" not in manifest:
        raise SetupError(
            f"IMAGE={pinned}: is an index: attest each of its images by digest, with the release of"
            " its architecture"
        )
    configs = {
        f"sha256:{json.loads(sbom.read_text())['metadata']['component']['hashes'][0]['content']}"
        for sbom in dist.glob("nim-operator-*.cdx.json")
    }
    if manifest["config"]["digest"] in configs:
        return True
    if sum(layer["size"] for layer in manifest["layers"]) > _LARGEST_BUNDLE:
        return False
    wanted = {
        name: path.read_bytes()
        for name, path in find_files(dist / "bundle").items()
        if "/" in name  # not its Dockerfile
    }
    return _read_files(pinned) == wanted


def _read_files(pinned: str) -> dict[str, bytes] | None:
    """Return the files of an image, by path; None if it has others than regular ones."""
    files = {}
    with tarfile.open(fileobj=io.BytesIO(_read_crane("export", pinned, "-"))) as archive:
        for member in archive:
            if content := archive.extractfile(member) if member.isfile() else None:
                files[member.name.lstrip("./")] = content.read()
            elif not member.isdir():
                return None
    return files


def _read_crane(*arguments: str) -> bytes:
    command = [str(find_program("crane")), *arguments]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        text = done.stderr.decode(errors="replace").strip()
        raise ReleaseError(f"crane {' '.join(arguments)} failed:\n{text}")
    return done.stdout


def _run_cosign(command: str, key: Path, *arguments: str) -> None:
    with _without_services() as options:
        run_program("cosign", command, f"--key={key}", *options, "--yes", *arguments, prompts=True)


@contextmanager
def _without_services() -> Iterator[list[str]]:
    """Without these two options, cosign fetches the addresses of public services."""
    with tempfile.TemporaryDirectory() as folder:
        services, roots = f"{folder}/services.json", f"{folder}/roots.json"
        run_program("cosign", "signing-config", "create", f"--out={services}")
        run_program("cosign", "trusted-root", "create", f"--out={roots}")
        yield [f"--signing-config={services}", f"--trusted-root={roots}"]


def pin(image: str) -> str:
    """Return the name of an image by digest; a tag is resolved."""
    if _DIGEST.fullmatch(image):
        return image
    if not _TAGGED.fullmatch(image):
        raise SetupError(
            f"IMAGE={image}: must be registry/name:tag or registry/name@sha256:…, and be pushed"
        )
    digest = run_program("crane", "digest", image).strip()
    return f"{image.rpartition(':')[0]}@{digest}"
