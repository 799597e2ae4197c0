# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""References to custom resources, as users write them: ``nimservice/llm``."""

from __future__ import annotations

import re
import typing as t

from .._base.errors import NimError
from .._base.printable import printable
from .._base.types import Json
from .._cluster.client import Client
from .._engine.api_resources import KINDS, api_path
from .._engine.metadata import is_controlled_by
from .._engine.served_kinds import SERVED, SHORT_NAMES

_SERVICE = "NIMService"
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_MAX_SHOWN = 100


class Reference(t.NamedTuple):
    """A custom resource of one of our kinds, in the namespace that the command uses."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.lower()}/{self.name}"


def parse_reference(text: str, default_kind: str | None) -> Reference:
    """A reference such as ``KIND/NAME``; NimError names the valid kinds.

    KIND is a kind, its plural or a short name in any case, also with the API group as in the output
    of `kubectl get -o name`. Without it, the text is a name of ``default_kind``.
    """
    kind, slash, name = text.strip().rpartition("/")
    found = parse_kind(kind) if slash else default_kind
    if found is None:
        raise NimError(f"{_show(text)}: has no kind: write KIND/NAME, where KIND is {_choices()}")
    if not _NAME.fullmatch(name):
        raise NimError(f"{_show(text)}: is not KIND/NAME with a valid name, such as nimservice/llm")
    return Reference(found, name)


def read_resources(
    client: Client, texts: t.Iterable[str], namespace: str, default_kind: str | None = None
) -> list[Json]:
    """The live resources that references name, each once; NimError if one does not exist.

    ``namespace``: by default that of the context.
    """
    references = dict.fromkeys(parse_reference(text, default_kind) for text in texts)
    if not references:
        raise NimError("resources: missing; name some, such as nimservice/llm")
    found, missing = [], []
    for reference in references:
        place = namespace or client.namespace
        live = client.get(api_path(reference.kind, place, reference.name))
        if live is None:
            where = f" in namespace {place}" if KINDS[reference.kind].is_namespaced else ""
            missing.append(f"{reference} does not exist{where}")
        else:
            found.append({**live, "kind": reference.kind})
    if missing:
        raise NimError("; ".join(missing))
    return found


def services_of(client: Client, pipeline: Json) -> list[Json]:
    """The live NIMServices that a NIMPipeline created."""
    namespace = str(pipeline["metadata"]["namespace"])
    return [
        {"apiVersion": KINDS[_SERVICE].version, **item, "kind": _SERVICE}
        for item in client.list_objects(api_path(_SERVICE, namespace)) or []
        if is_controlled_by(item, pipeline)
    ]


def reference_of(resource: t.Mapping[str, t.Any]) -> Reference:
    """The reference to a live resource."""
    return Reference(resource["kind"], resource["metadata"]["name"])


def parse_kind(text: str) -> str:
    """A kind by its name, plural or short name in any case; NimError names the valid kinds."""
    word, _dot, group = text.strip().lower().partition(".")
    kind = _names().get(word)
    if kind is None or group not in _groups_of(kind):
        raise NimError(f"{_show(text)}: is not a kind of ours: use {_choices()}")
    return kind


def _names() -> dict[str, str]:
    """The names of our kinds in lower case."""
    plurals = {KINDS[kind].plural: kind for kind in SERVED}
    return {kind.lower(): kind for kind in SERVED} | plurals | SHORT_NAMES


def _groups_of(kind: str) -> tuple[str, str, str]:
    """The suffixes of the name of a kind: nothing, its group, or its version and group."""
    group, _slash, version = KINDS[kind].version.partition("/")
    return "", group, f"{version}.{group}"


def _choices() -> str:
    return ", ".join(sorted(kind.lower() for kind in SERVED))


def _show(text: str) -> str:
    return printable(text, _MAX_SHOWN) or "an empty text"
