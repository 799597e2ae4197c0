# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The objects of files, in rounds that do not collide, and the Secrets that they need."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.loader import Text, parse
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import SERVED_GROUPS
from ansible_collections.nimops.nim.plugins.module_utils._engine.references import references_of
from nimops_harness.cases import Row
from nimops_harness.cluster import Json

SINGLE = ("ClusterPolicy",)
"""Kinds of which the operator serves one object of the cluster."""

_KEYS = {"NGC_API_KEY": "placeholder", "HF_TOKEN": "placeholder"}
_PULL_KEYS = {".dockerconfigjson": '{"auths": {}}'}


@dataclass(frozen=True)
class Document:
    """An object of a file."""

    file: str
    body: Json
    namespace: str

    @property
    def kind(self) -> str:
        return str(self.body["kind"])

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])

    @property
    def label(self) -> str:
        return f"{self.file}: {self.kind} {self.name}"

    @property
    def is_ours(self) -> bool:
        """Whether the operator serves it."""
        return self.body["apiVersion"].partition("/")[0] in SERVED_GROUPS

    @property
    def identity(self) -> tuple[str, ...]:
        """The key of which a cluster can have only one object."""
        if self.kind in SINGLE:
            return (self.kind,)
        return self.body["apiVersion"].partition("/")[0], self.kind, self.namespace, self.name


def read_files(paths: t.Iterable[Path], namespace: str) -> tuple[list[list[Document]], list[Row]]:
    """The documents of each file, and rows for those that cannot be read."""
    files, rows = [], []
    for path in paths:
        try:
            bodies = parse(Text(path.name, path.read_text(errors="replace")))
            files.append([_document(path.name, body, namespace) for body in bodies])
        except (NimError, OSError) as error:
            # A duplicate key, a template of Helm: the message has the line.
            rows.append(Row(path.name, "refused", str(error), isinstance(error, NimError)))
    return files, rows


def _document(file: str, body: Json, namespace: str) -> Document:
    return Document(file, body, str(body["metadata"].get("namespace") or namespace))


def plan_rounds(files: t.Iterable[list[Document]]) -> list[list[Document]]:
    """Files in the first round in which no object is also another file's."""
    rounds: list[list[Document]] = []
    for documents in files:
        wanted = {document.identity for document in documents}
        fitting = (
            chosen for chosen in rounds if wanted.isdisjoint(item.identity for item in chosen)
        )
        if (first := next(fitting, None)) is None:
            rounds.append(first := [])
        first.extend(documents)
    return [sorted(chosen, key=lambda document: document.is_ours) for chosen in rounds]


@dataclass(frozen=True)
class NeededSecret:
    """A Secret that a document refers to, with the keys that it names."""

    namespace: str
    name: str
    is_for_pulls: bool
    keys: frozenset[str]

    def placeholder(self) -> Json:
        """A Secret with values that open nothing."""
        kind = "kubernetes.io/dockerconfigjson" if self.is_for_pulls else "Opaque"
        values = (
            _PULL_KEYS if self.is_for_pulls else _KEYS | dict.fromkeys(self.keys, "placeholder")
        )
        metadata = {"name": self.name, "namespace": self.namespace}
        return {"metadata": metadata, "type": kind, "stringData": values}


def needed_secrets(document: Document) -> list[NeededSecret]:
    """The Secrets that a document of ours refers to, by name."""
    found: dict[str, NeededSecret] = {}
    body = document.body | {
        "metadata": document.body["metadata"] | {"namespace": document.namespace}
    }
    for reference in references_of(body) if document.is_ours else ():
        target = reference.target
        if target.kind == "Secret" and target.name:
            pulls = "pull" in reference.path.lower()
            keys = frozenset(_keys_beside(body["spec"], target.name))
            found.setdefault(
                target.name, NeededSecret(document.namespace, target.name, pulls, keys)
            )
    return [found[name] for name in sorted(found)]


def _keys_beside(value: t.Any, name: str) -> t.Iterator[str]:
    """The keys in the maps that name the Secret."""
    if isinstance(value, list):
        for item in value:
            yield from _keys_beside(item, name)
    if isinstance(value, dict):
        if name in value.values():
            yield from (
                text
                for key, text in value.items()
                if key.lower().endswith("key") and isinstance(text, str)
            )
        for item in value.values():
            yield from _keys_beside(item, name)
