# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Untrusted YAML as plain strings, lists and mappings, with bounded memory.

Built from the parser's events, so that refused content is never built: aliases (a few lines of them
expand to gigabytes), merge keys, non-scalar keys, excessive depth. YAML tags are ignored.
"""

from __future__ import annotations

import typing as t

try:
    import yaml

    _LOADER: t.Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
except ImportError:  # every file must import on a bare Python; Ansible itself needs PyYAML
    pass

_MAX_TYPED = 64
"""Maximum characters of a scalar that is parsed as a number."""
_TYPE_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("bool", "float", "int", "null")}

Resolve = t.Callable[[str, bool], t.Any]


def read_bounded(
    text: str, *, depth: int, typed: t.Container[str] = (), resolve: Resolve | None = None
) -> t.Any:
    """The single document of a text of bounded size; ValueError says what is wrong.

    Scalars are strings as written, except for booleans, numbers and nulls below the top-level keys
    ``typed``. With ``resolve``, it says instead what each plain scalar is, given its text and
    whether it is a key; it may raise ValueError.
    """
    builder = _Builder(depth, typed, resolve)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.feed(event)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    return builder.document


class _Level:
    """A list or mapping under construction; ``key`` is the one whose value comes next."""

    def __init__(self, items: t.Any, *, is_typed: bool) -> None:
        self.items, self.is_typed = items, is_typed
        self.key: str | None = None


class _Builder:
    def __init__(self, depth: int, typed: t.Container[str], resolve: Resolve | None) -> None:
        self.document: t.Any = None
        self._depth, self._typed, self._resolve = depth, typed, resolve
        self._levels: list[_Level] = []
        self._count = 0

    def feed(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._add(self._read(event), event)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self._open({} if isinstance(event, yaml.MappingStartEvent) else [], event)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            self._levels.pop()
        elif isinstance(event, yaml.AliasEvent):
            raise _error(event, "aliases are not supported: write out their content")
        elif isinstance(event, yaml.DocumentStartEvent):
            self._count += 1
            if self._count > 1:
                raise _error(event, "it has more than one document")

    def _open(self, items: t.Any, event: yaml.Event) -> None:
        if len(self._levels) >= self._depth:
            raise _error(event, f"it is nested deeper than {self._depth} levels")
        is_typed = bool(self._levels) and self._is_typed()
        self._add(items, event)
        self._levels.append(_Level(items, is_typed=is_typed))

    def _is_typed(self) -> bool:
        """Whether the next value is below one of the ``typed`` keys."""
        return self._levels[-1].is_typed or self._levels[0].key in self._typed

    def _add(self, value: t.Any, event: yaml.Event) -> None:
        if not self._levels:
            self.document = value
            return
        level = self._levels[-1]
        if isinstance(level.items, list):
            level.items.append(value)
        elif level.key is None:
            level.key = _key(value, event)
        else:
            level.items[level.key] = value
            level.key = None

    def _is_key_next(self) -> bool:
        level = self._levels[-1]
        return level.key is None and isinstance(level.items, dict)

    def _read(self, event: yaml.ScalarEvent) -> t.Any:
        value = str(event.value)
        if self._resolve:
            return self._resolved(value, event, self._resolve)
        is_plain = event.implicit[0] and len(value) <= _MAX_TYPED
        if not is_plain or not self._levels or self._is_key_next() or not self._is_typed():
            return value
        try:
            found = yaml.load(value, Loader=_LOADER)
        except (ValueError, yaml.YAMLError):  # looks like a date or a number, but is none
            return value
        return found if found is None or isinstance(found, (bool, int, float)) else value

    def _resolved(self, value: str, event: yaml.ScalarEvent, resolve: Resolve) -> t.Any:
        if not event.implicit[0] and event.tag not in _TYPE_TAGS:
            return value
        try:
            return resolve(value, bool(self._levels) and self._is_key_next())
        except ValueError as error:
            raise _error(event, str(error)) from error


def _key(value: t.Any, event: yaml.Event) -> str:
    if not isinstance(value, str):
        raise _error(event, "a key is not a scalar")
    if value == "<<" and isinstance(event, yaml.ScalarEvent) and event.implicit[0]:
        raise _error(event, "merge keys are not supported: write out their content")
    return value


def _error(event: yaml.Event, why: str) -> ValueError:
    mark: t.Any = event.start_mark
    return ValueError(f"line {mark.line + 1}, column {mark.column + 1}: {why}")
