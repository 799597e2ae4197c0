# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Writes YAML, loads files, and reads untrusted documents.

Every reader parses the written text to the same data. Untrusted documents are built from the
parser's events, with bounded memory. Refused content is never built: aliases (a few lines expand to
gigabytes), merge keys, non-scalar keys, excessive depth.

This is one module because the import of PyYAML is the main cost.
"""

from __future__ import annotations

import json
import re
import typing as t

from .printable import printable

try:
    import yaml

    _DUMPER: t.Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    _LOADER: t.Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    YAMLError: type[Exception] = yaml.YAMLError
except ImportError:  # every file must import on a bare Python; Ansible itself needs PyYAML
    _DUMPER = _LOADER = object
    YAMLError = Exception

_TYPED_ELSEWHERE = re.compile(
    r"[-+]?(\.[0-9_]+|[0-9_]+(\.[0-9_]*)?)([eE][-+]?[0-9_]+)?$"
    r"|[-+]?_*0_*[bBoOxX][0-9a-fA-F_]+$|[yYnN]$"
)
_BREAKS_FOR_SOME = ("\x85", "\u2028", "\u2029")
_MAX_TEXT, _MAX_DEPTH = 2**18, 32
"""Ten times the usual size; more would occupy a worker for seconds."""
_MAX_KEY = 100
"""Characters of a key in a message."""
_MAX_NUMBER = 64
"""Characters of a scalar that may be a number."""
_MAX_EXACT = 2**53
"""Maximum integral value of a float that is written as an integer."""
_MERGE = "tag:yaml.org,2002:merge"
_TYPE_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("bool", "float", "int", "null")}


def _spelled(*words: str) -> set[str]:
    return {form for word in words for form in (word, word.capitalize(), word.upper())}


_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", *_spelled("null"))),
    **dict.fromkeys(_spelled("y", "yes", "true", "on"), True),
    **dict.fromkeys(_spelled("n", "no", "false", "off"), False),
}
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_OCTAL = re.compile(r"[-+]?0[0-7]+")
_BASED = re.compile(r"[-+]?0([xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DIGITS = re.compile("([0-9]+)")


class _Dumper(_DUMPER):  # type: ignore[misc]
    """Writes no anchors, and quotes strings that some readers parse as another type.

    Examples are `1e3`, a number in YAML 1.2, and `y`, true in YAML 1.1.
    """

    def ignore_aliases(self, _data: t.Any) -> bool:
        """Write equal parts in full, like Kubernetes' own tools."""
        return True


class _UniqueLoader(_LOADER):  # type: ignore[misc]
    """Loads documents, and refuses a key that a mapping has twice: tools use either value."""

    def flatten_mapping(self, node: t.Any) -> None:
        """Check the keys as written, before the first flattening adds those of merge keys."""
        if not hasattr(node, "is_checked"):
            node.is_checked = True
            self._check_keys(node)
        super().flatten_mapping(node)

    @staticmethod
    def _check_keys(node: t.Any) -> None:
        lines: dict[str, int] = {}
        for key, _value in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else ""
            if key.tag != _MERGE and name in lines:
                shown = printable(name, _MAX_KEY)
                problem = f'key "{shown}" is already in line {lines[name]}: remove one of them'
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            if name:
                lines[name] = key.start_mark.line + 1


class _LineDumper(_Dumper):
    """A dumper for users that writes multi-line text as a block, where YAML allows it."""


def _write_text(dumper: t.Any, text: str) -> t.Any:
    is_clear = not text[:1].isspace() and not any(item in text for item in _BREAKS_FOR_SOME)
    style = "|" if is_clear and "\n" in text.rstrip("\n") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


if _DUMPER is not object:
    _LineDumper.add_representer(str, _write_text)
    _Dumper.add_implicit_resolver(
        "tag:yaml.org,2002:float", _TYPED_ELSEWHERE, list("-+.0123456789yYnN")
    )


def dump_yaml(data: t.Any, *, sort_keys: bool = True, by_line: bool = False) -> str:
    """The data as YAML, keys sorted at every level or in their given order.

    ``by_line``: write multi-line text, such as files of a ConfigMap, as comparable blocks.
    """
    return str(
        yaml.dump(
            data,
            Dumper=_LineDumper if by_line else _Dumper,
            sort_keys=sort_keys,
            default_flow_style=False,
            allow_unicode=True,
        )
    )


def load_yaml(text: str) -> list[t.Any]:
    """All documents of a stream; ValueError with the position if it is invalid."""
    try:
        return list(yaml.load_all(text, Loader=_UniqueLoader))
    except yaml.YAMLError as error:
        problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
        if problem and mark:
            message = f"line {mark.line + 1}, column {mark.column + 1}: {problem}"
            raise ValueError(message) from error
        raise ValueError(" ".join(str(error).split())) from error


def read_bounded(text: str, *, depth: int, typed: t.Container[str] = ()) -> t.Any:
    """The single document of a text of bounded size; ValueError if it is invalid.

    Scalars are strings as written, except for booleans, numbers and nulls below the top-level keys
    ``typed``. Tags are ignored.
    """
    return _Builder(depth, typed).build(text)


def read_json_yaml(text: str) -> t.Any:
    """The data of a text as Kubernetes' tools convert it to JSON; ValueError if it is invalid.

    Plain `yes` and `off` are booleans, `0o17` and `1_000` integers, `1e-4` is a number, a date is
    text, and keys are strings. Unlike in these tools, integers keep all digits.
    """
    if len(text) > _MAX_TEXT:
        raise ValueError(f"it has more than {_MAX_TEXT} characters")
    return _JsonBuilder(_MAX_DEPTH).build(text)


def is_same_data(one: str, other: str) -> bool:
    """Whether two texts contain the same data; False if one is invalid."""
    try:
        found = [json.dumps(read_json_yaml(text), sort_keys=True) for text in (one, other)]
    except ValueError:
        return False
    return found[0] == found[1]


def sort_keys(data: t.Any) -> t.Any:
    """The data with keys sorted at every level; `a-8` sorts before `a-70`."""
    if isinstance(data, dict):
        return {key: sort_keys(data[key]) for key in sorted(data, key=_order)}
    return [sort_keys(item) for item in data] if isinstance(data, list) else data


def _order(key: str) -> list[tuple[int, str]]:
    """The sort key: text and numbers alternate, and a number with more digits is larger."""
    parts = _DIGITS.split(key)
    parts[1::2] = [digits.lstrip("0") for digits in parts[1::2]]
    return [(len(part) if index % 2 else 0, part) for index, part in enumerate(parts)]


class _Level:
    """A list or mapping under construction; ``key`` is the one whose value comes next."""

    def __init__(self, items: t.Any, *, is_typed: bool) -> None:
        self.items, self.is_typed = items, is_typed
        self.key: str | None = None


class _Builder:
    """Builds a document whose scalars are text, except plain ones below the keys ``typed``."""

    def __init__(self, depth: int, typed: t.Container[str] = ()) -> None:
        self.document: t.Any = None
        self._depth, self._typed = depth, typed
        self._levels: list[_Level] = []
        self._count = 0

    def build(self, text: str) -> t.Any:
        try:
            for event in yaml.parse(text, Loader=_LOADER):
                self._feed(event)
        except yaml.YAMLError as error:
            raise ValueError(" ".join(str(error).split())) from error
        return self.document

    def _feed(self, event: yaml.Event) -> None:
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
        """The value of a scalar."""
        value = str(event.value)
        is_plain = event.implicit[0] and len(value) <= _MAX_NUMBER
        if not is_plain or not self._levels or self._is_key_next() or not self._is_typed():
            return value
        try:
            found = yaml.load(value, Loader=_LOADER)
        except (ValueError, yaml.YAMLError):  # looks like a date or a number, but is none
            return value
        return found if found is None or isinstance(found, (bool, int, float)) else value


class _JsonBuilder(_Builder):
    """Builds a document whose plain scalars have the types that Kubernetes' tools give them."""

    def _read(self, event: yaml.ScalarEvent) -> t.Any:
        text = str(event.value)
        if not event.implicit[0] and event.tag not in _TYPE_TAGS:
            return text
        try:
            value = _value(text)
            if isinstance(value, str) or not self._levels or not self._is_key_next():
                return value
            if value is None:
                raise ValueError("a key is null")
            return json.dumps(value)
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


def _value(text: str) -> t.Any:
    if text in _WORDS:
        return _WORDS[text]
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"{text} is not a number of JSON")
    return _number(text) if text[0] in "+-.0123456789" else text


def _number(text: str) -> int | float | str:
    plain = text.replace("_", "")
    is_based = _BASED.fullmatch(plain)
    if not is_based and not _FLOAT.fullmatch(plain):
        return text
    if len(text) > _MAX_NUMBER:
        raise ValueError(f"a number has more than {_MAX_NUMBER} characters")
    if is_based or _OCTAL.fullmatch(plain):
        value = int(plain, 0 if is_based else 8)
        if -(2**63) <= value < 2**64:
            return value
    if is_based:
        return text
    return int(plain) if _DECIMAL.fullmatch(plain) else _float(plain, text)


def _float(plain: str, text: str) -> int | float | str:
    value = float(plain)
    if value in (float("inf"), float("-inf")):
        return text
    return int(value) if value.is_integer() and abs(value) <= _MAX_EXACT else value
