# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Key-based signatures of images, without a transparency log or any other service."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from .errors import SetupError
from .programs import run_program

# A name that can change its meaning: a tag after the registry's name.
_TAGGED = re.compile(r"[^/@]+(/[^/@:]+)+:[\w.-]+")
_DIGEST = re.compile(r"[^/@]+(/[^/@]+)+@sha256:[0-9a-f]{64}")


def sign_image(image: str, key: Path) -> str:
    """Sign an image in a registry, including all images of an index; return its name by digest.

    cosign prompts for the key's password, unless COSIGN_PASSWORD contains it.
    """
    if not key.is_file():
        raise SetupError(
            f"KEY={key}: no such file; `cosign generate-key-pair` creates one, with a password"
        )
    pinned = pin(image)
    with tempfile.TemporaryDirectory() as folder:
        # Without these two options, cosign fetches the addresses of public services.
        services, roots = f"{folder}/services.json", f"{folder}/roots.json"
        run_program("cosign", "signing-config", "create", f"--out={services}")
        run_program("cosign", "trusted-root", "create", f"--out={roots}")
        how = [f"--signing-config={services}", f"--trusted-root={roots}", "--recursive", "--yes"]
        run_program("cosign", "sign", f"--key={key}", *how, pinned, prompts=True)
    return pinned


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
