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

import re
import typing as t
from functools import lru_cache

MARK = "(redacted)"

Json = dict[str, t.Any]

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_REFERENCES = {
    *("authSecret", "pullSecret", "pullSecrets", "imagePullSecret", "imagePullSecrets"),
    *("secretName", "tlsSecretName", "hfSecret", "ngcAPISecret", "lfsJwtSecret", "apiKeySecret"),
    *("apiKeyKey", "passwordKey", "giteaAdminSecret", "gmsaCredentialSpecName"),
    *("datastoreConfigSecret", "datastoreInitSecret", "datastoreInlineConfigSecret"),
}
"""Fields with the name of a Secret, or of a key in one."""

_PARTS = (
    *("password", "passwd", "passphrase", "secret", "credential", "apikey", "accesskey"),
    *("privatekey", "dockerconfig", "dockercfg", "signature", "cookie"),
)
_WORDS = {"auth", "bearer", "jwt", "pass", "pat", "psk", "pwd", "sig"}
_COUNTED = ("token", "tokens")
_HEADER_NAME = "authorization"
_KEYS = {"key", "keys"}
_KINDS_OF_KEY = {
    *("access", "account", "api", "auth", "client", "encryption", "host", "license", "master"),
    *("ngc", "nvidia", "private", "rsa", "service", "session", "shared", "signing", "ssh", "tls"),
}
_NOTHING = {"", "true", "false", "null", "none", "nil", "~", "{}", "[]", "|", ">", "|-", ">-"}

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_HINTS = r"pass|secret|credential|token|key|auth|bearer|jwt|pat|psk|pwd|sig|cookie|dockerc"
_NAME = rf"(?P<name>(?i:(?=[\w.-]{{0,100}}(?:{_HINTS})))[A-Za-z_][\w.-]{{0,100}})"
"""A cheap filter: it rules out most words of a log before `is_sensitive_name` looks at them."""

_QUOTE = r"""\\*["']?"""
_QUOTED = (
    r"""\\+"(?:[^"\\]|\\(?!")){0,4096}\\+"|"(?:\\.|[^"\\]){0,4096}"|'[^']{0,4096}'"""
    r"""|\\*["'][^\n]*"""
)
_BARE = r"""[^\s,;&"'<>\])}\\]+"""

_PEM = re.compile(
    r"-----BEGIN (?P<what>[A-Z0-9 ]{1,40})-----"
    r"(?:(?:(?!-----BEGIN)[\s\S]){0,65536}?-----END (?P=what)-----"
    r"|[^\n]*(?:\n[^\n]*(?<=[A-Za-z0-9+/=]{16})[ \t\r]*(?=\n|$))*)"
)
_PEM_REST = re.compile(r"\A(?:(?!-----BEGIN)[\s\S]){0,65536}?-----END [A-Z0-9 ]{1,40}-----")
_TOKENS = re.compile(
    r"nvapi-[\w-]+"
    r"|\bhf_(?=[A-Za-z]*[0-9A-Z])[A-Za-z0-9]{8,}|\bhf_[A-Za-z0-9]{20,}"
    r"|\beyJ[\w-]{8,4096}\.[\w-]+(?:\.[\w-]*)?"
    r"|\bgh[opusr]_\w{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}|\bxox[a-z]-[\w-]{8,}"
    r"|\bsk-[\w-]{16,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|LS0tLS1CRUdJTi[A-Za-z0-9+/=\\]*"
)
_TOKEN_PREFIXES = (
    *("nvapi-", "hf_", "eyJ", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"),
    *("xox", "sk-", "AKIA", "ASIA", "LS0tLS1CRUdJTi"),
)
"""Without any of these, the search for tokens is skipped, which saves half of the time."""

_USER = re.compile(r"(?P<scheme>[A-Za-z0-9+.-]://)[^\s/\"'<>]{1,1024}@")
_USER_AT_HOST = re.compile(r"(?<![\w/.+-])(?P<user>[\w.+-]{1,64}:)[^\s@/:\"'<>]{1,256}@(?!sha\d)")
_HEADER = re.compile(
    rf"(?i)(?P<head>authorization{_QUOTE}\s*[:=]\s*{_QUOTE}(?:[A-Za-z]+\s+)?)[^\s\"',;\\]+"
)
_BEARER = re.compile(r"(?i)\b(?P<head>bearer\s+)[\w.~+/=-]{6,}")
_FLAG = (
    re.compile(rf"(?<![\w-])--?{_NAME}\s+"),
    re.compile(rf"{_QUOTED}|[^\s\"'-][^\s\"']*"),
)
_PAIR = (
    re.compile(
        rf"(?i)\bname{_QUOTE}\s*[:=]\s*{_QUOTE}{_NAME}{_QUOTE}\s{{0,200}}(?:,\s{{0,200}})?"
        rf"{_QUOTE}value{_QUOTE}\s*[:=]\s*"
    ),
    re.compile(rf"{_QUOTED}|[^\n,}}\]]+"),
)
_BLOCK = re.compile(
    rf"(?m)^(?P<indent>[ \t]*)(?P<head>(?:-[ \t]+)?{_QUOTE}{_NAME}{_QUOTE}[ \t]*:[ \t]*"
    r"[|>][-+0-9]*[ \t]*\n)(?P<value>(?:(?P=indent)[ \t]+[^\n]*(?:\n|\Z)|[ \t]*\n)+)"
)
_NAMED = (
    re.compile(rf"(?<![\w.]){_NAME}{_QUOTE}\s{{0,20}}[:=]\s{{0,20}}"),
    re.compile(rf"(?!\(redacted\))(?:{_QUOTED}|{_BARE})"),
)
_LINE = re.compile(
    rf"(?m)^(?P<head>[ \t]*(?:-[ \t]+)?(?:export[ \t]+)?{_QUOTE}{_NAME}{_QUOTE}[ \t]*"
    r"(?P<sep>[:=])[ \t]*)(?P<value>\S[^\n]*)$"
)
_SECRET = re.compile(r"""(?mi)^[^\S\n]*["']?kind["']?\s*:\s*["']?Secret\b""")


@lru_cache(maxsize=4096)
def is_sensitive_name(name: str) -> bool:
    """Whether a name suggests a credential."""
    return bool(_sensitive_words(name))


def redact_object(value: t.Any) -> t.Any:
    """A copy of an object, or of any JSON, without credentials."""
    if isinstance(value, dict):
        if value.get("kind") in ("ConfigMap", "Secret"):
            return _redact_data(value)
        return _redact_map(value, _REFERENCES)
    if isinstance(value, list):
        return _redact_list(value)
    return redact_text(value) if isinstance(value, str) else value


def redact_text(text: str) -> str:
    """A text without credentials: a log, a message, a file."""
    text = _PEM_REST.sub(MARK, _PEM.sub(f"-----BEGIN \\g<what>-----{MARK}", text))
    if any(make in text for make in _TOKEN_PREFIXES):
        text = _TOKENS.sub(MARK, text)
    if "@" in text:
        text = _USER.sub(f"\\g<scheme>{MARK}@", text)
        text = _USER_AT_HOST.sub(f"\\g<user>{MARK}@", text)
    text = _BEARER.sub(f"\\g<head>{MARK}", _HEADER.sub(f"\\g<head>{MARK}", text))
    text = _LINE.sub(_hide_line, _BLOCK.sub(_hide_block, text))
    for head, value in (_FLAG, _PAIR, _NAMED):
        text = _hide_all(head, value, text)
    return text


def _sensitive_words(name: str) -> list[str]:
    words = [word.lower() for word in _WORD.findall(name)]
    found = [word for word in words if word in _WORDS or any(part in word for part in _PARTS)]
    found += [word for word in words if word.endswith(_COUNTED)]
    if words and words[-1] == _HEADER_NAME:  # but not rbac.authorization.k8s.io
        found.append(words[-1])
    if words and words[-1] in _KEYS and len(words) > 1:
        is_loud = name == name.upper()
        if is_loud or words[-2] in _KINDS_OF_KEY:
            found.append(words[-1])
    return found


def _is_harmless(name: str, value: t.Any) -> bool:
    """Whether a value cannot be a secret: a boolean, or a number of tokens."""
    text = str(value).strip().strip("\\\"'").strip().lower()
    if text in _NOTHING or text == MARK:
        return True
    is_number = bool(re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", text))
    return is_number and all(word.endswith(_COUNTED) for word in _sensitive_words(name))


def _may_hide(name: str) -> bool:
    return name not in _REFERENCES and is_sensitive_name(name)


def _must_hide(name: str, value: t.Any) -> bool:
    return _may_hide(name) and not _is_harmless(name, value)


def _hide_all(head: re.Pattern[str], value: re.Pattern[str], text: str) -> str:
    """Not `sub`: the value of a harmless name may contain a name that suggests a credential.

    And a value, which may be the whole rest, is matched only after such a name.
    """
    parts, done, start = [], 0, 0
    while named := head.search(text, start):
        start = named.end()
        found = value.match(text, start) if _may_hide(named["name"]) else None
        if found and not _is_harmless(named["name"], found[0]):
            parts += [text[done:start], MARK]
            done = start = found.end()
    return "".join([*parts, text[done:]])


def _hide_block(match: re.Match[str]) -> str:
    if not _must_hide(match["name"], match["value"]):
        return match[0]
    return f"{match['indent']}{match['head']}{match['indent']}  {MARK}\n"


def _hide_line(match: re.Match[str]) -> str:
    """The unquoted rest of a line of YAML or of a settings file."""
    value = match["value"]
    is_one_of_many = match["sep"] == "=" and bool(re.search(r"[:=].", value))
    is_quoted = value[0] in "\\\"'"
    if is_one_of_many or is_quoted or not _must_hide(match["name"], value):
        return match[0]
    return match["head"] + MARK


def _redact_map(value: Json, references: t.Collection[str]) -> Json:
    redacted: Json = {}
    is_pair = isinstance(value.get("name"), str) and "value" in value
    for key, item in value.items():
        if key == _LAST_APPLIED or (is_pair and key == "value" and _is_hidden(value["name"], item)):
            redacted[key] = MARK
        elif key == "managedFields":
            redacted[key] = [_list_manager(entry) for entry in item or []]
        elif key not in references and _is_hidden(str(key), item):
            redacted[key] = MARK
        else:
            redacted[key] = redact_object(item)
    return redacted


def _is_hidden(name: str, item: t.Any) -> bool:
    """Whether to remove a value because of its name: a scalar, or a list of them."""
    if isinstance(item, dict) or item is None or not is_sensitive_name(name):
        return False
    if isinstance(item, list):
        return any(not isinstance(entry, (dict, list)) for entry in item)
    return not _is_harmless(name, item)


def _list_manager(entry: Json) -> Json:
    """The manager without its fields: those of list items contain their values."""
    return {key: item for key, item in entry.items() if key != "fieldsV1"}


def _redact_list(value: list[t.Any]) -> list[t.Any]:
    """A list of arguments may have the value after the name."""
    redacted: list[t.Any] = []
    is_next = False
    for item in value:
        is_text = isinstance(item, str)
        redacted.append(MARK if is_next and is_text else redact_object(item))
        is_next = is_text and item.startswith("-") and "=" not in item and is_sensitive_name(item)
    return redacted


def _redact_data(value: Json) -> Json:
    """The data of a ConfigMap, whose keys may name credentials; nothing of a Secret."""
    rest = {key: item for key, item in value.items() if key not in _DATA}
    redacted = _redact_map(rest, _REFERENCES)
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


_DATA = ("data", "binaryData", "stringData")


def _redact_file(name: str, text: t.Any) -> str:
    content = str(text)
    if _is_hidden(name, content) or _SECRET.search(content):
        return MARK
    return redact_text(content)
