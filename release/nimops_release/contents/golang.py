# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Go modules from the build information of programs; licenses from the module cache."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..errors import ReleaseError
from .component import Component
from .image import Image

ELF = b"\x7fELF"
_BUILD_INFO = b"\xff Go buildinf:"
_OURS = "nimops.nim/"
UNVERSIONED = "(devel)"
_LICENSE_FILE = re.compile(r"(?i)(un)?licen[cs]e|copying")
Module = tuple[str, str]


def find_modules(image: Image, binaries: Iterable[str]) -> Iterator[Component]:
    """Yield the modules of Go programs, and Go's standard library.

    Sources that are not in the module cache are downloaded.
    """
    used: dict[Module, tuple[str, ...]] = {}
    for path in binaries:
        content = image.read(path) or b""
        if _BUILD_INFO in content:
            for module in read_modules(_read_build_info(content)):
                used[module] = (*used.get(module, ()), path)
    folders = _download(sorted(module for module in used if module[0] != "stdlib"))
    for (name, version), owns in sorted(used.items()):
        namespace, _slash, last = name.rpartition("/")
        standard = ("BSD-3-Clause",) if name == "stdlib" else ()
        texts = tuple(_read_licenses(folders.get((name, version))))
        yield Component("golang", last, version, namespace, "", standard, texts, owns)


def read_modules(info: dict[str, Any]) -> list[Module]:
    """Return the modules that a program was built from, after replacements, without our own."""
    found = [("stdlib", info["GoVersion"].removeprefix("go"))]
    for module in (info.get("Main") or {}, *(info.get("Deps") or ())):
        actual = module.get("Replace") or module
        if actual and not actual["Path"].startswith(_OURS):
            found.append((actual["Path"], actual.get("Version") or UNVERSIONED))
    return found


def _read_build_info(content: bytes) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile() as program:
        program.write(content)
        program.flush()
        Path(program.name).chmod(0o755)
        info: dict[str, Any] = json.loads(_go(["version", "-m", "-json", program.name]))
    return info


def _download(modules: Iterable[Module]) -> dict[Module, Path]:
    """Return the folders of available modules; a build of a checkout has no version."""
    wanted = [f"{name}@{version}" for name, version in modules if version != UNVERSIONED]
    if not wanted:
        return {}
    # An unavailable module does not affect the others: its license stays unknown.
    output = _go(["mod", "download", "-json", *wanted], check=False)
    entries = split_json(output)
    return {(e["Path"], e["Version"]): Path(e["Dir"]) for e in entries if e.get("Dir")}


def split_json(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects from concatenated JSON."""
    decoder, rest = json.JSONDecoder(), text.strip()
    while rest:
        entry, end = decoder.raw_decode(rest)
        yield entry
        rest = rest[end:].lstrip()


def _read_licenses(folder: Path | None) -> Iterator[str]:
    for file in sorted(folder.iterdir()) if folder else ():
        if file.is_file() and _LICENSE_FILE.match(file.name):
            yield file.read_text(errors="replace")


def _go(arguments: list[str], check: bool = True) -> str:
    # In a folder outside any module.
    done = subprocess.run(["go", *arguments], cwd="/", capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise ReleaseError(f"go {' '.join(arguments)} failed:\n{done.stderr.strip()}")
    return done.stdout
