# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Ansible collections: their manifests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePosixPath

from .component import Component
from .image import Image


def find_collections(image: Image) -> Iterator[Component]:
    """Yield collections, wherever they are installed."""
    for path in image.glob("ansible_collections/*/*/MANIFEST.json"):
        info = json.loads(image.text(path))["collection_info"]
        file = PurePosixPath(path).parent / (info["license_file"] or "LICENSE")
        text = image.text(str(file))
        yield Component(
            "generic",
            f"{info['namespace']}.{info['name']}",
            info["version"],
            licenses=tuple(info["license"]),
            texts=(text,) if text else (),
        )
