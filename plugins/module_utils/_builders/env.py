# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Environment variables of containers, and how lists of them are merged."""

from __future__ import annotations

import typing as t

from .._base.types import Fields, Json

EnvVar = dict[str, t.Any]


def merge_env(first: t.Sequence[EnvVar], second: t.Sequence[EnvVar]) -> list[EnvVar]:
    """All of ``second`` in order, then those of ``first`` whose names it lacks.

    The second list wins and comes first. Duplicates within one list are kept.
    """
    names = {item["name"] for item in second}
    return [*second, *(item for item in first if item["name"] not in names)]


def env(**values: str) -> list[EnvVar]:
    """Name/value pairs as a list of EnvVar, in the order given."""
    return [{"name": name, "value": value} for name, value in values.items()]


def secret_env(name: str, secret: str, key: str | None = None, *, optional: bool = False) -> EnvVar:
    """A variable read from ``key`` (by default its own name) of a Secret."""
    selector: Json = {"name": secret, "key": key or name}
    if optional:
        selector["optional"] = True
    return {"name": name, "valueFrom": {"secretKeyRef": selector}}


def field_env(name: str, path: str) -> EnvVar:
    """A variable read from a field of the pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def drop_env(items: t.Sequence[EnvVar], *names: str) -> list[EnvVar]:
    """The list without the variables of these names."""
    return [item for item in items if item["name"] not in names]


def yield_to(given: t.Sequence[EnvVar], derived: t.Sequence[EnvVar]) -> list[EnvVar]:
    """The derived variables without those that the user gives, which win over them."""
    return drop_env(derived, *(item["name"] for item in given))


def normalize_env(items: t.Sequence[EnvVar]) -> list[EnvVar]:
    """The list in its stored form.

    Server-side apply identifies variables by name and refuses duplicates; a container uses the last
    variable of a name, so that one is kept.
    """
    last = {item["name"]: index for index, item in enumerate(items)}
    return [stored_env(item) for index, item in enumerate(items) if last[item["name"]] == index]


def stored_env(item: Fields) -> EnvVar:
    """A variable in its stored form: without an empty value."""
    return {key: value for key, value in item.items() if (key, value) != ("value", "")}
