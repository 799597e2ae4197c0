# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the Ansible collections in an image, by their manifests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePosixPath

from .component import Component
from .image import Image


def find_collections(image: Image) -> Iterator[Component]:
    """Yield a component for each installed collection, with its license text if it has one.

    The component has the type `generic`, as package URLs have no type for collections. KeyError or
    ValueError if a MANIFEST.json is not that of a collection.
    """
    for path in image.glob("ansible_collections/*/*/MANIFEST.json"):
        info = json.loads(image.text(path))["collection_info"]
        license_path = PurePosixPath(path).parent / (info["license_file"] or "LICENSE")
        license_text = image.text(str(license_path))
        yield Component(
            kind="generic",
            name=f"{info['namespace']}.{info['name']}",
            version=info["version"],
            licenses=tuple(info["license"]),
            texts=(license_text,) if license_text else (),
        )
