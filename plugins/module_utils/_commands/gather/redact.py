# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Removes credentials from objects and texts before they leave the cluster.

Removes values with a name that suggests a credential, in fields, environments, arguments,
annotations, ConfigMaps and texts; and anything in the form of a credential: PEM blocks, tokens of
known formats, bearer tokens, users in URLs. In case of doubt, the value is removed. A credential
with neither such a name nor such a form is not detected. Names of Secrets are kept, to show which
are missing.
"""

from __future__ import annotations

import json
import re
import typing as t

from ..._base.types import Json
from .command_lines import hide_here_documents, hide_in_arguments, hide_in_command_lines
from .confusables import drop_invisible
from .known_formats import hide_known_formats
from .named_values import hide_named_values
from .sensitive_names import (
    MARK,
    is_harmless,
    is_recognizable,
    is_reference,
    is_sensitive_name,
    may_hide,
)
from .tables import hide_columns
from .value_ends import TIME

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_SECRET = re.compile(
    r"""(?i)\bkind\\*["']?\s{0,20}[:=]\s{0,20}\\*["']?Secret(?:List)?(?![\w-])"""
    r"""|\bSecret\{(?=[^\n]{0,2000}?Data:)"""
)
_NAME_KEYS = ("name", "Name", "key", "Key", "field", "header", "variable", "path")
_VALUE_KEYS = ("value", "Value", "val", "content", "default", "defaultValue", "stringValue")
_DATA = ("data", "binaryData", "stringData")
_DATA_OF_SECRET = re.compile(
    r"""(?<![\w.-])(?:data|binaryData|stringData)(?=\\*["']?\s{0,20}:)""", re.I
)


def redact_object(value: t.Any) -> t.Any:
    """A copy of an object, or of any JSON, without credentials."""
    if isinstance(value, dict):
        if value.get("kind") in ("ConfigMap", "Secret"):
            return _redact_data(value)
        return _redact_map(value)
    if isinstance(value, list):
        return _redact_list(value)
    return redact_text(value) if isinstance(value, str) else value


def redact_text(text: str, depth: int = 3) -> str:
    """A text (log, message, file) without credentials, including those in nested strings."""
    if (found := _redact_json(text)) is not None:
        return found
    text = drop_invisible(text)
    if "\\u00" in text or "\\x" in text:
        text = _NEEDLESS_ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    if "\\\n" in text or "\\\r\n" in text:
        text = _FOLD.sub(_unfold, text)
    if depth and "\\" in text:
        text = _redact_strings(text, depth - 1)
    if _SECRET.search(text):  # keys in its data are arbitrary
        text = _DATA_OF_SECRET.sub("secret.data", text)
    text = hide_columns(hide_here_documents(hide_known_formats(text)))
    return hide_in_command_lines(hide_named_values(text))


def _redact_json(text: str) -> str | None:
    """A redacted text that is a JSON map or list; None for other texts."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text)
        found = redact_object(value)
    except (ValueError, RecursionError):
        return None
    if found == value:
        return text
    return json.dumps(found, ensure_ascii=False, indent=2 if "\n" in text.strip() else None)


_NEEDLESS_ESCAPE = re.compile(
    r"(?<!\\)\\(?:u00|x)(3[0-9]|4[1-9A-Fa-f]|5[0-9Aa]|6[1-9A-Fa-f]|7[0-9Aa])"
)
"""Escapes of letters and digits, which needlessly split a name."""


def _unfold(match: re.Match[str]) -> str:
    """Join the lines of a string that also has other escapes."""
    line = match.string[max(0, match.start() - 100) : match.start()].rpartition("\n")[2]
    return "" if '\\"' in line or "\\n" in line else match[0]


_FOLD = re.compile(r"(?<!\\)\\\r?\n(?:\d{4}-\d\d-\d\dT[\d:.]*Z )?[ \t]*+(?:\\(?=[ \t]))?")


def _redact_strings(text: str, depth: int) -> str:
    """A text with redacted JSON strings, also those with escaped quotes that YAML folds."""
    parts: list[str] = []
    at = tried = 0
    for found in _STRING.finditer(text):
        start, end = found.span()
        if start < at:
            continue
        shown = _redact_string(found[0], depth)
        if start >= tried and '\\"' in found[0] and (rest := _REST_OF_FOLDED.match(text, end)):
            tried = rest.end()
            folded = text[start:tried]
            if (whole := _redact_folded(folded, depth)) != folded:
                shown, end = whole, tried
        parts += [text[at:start], shown]
        at = end
    return "".join([*parts, text[at:]])


def _redact_folded(literal: str, depth: int) -> str:
    """A redacted string of several lines.

    They are joined if they are JSON. Otherwise they may be no string at all, so each is redacted as
    strictly as alone.
    """
    joined = _FOLD_OF_STRING.sub(" ", literal)
    try:
        json.loads(json.loads(joined))
    except (ValueError, TypeError, RecursionError):
        joined = _SPACE_OF_LINE.sub(r"\1", literal)
    # A quote at the end that is escaped closes nothing.
    joined = joined if _CLOSED.search(joined) else joined.rstrip('\\"')
    found = _redact_string(joined, depth)
    return literal if found == joined else found


def _redact_string(literal: str, depth: int) -> str:
    """A redacted JSON string: its unescaped content may have a format of its own."""
    if "\\" not in literal:
        return literal
    is_cut = len(literal) < 2 or not literal.endswith('"')
    try:
        text = json.loads(
            f'{_PART_OF_ESCAPE.sub("", literal)}"' if is_cut else literal, strict=False
        )
    except ValueError:
        return literal
    found = redact_text(text, depth)
    shown = json.dumps(found, ensure_ascii=False)
    return literal if found == text else shown[: len(shown) - is_cut]


_PART_OF_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_STRING = re.compile(r'"(?>(?:[^"\\\n]|\\.)*)"?')
"""Strings, including an unterminated one: searching again from each quote would be slow."""

_REST_OF_FOLDED = re.compile(rf'(?>(?:\r?\n(?:{TIME})?[ \t]+(?:[^"\\\n]|\\.)*)+)"?')
"""The further lines of a string."""
_CLOSED = re.compile(r'(?<!\\)(?:\\\\)*"\Z')
_FOLD_OF_STRING = re.compile(rf"\r?\n(?:{TIME})?[ \t]+(?:\\(?=[ \t]))?")
_SPACE_OF_LINE = re.compile(rf"(\n(?:{TIME})?[ \t]+)\\(?=[ \t])")
"""The start of a line whose text starts with a space."""


class Redactor:
    """Hides values of sensitive names in any object, wherever they appear again."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def learn(self, value: t.Any) -> None:
        """Remember the credentials of an object."""
        self._seen.update(list_credentials(value))

    def redact_object(self, value: t.Any) -> t.Any:
        """A copy of an object without credentials."""
        text = json.dumps(value, ensure_ascii=False)
        found = {one for one in self._seen if json.dumps(one, ensure_ascii=False)[1:-1] in text}
        return redact_object(_hide_everywhere(value, found) if found else value)

    def redact_text(self, text: str) -> str:
        """A text without credentials."""
        return redact_text(_hide_all(text, self._seen))

    def redact_rest(self, text: str) -> str:
        """The redacted tail of a text."""
        return redact_rest(_hide_all(text, self._seen))


def _hide_everywhere(value: t.Any, secrets: set[str]) -> t.Any:
    if isinstance(value, dict):
        return {key: _hide_everywhere(item, secrets) for key, item in value.items()}
    if isinstance(value, list):
        return [_hide_everywhere(item, secrets) for item in value]
    return _hide_all(value, secrets) if isinstance(value, str) else value


def _hide_all(text: str, secrets: set[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MARK)
    return text


def list_credentials(value: t.Any) -> t.Iterator[str]:
    """The values of sensitive names in an object, except those that resemble other words."""
    if isinstance(value, dict):
        name = _name_of_pair(value)
        for key, item in value.items():
            one = name if key in _VALUE_KEYS and name else str(key)
            if isinstance(item, str):
                if may_hide(one) and is_recognizable(one, item):
                    yield item.strip()
            elif key != "managedFields":
                yield from list_credentials(item)
    elif isinstance(value, list):
        for before, item in zip(["", *value], value, strict=False):
            yield from _list_argument(before, item)


def _list_argument(before: t.Any, item: t.Any) -> t.Iterator[str]:
    if not isinstance(item, str):
        yield from list_credentials(item)
        return
    flag = _FLAG.match(item)
    name, text = (flag["name"], flag[3]) if flag else (str(before), item)
    is_named = flag or (isinstance(before, str) and before.startswith("-"))
    if is_named and may_hide(name.strip("-")) and is_recognizable(name, text):
        yield text.strip()


def redact_rest(text: str) -> str:
    """The redacted tail of a text: its first lines may continue a secret."""
    return redact_text(_CONTINUED.sub(f"{MARK}\n", text, count=1))


_CONTINUED = re.compile(
    r"\A(?:(?:\d{4}-\d\d-\d\dT[\d:.]*(?:Z|[+-]\d\d:\d\d) )?"
    r"(?:[ \t]+[^\n]*|[A-Za-z0-9+/=]{16,}[ \t\r]*)(?:\n|\Z))+"
)


def _redact_map(value: Json) -> Json:
    redacted: Json = {}
    name = _name_of_pair(value)
    for key, item in value.items():
        is_value = name and key in _VALUE_KEYS and not is_harmless(name, item)
        if key == _LAST_APPLIED or is_value:
            redacted[key] = MARK
        elif key == "managedFields":
            redacted[key] = [_list_manager(entry) for entry in item or []]
        elif _is_hidden(str(key), item):
            redacted[key] = MARK
        else:
            redacted[key] = redact_object(item)
    return redacted


def _name_of_pair(value: Json) -> str:
    """The sensitive name in a name/value pair, possibly at the end of a path."""
    found = [value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)]
    names = [name.rpartition("/")[2] for name in found]
    return next((name for name in names if may_hide(name)), "")


def _is_hidden(name: str, item: t.Any) -> bool:
    """Whether to remove a value because of its name, regardless of its content."""
    if item is None or not may_hide(name):
        return False
    if isinstance(item, (dict, list)):
        return bool(item) and not is_reference(item)
    return not is_harmless(name, item)


def _list_manager(entry: Json) -> Json:
    """The managedFields entry without its fields: list items are identified by their values."""
    return {key: item for key, item in entry.items() if key != "fieldsV1"}


_FLAG = re.compile(r"(--?(?P<name>[\w.-]{1,200})=)(.*)\Z", re.S)


def _redact_list(value: list[t.Any]) -> list[t.Any]:
    """A redacted list: in arguments and in pairs, the value may follow the name."""
    texts = [item if isinstance(item, str) else "" for item in value]
    shown = hide_in_arguments(texts) if any(text.startswith("-") for text in texts) else texts
    redacted: list[t.Any] = []
    name = ""
    for item, text in zip(value, shown, strict=True):
        if name and item is not None and not is_harmless(name, item):
            redacted.append(MARK)
        elif (flag := _FLAG.match(text)) and may_hide(flag["name"]):
            redacted.append(text if is_harmless(flag["name"], flag[3]) else f"{flag[1]}{MARK}")
        else:
            redacted.append(redact_object(text if text else item))
        is_name = (text.startswith("-") and "=" not in text) or (
            len(value) == 2 and " " not in text
        )
        name = text.strip("-") if is_name and may_hide(text.strip("-")) else ""
    return redacted


def _redact_data(value: Json) -> Json:
    """The redacted data of a ConfigMap, whose keys may name credentials; no data of a Secret."""
    rest = {key: item for key, item in value.items() if key not in _DATA}
    redacted = _redact_map(rest)
    for field in _DATA:
        if isinstance(value.get(field), dict):
            is_open = field == "data" and value["kind"] == "ConfigMap"
            redacted[field] = {
                key: _redact_file(key, text) if is_open else f"({len(str(text))} characters)"
                for key, text in value[field].items()
            }
        elif value.get(field):
            redacted[field] = MARK
    return redacted


def _redact_file(name: str, text: t.Any) -> str:
    content = str(text)
    is_named = is_sensitive_name(name) and not is_harmless(name, content)
    if is_named or _SECRET.search(content):
        return MARK
    return redact_text(content)
