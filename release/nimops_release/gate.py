# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Conditions of a release that is meant for publication, checked before anything is built."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from .errors import SetupError
from .manifests import PUBLISHER, Notify, Project
from .programs import run

STAND_IN = "stand-in"
"""the value of BASE, and of the base's label, for releases that only tests use"""
PINNED = re.compile(
    r"(?P<name>[\w.-]+(?::\d+)?(?:/[\w.-]+)+:\w[\w.-]{0,127})@(?P<digest>sha256:[0-9a-f]{64})"
)
"""an image by tag and digest"""
# RFC 2606 and RFC 6761 reserve these names: no publisher can own them.
_RESERVED = re.compile(r"(?:.+\.)?(?:example\.(?:com|net|org)|example|invalid|localhost|test)")
_MOST = 10


def check(root: Path, base: str, with_image: bool, notify: Notify) -> None:
    """Raise SetupError unless a release of this checkout can be published.

    `base`: the base image. A release without its image, or on the stand-in, is not published: its
    problems are only printed.
    """
    problems = [*find_problems(root, base if with_image else None)]
    if not problems:
        return
    if with_image and base != STAND_IN:
        raise SetupError("\n".join(["nothing was built:", *problems]))
    reason = f"BASE={STAND_IN}" if with_image else "WITHOUT_IMAGE=1"
    for problem in problems:
        notify(f"ignored because of {reason}: {problem}")


def find_problems(root: Path, base: str | None) -> Iterator[str]:
    """Yield what prevents a publication, with a remedy. `base`: None if no image is built."""
    if base not in (None, STAND_IN) and not PINNED.fullmatch(base or ""):
        yield (
            f"BASE={base or '(empty)'}: only a digest is final, so name the base by tag and digest:"
            " make release BASE=registry/name:tag@sha256:…, with the digest that `crane digest"
            f" registry/name:tag` prints; or BASE={STAND_IN} or WITHOUT_IMAGE=1 for a release that"
            " is not published"
        )
    yield from find_placeholders(Project(root).publisher, Project(root).placeholders)
    yield from _find_unwritten(root)
    if changes := run(["git", "status", "--porcelain"], root).splitlines():
        names = ", ".join(line[3:] for line in changes[:_MOST])
        more = f" and {len(changes) - _MOST} more" if len(changes) > _MOST else ""
        yield (
            f"git status: uncommitted changes of {names}{more}, which are not part of the release:"
            " commit them, or remove them"
        )


def find_placeholders(values: Mapping[str, str], placeholders: list[str]) -> Iterator[str]:
    """Yield the values of the publisher that are not real: listed as such, or reserved names."""
    if unknown := [key for key in placeholders if key not in values]:
        yield f"{PUBLISHER}: placeholders: {', '.join(unknown)}: no such value: remove it"
    listed = [key for key in values if key in placeholders]
    reserved = [
        key
        for key in values
        if key not in placeholders and _RESERVED.fullmatch(_host_of(values[key]))
    ]
    for keys, problem, remedy in (
        (listed, "placeholders", "set real values, remove their keys from `placeholders`"),
        (reserved, "names that are reserved for examples", "set real values"),
    ):
        if keys:
            found = ", ".join(f"{key} ({values[key]})" for key in keys)
            yield f"{PUBLISHER}: {found}: {problem}: {remedy}, run make generate, and commit"


def _host_of(value: str) -> str:
    """Return the host of an address, of a registry with a path or of a mail address."""
    return re.sub(r"^\w+://|[:/].*$", "", value.rpartition("@")[2])


def _find_unwritten(root: Path) -> Iterator[str]:
    command = [sys.executable, str(root / "hack/generate_publisher.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        text = (done.stdout + done.stderr).strip()
        yield f"{PUBLISHER}: other files have other values: run make generate, and commit:\n{text}"


def check_base(labels: Mapping[str, str], base: str) -> None:
    """Raise SetupError unless an image has the base that was named, by its labels."""
    stand_in = labels.get("nimops.nim.base") == STAND_IN
    if PINNED.fullmatch(base) and stand_in:
        raise SetupError(
            f"BASE={base}: is a stand-in for tests, says its label nimops.nim.base: name the"
            f" published ansible-operator image, or BASE={STAND_IN} for a release for tests"
        )
    if base == STAND_IN and not stand_in:
        raise SetupError(f"BASE={STAND_IN}: the base lacks the label nimops.nim.base={STAND_IN}")
