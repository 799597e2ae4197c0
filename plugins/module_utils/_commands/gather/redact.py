# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Removes credentials from objects and texts, before anybody else sees them.

It removes values with a name that suggests a credential, in fields, environments, arguments,
annotations, ConfigMaps and texts; and whatever looks like a credential anywhere: PEM blocks, tokens
of known formats, bearer tokens, users in URLs. When in doubt, it removes. It cannot detect a
credential with neither such a name nor such a form. Names of Secrets stay, as they show what is
missing.
"""

from __future__ import annotations

import json
import re
import typing as t

from .command_lines import hide_in_arguments, hide_in_command_lines
from .known_formats import hide_known_formats
from .named_values import hide_named_values
from .sensitive_names import (
    MARK,
    is_harmless,
    is_reference,
    is_sensitive_name,
    may_hide,
)
from .tables import hide_columns

Json = dict[str, t.Any]

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_SECRET = re.compile(r"""(?i)\bkind\\*["']?\s{0,20}[:=]\s{0,20}\\*["']?Secret(?:List)?(?![\w-])""")
_NAME_KEYS = ("name", "Name", "key", "Key", "field", "header", "variable")
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
    """A text without credentials: a log, a message, a file, with texts in its strings."""
    if (found := _redact_json(text)) is not None:
        return found
    if "\\\n" in text or "\\\r\n" in text:
        text = _FOLD.sub(_unfold, text)
    if depth and "\\" in text:
        text = _STRING.sub(lambda found: _redact_string(found[0], depth - 1), text)
    if _SECRET.search(text):  # its data has names of any kind
        text = _DATA_OF_SECRET.sub("secret.data", text)
    text = hide_columns(hide_known_formats(text))
    return hide_in_command_lines(hide_named_values(text))


def _redact_json(text: str) -> str | None:
    """The same of a text that is a map or a list in JSON; None if it is not."""
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


def _unfold(match: re.Match[str]) -> str:
    """Join the lines of a string in which there are other escapes, too."""
    line = match.string[max(0, match.start() - 100) : match.start()].rpartition("\n")[2]
    return "" if '\\"' in line or "\\n" in line else match[0]


_FOLD = re.compile(r"(?<!\\)\\\r?\n(?:\d{4}-\d\d-\d\dT[\d:.]*Z )?[ \t]*+(?:\\(?=[ \t]))?")


def _redact_string(literal: str, depth: int) -> str:
    """A string of JSON: what is escaped in it may have a format of its own."""
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
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*+"?')
"""Also without its end: a search from each quote for a missing one would take long."""


def redact_rest(text: str) -> str:
    """The end of a text whose beginning is missing: its first lines may continue a secret."""
    return redact_text(_CONTINUED.sub(f"{MARK}\n", text, count=1))


_CONTINUED = re.compile(
    r"\A(?:(?:\d{4}-\d\d-\d\dT[\d:.]*(?:Z|[+-]\d\d:\d\d) )?"
    r"(?:[ \t]+[^\n]*|[A-Za-z0-9+/=]{16,}[ \t\r]*)(?:\n|\Z))+"
)


def _redact_map(value: Json) -> Json:
    redacted: Json = {}
    names = [value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)]
    name = next((name for name in names if may_hide(name)), "")
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


def _is_hidden(name: str, item: t.Any) -> bool:
    """Whether to remove a value because of its name, whatever is in it."""
    if item is None or not may_hide(name):
        return False
    if isinstance(item, (dict, list)):
        return bool(item) and not is_reference(item)
    return not is_harmless(name, item)


def _list_manager(entry: Json) -> Json:
    """The manager without its fields: those of list items contain their values."""
    return {key: item for key, item in entry.items() if key != "fieldsV1"}


_FLAG = re.compile(r"(--?(?P<name>[\w.-]{1,200})=)(.*)\Z", re.S)


def _redact_list(value: list[t.Any]) -> list[t.Any]:
    """A list of arguments may have the value after the name, and so may a pair."""
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
    """The data of a ConfigMap, whose keys may name credentials; nothing of a Secret."""
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
