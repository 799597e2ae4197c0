# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Debian packages: dpkg's database and the copyright files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser

from .component import Component
from .image import Image

_STATUS = "var/lib/dpkg/status"
_INFO = "var/lib/dpkg/info"
_LICENSE = re.compile(r"^License:[ \t]*(\S.*?)[ \t]*$", re.M)
_COMMON = re.compile(r"/usr/share/common-licenses/([\w.+-]*\w)")


def find_packages(image: Image) -> Iterator[Component]:
    """Yield the packages installed by dpkg."""
    for entry in read_status(image.text(_STATUS)):
        name, arch = entry["Package"], entry["Architecture"]
        copyright_text = image.text(f"usr/share/doc/{name}/copyright")
        # The file name of a multi-architecture library includes the architecture.
        lists = (image.text(f"{_INFO}/{name}{end}.list") for end in (f":{arch}", ""))
        yield Component(
            "deb",
            name,
            entry["Version"],
            image.distribution,
            arch,
            read_copyright(copyright_text),
            (copyright_text,) if copyright_text else (),
            tuple(path for text in lists for path in text.split("\n") if path),
        )


def read_status(text: str) -> Iterator[Message]:
    """Yield the fields of each installed package."""
    for paragraph in text.split("\n\n"):
        entry = Parser().parsestr(paragraph.strip("\n") + "\n")
        if str(entry.get("Status", "")).endswith(" installed"):
            yield entry


def read_copyright(text: str) -> tuple[str, ...]:
    """Return the names of all licenses: from its fields, or else from its references."""
    declared = _LICENSE.findall(text) if text.lstrip().startswith("Format") else []
    return tuple(sorted(set(declared or _COMMON.findall(text))))
