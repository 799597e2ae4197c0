# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Hides text in the form of a credential, regardless of its name."""

from __future__ import annotations

import re

from .sensitive_names import MARK

_PEM_MARKER = re.compile(r"-----? ?(?P<which>BEGIN|END) (?P<what>[A-Z0-9 ]{1,40}?) ?-?----")
_PEM_LIMIT = 1 << 16
_IS_HIDDEN = re.compile(re.escape(MARK) + r"(?=[\s\"'\\]|\Z)")
_LEAST_LINE = 16
"""Minimum length of a base64 line; a shorter one is the last line of a block."""

_PEM_HEADER = re.compile(r"[A-Z][\w-]{1,40}: ")
_PEM_LINE = re.compile(r"(?:[A-Za-z0-9+/=]|\\+[nr])*")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]*(?:Z|[+-]\d\d:\d\d) |\d{4}Z ")

_WORD = r"(?:\b|(?<=\\[bfnrt]))"
"""The start of a word, also after an escape such as ``\\n``."""

_TOKENS = re.compile(
    r"nvapi-[\w-]+|LS0tLS1CRUdJTi[A-Za-z0-9+/=\\]*|(?<=hooks\.slack\.com/services/)[\w/]+"
    rf"|(?=[AGSadeghnprstxy]){_WORD}(?:"
    r"hf_(?:(?=[A-Za-z]*[0-9A-Z])[A-Za-z0-9]{8,}|[A-Za-z0-9]{20,})"
    r"|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*){0,3}"
    r"|gh[opusr]_\w{16,}|github_pat_\w{16,}|gl[a-z]{2,6}-[\w-]{16,}|glsa_\w{16,}|xapp-[\w-]{8,}"
    r"|xox[a-z]-[\w-]{8,}|sk-[\w-]{16,}|[rs]k_(?:live|test)_\w{8,}|A[KS]IA[A-Z0-9]{16}\b"
    r"|AIza[\w-]{30,}|ya29\.[\w-]{8,}|GOCSPX-[\w-]{8,}|npm_\w{20,}|pypi-[\w-]{16,}"
    r"|dop_v1_\w{16,}|SG\.[\w-]{8,}\.[\w-]{8,}|hv[sbr]\.[\w-]{16,}|dckr_[a-z]{3}_[\w-]{8,}"
    r"|AGE-SECRET-KEY-\w+|r8_\w{16,}|tskey-[\w-]{8,}|sha256~[\w-]{16,}|ATATT3[\w=-]{16,})"
)
_TOKEN_PREFIXES = (
    *("nvapi-", "hf_", "eyJ", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "gl"),
    *("xox", "xapp-", "sk-", "k_live_", "k_test_", "AKIA", "ASIA", "AIza", "ya29.", "GOCSPX-"),
    *("npm_", "pypi-", "dop_v1_", "SG.", "hvs.", "hvb.", "hvr.", "dckr_", "AGE-", "r8_"),
    *("tskey-", "sha256~", "ATATT3", "hooks.slack", "LS0tLS1CRUdJTi"),
)
"""Prefixes of tokens. Texts without any skip the token search, which halves the time."""

_USER = re.compile(r"(?P<scheme>[A-Za-z0-9+.-]:(?:\\?/){2}|%3[Aa]%2[Ff]%2[Ff])[^\s/\"'<>]{1,1024}@")
_USER_WITH_SLASH = re.compile(
    r"(?P<head>[A-Za-z0-9+.-]:(?:\\?/){2}[^\s/:@\"'<>]{0,256}:)(?!\d{1,5}(?![\w%@]))"
    r"[^\s\"'<>@]{1,1024}@|(?P<oracle>\bthin:[\w.$#-]{1,128}/)[^\s\"'@]{1,256}@"
)
_USER_AT_HOST = re.compile(r"(?<![\w/.+-])(?P<user>[\w.+-]{1,64}:)[^\s@/:\"'<>]{1,256}@(?!sha\d)")
_HASHES = re.compile(
    r"\$(?:2[abxy]|apr1|[156y]|argon2\w*|pbkdf2[\w-]*|ANSIBLE_VAULT)\$[^\s\"',:]+"
    r"|SCRAM-SHA-\d+\$[^\s\"',]+"
    r"|\{(?:SSHA|SHA|SMD5|MD5|CRYPT|SSHA\d+|SHA\d+)\}[A-Za-z0-9+/=.$]+"
    r"|(?m:(?<=:)(?<![ \t]:)[./A-Za-z0-9]{13}$)"
)
_VAULT = re.compile(r"(?P<head>\$ANSIBLE_VAULT;[^\n]*)(?:\n[ \t]*[0-9a-f]{16,})+")
_PGPASS = re.compile(
    r"(?<![\w.:*\\/-])(?P<head>(?:[\w.*-]|\\:){1,253}:(?:\d{1,5}|\*):[A-Za-z_*][^\s:\"']{0,63}"
    r":[A-Za-z_*][^\s:\"']{0,63}:)(?P<value>(?:\\[^n]|[^\\\n\"])+)"
)
_QUERY = re.compile(
    r"(?i)(?P<head>(?:[?&;]|(?<!\\)\\++u0026|%3f|%26)(?:access|assertion|code|hash|key|sv|ticket)"
    r"(?:=|%3d|\\+u003d))(?:(?!%26)[^\s\"'<>&#\\])+"
)
_BEARER = re.compile(rf"(?i){_WORD}(?P<head>bearer(?:\s|%20|\+|:\s)+)[\w.~+/=-]{{6,}}")
_BASIC = re.compile(
    rf"(?P<head>(?i:{_WORD}basic\s+))(?=[a-z]*[A-Z0-9+/=])[A-Za-z0-9+/]{{8,}}={{0,2}}"
)
_SMTP = re.compile(r"(?P<head>\bAUTH (?:PLAIN|LOGIN|XOAUTH2|CRAM-MD5) )[A-Za-z0-9+/=]+")
_ECHOED = re.compile(
    r"(?P<head>\benv[^\s:\"']{0,80}: Invalid value: \\*\"|\$\d{1,3} = ')"
    r"(?:[^\"'\\\n]|\\[^\"\n]|'')+"
)
"""Text before the value of a rejected environment variable or of an SQL parameter."""

_INSERTED = re.compile(
    r"(?i)(?P<head>\binto\s{1,20}\S{1,200}?\s{0,20}\((?=[^()]{0,2000}?(?:pass|secret|token|key|cred"
    r"|pwd|hash|auth))[^()]{1,2000}\)\s{0,20}values\s{0,20}+)"
    r"(?!\([%?$:])(?:[^\n;]*,[ \t\r]*\n)*[^\n;]+"
)
_IDENTIFIED = re.compile(
    r"(?i)(?P<head>\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+)"
    r"(?:'(?:[^'\n]|'')*'?|\"[^\"\n]*\"?)"
)
_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def hide_known_formats(text: str) -> str:
    """Hide PEM blocks, tokens, password hashes, users in URLs, and lines of a ``.pgpass``."""
    if "\x1b" in text:  # colors separate names from values
        text = _ESCAPE.sub("", text)
    text = _hide_pem(text)
    if any(make in text for make in _TOKEN_PREFIXES):
        text = _TOKENS.sub(MARK, text)
    if "@" in text:
        text = _USER.sub(f"\\g<scheme>{MARK}@", text)
        text = _USER_WITH_SLASH.sub(f"\\g<head>\\g<oracle>{MARK}@", text)
        text = _USER_AT_HOST.sub(f"\\g<user>{MARK}@", text)
    text = _VAULT.sub(f"\\g<head>\n{MARK}", text)
    for pattern in (_PGPASS, _QUERY, _BEARER, _BASIC, _SMTP, _ECHOED, _INSERTED, _IDENTIFIED):
        text = pattern.sub(f"\\g<head>{MARK}", text)
    return _HASHES.sub(MARK, text)


def _hide_pem(text: str) -> str:
    """Hide PEM blocks, including blocks whose start or end is missing."""
    if "-----" not in text and "---- " not in text:
        return text
    parts: list[str] = []
    done = 0
    begin: re.Match[str] | None = None
    for marker in _PEM_MARKER.finditer(text):
        if marker.start() < done:
            continue
        if marker["which"] == "BEGIN":
            if begin:
                done = _close_pem(text, begin, parts, done)
            begin = marker if marker.start() >= done else None
        elif begin and marker.start() - begin.end() <= _PEM_LIMIT:
            parts += [text[done : begin.end()], MARK]
            done, begin = marker.end(), None
        else:
            if begin:
                done = _close_pem(text, begin, parts, done)
            start = max(done, _pem_start(text, done, marker.start()))
            parts += [text[done:start], MARK]
            done, begin = marker.end(), None
    if begin:
        done = _close_pem(text, begin, parts, done)
    return "".join([*parts, text[done:]])


def _close_pem(text: str, begin: re.Match[str], parts: list[str], done: int) -> int:
    """Hide a block without an end marker: all following lines that may be base64."""
    if _IS_HIDDEN.match(text, begin.end()):
        return done
    parts += [text[done : begin.end()], MARK]
    end = _line_end(text, begin.end())
    may_be_header = True
    while end < len(text):
        following = _line_end(text, end + 1)
        line = _content(text[end + 1 : following])
        may_be_header = may_be_header and (not line or bool(_PEM_HEADER.match(line)))
        if not may_be_header and not _is_base64(line):
            break
        end = following
        if not may_be_header and len(line) < _LEAST_LINE:
            break
    return end


def _pem_start(text: str, first: int, end: int) -> int:
    """The possible start of a block without a start marker: the first of its base64 lines."""
    if not first and end <= _PEM_LIMIT:
        return 0
    start = max(first, text.rfind("\n", first, end) + 1)
    is_last = False
    while start > first:
        before = max(first, text.rfind("\n", first, start - 1) + 1)
        line = _content(text[before : start - 1])
        if not _is_base64(line) or (len(line) < _LEAST_LINE and is_last):
            break
        start, is_last = before, True
    return start


def _is_base64(line: str) -> bool:
    return bool(line) and bool(_PEM_LINE.fullmatch(line))


def _content(line: str) -> str:
    """A log line without its timestamp."""
    time = _TIME.match(line)
    return line[time.end() if time else 0 :].strip()


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end
