# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The files that users name."""

from __future__ import annotations

import os
import tempfile
import typing as t
from contextlib import contextmanager
from pathlib import Path

from .._base.errors import NimError
from .._base.types import Json
from .loader import Text, parse

_SUFFIXES = (".yaml", ".yml", ".json")
_STDIN = ("-", "/dev/stdin")

ReadStdin = t.Callable[[str], str]
"""Returns the text on stdin, which the user named by the argument."""


def refuse_stdin(path: str) -> str:
    """NimError: Ansible's workers have no stdin."""
    raise NimError(
        f"{path}: a module cannot read stdin, as Ansible's workers have none; name a file,"
        " or use <(command) of bash"
    )


def read_texts(paths: t.Iterable[str], read_stdin: ReadStdin = refuse_stdin) -> list[Text]:
    """The contents of files, also in folders; NimError if one is missing."""
    return [text for path in paths for text in _read_path(path, read_stdin)]


def read_objects(paths: t.Iterable[str]) -> list[Json]:
    """The objects in these files."""
    return [item for text in read_texts(paths) for item in parse(text)]


def _read_path(path: str, read_stdin: ReadStdin) -> list[Text]:
    if path in _STDIN:
        return [Text(path, read_stdin(path))]
    file = Path(path).expanduser()
    try:
        if not file.is_dir():
            return [Text(path, file.read_text())]
        found = sorted(
            item
            for item in file.iterdir()
            if item.suffix in _SUFFIXES and item.stem != "kustomization"
        )
        if not found:
            raise NimError(f"{path}: has no file that ends in {', '.join(_SUFFIXES)}")
        return [Text(str(item), item.read_text()) for item in found]
    except UnicodeDecodeError as error:
        raise NimError(f"{path}: is not text in UTF-8") from error
    except OSError as error:
        raise NimError(f"{path}: {error.strerror}") from error


@contextmanager
def atomic_file(file: Path) -> t.Iterator[t.BinaryIO]:
    """A file of mode 0600 that is renamed to its name when it is complete.

    NimError about the option `path`.
    """
    try:
        handle, draft = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
        try:
            with os.fdopen(handle, "wb") as stream:
                yield stream
            os.replace(draft, file)
        finally:
            Path(draft).unlink(missing_ok=True)
    except OSError as error:
        raise NimError(f"path: {file}: {error.strerror}") from error
