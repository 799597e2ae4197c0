# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Hides credentials in arguments with uninformative names, such as ``-p`` and ``-u``."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict

from .confusables import fold
from .sensitive_names import HINTS, MARK, may_hide

_NEAR = 400

_PROGRAM = re.compile(
    r"(?<![\w.-])(?:mysql\w*|mariadb[\w-]*|mongo\w*|sshpass|redis-cli|ldap\w+|curl|wget|smbclient"
    r"|rpcclient|7z|zip|unzip|lftp|cqlsh|clickhouse-client|influx|rabbitmqadmin|mosquitto_\w+"
    r"|ipmitool|sqlcmd|(?:docker|podman|nerdctl|crane|skopeo|oras|helm|ngc|az|oc)(?=[^\n;|&]*login))"
    r"(?![\w.-])"
)
"""Programs that take a password after a one-letter flag."""

_GAP = r"(?:(?:\\*+[\"']?)(?:,\s{0,20}|[ \t]++|\s{0,20}\n[ \t]*- +|[ \t]*\\\r?\n[ \t]*)\\*[\"']?)"
_FLAG = re.compile(rf"(?<![\w-])-(?P<flag>[paPw])(?P<gap>{_GAP}|=?)(?P<value>[^\s\"'\\-][^\s\"']*)")
_QUOTED_FLAG = re.compile(
    r"(?<![\w\"'-])-[paPw](?:[ \t]*)(?P<value>'[^'\n]*'?|\"(?:\\.|[^\"\\\n])*\"?)"
)
_USER = re.compile(
    rf"(?<![\w-])(?P<head>(?:-[uUa]|--(?:auth|user|username|proxy-user|proxy|creds|src-creds|dest-creds))"
    rf"(?:{_GAP}|=\\*[\"']?|)[^\s:\"'\\/,]{{0,128}}:)"
    r"(?!/|\d{1,6}(?![\w.]))(?P<value>(?:\\[^\"'nrt]|[^\s\"'\\])+)"
)
_NO_PASSWORD = re.compile(
    r"[/.~$<{]|(?:[\d.]+|[A-Z_]+=\S*|\w+)?[:\d/-]+(?:tcp|udp)?\Z|[\w.-]+/[\w./-]+\Z"
)
_PIPED = re.compile(
    r"(?P<head>\b(?:echo|printf)[ \t]+)[^|\n]{1,2000}"
    r"(?=\|[^\n]{0,200}?(?:stdin|login|passwd|sudo|token|base64))"
)
_HTPASSWD = re.compile(r"(?P<head>\bhtpasswd[ \t]+(?:-\S+[ \t]+)*?-\w*b\w*[ \t]+)[^\n;|&]+")
_HERE = re.compile(r"<<(?:<[ \t]*|[-~]?[ \t]*\\?[\"']?(?P<end>\w{1,40})[\"']?(?=[\s;|&>)]|\Z))")
_HERE_END = re.compile(r"(?m)^(?:[^\n]{20,40}Z )?[ \t]*(?P<end>\w{1,40})[ \t\r]*$")
_NAME = re.compile(rf"(?i)(?<![\w.-])(?=[\w.-]{{0,64}}?(?:{HINTS}))[\w.-]{{1,200}}")


def hide_here_documents(text: str) -> str:
    """The text without the lines between ``<<EOF`` and ``EOF`` after a sensitive name."""
    if "<<" not in text:
        return text
    ends: dict[str, list[int]] = defaultdict(list)
    for found in _HERE_END.finditer(text):
        ends[found["end"]].append(found.start())
    parts: list[str] = []
    done = 0
    for here in _HERE.finditer(text):
        first = text.rfind("\n", max(done, here.start() - _NEAR), here.start()) + 1
        newline = text.find("\n", here.end(), here.end() + _NEAR)
        last = newline if newline >= 0 else min(len(text), here.end() + _NEAR)
        if here.start() < done or not _is_named(fold(text[max(done, first) : last])):
            continue
        start, end = here.end(), last
        if here["end"]:
            known = ends[here["end"]]
            number = bisect_left(known, last)
            start = min(last + 1, len(text))
            end = known[number] - 1 if number < len(known) else len(text)
        if end > start:
            parts += [text[done:start], MARK]
            done = end
    return "".join([*parts, text[done:]])


def _is_named(line: str) -> bool:
    return any(may_hide(found[0].strip(".-")) for found in _NAME.finditer(line))


def hide_in_command_lines(text: str) -> str:
    """The text without passwords in command lines."""
    if " -" in text or '"-' in text or "'-" in text or text.startswith("-"):
        text = _USER.sub(f"\\g<head>{MARK}", text)
        text = _QUOTED_FLAG.sub(_hide_flag, _FLAG.sub(_hide_flag, text))
    if "|" in text:
        text = _PIPED.sub(f"\\g<head>{MARK} ", text)
    return _HTPASSWD.sub(f"\\g<head>{MARK}", text)


def hide_in_arguments(items: list[str]) -> list[str]:
    """The same for an argument list, where the value of a flag may be the next item."""
    is_known = bool(_PROGRAM.search(" ".join(items)[: 4 * _NEAR]))
    shown: list[str] = []
    before = ""
    for item in items:
        hidden = item
        if before in ("-p", "-a", "-P", "-w") and (is_known or _may_be_password(item)):
            hidden = MARK
        elif before.startswith("-"):
            joined = f"{before} {item}"
            found = hide_in_command_lines(joined)
            if found != joined and found.startswith(f"{before} "):
                hidden = found[len(before) + 1 :]
        if hidden is item and is_known and re.match(r"-[pa][^-\s]", item):
            hidden = f"{item[:2]}{MARK}"
        shown.append(hidden)
        before = item
    return shown


def _hide_flag(match: re.Match[str]) -> str:
    value = match["value"]
    if MARK in value:
        return match[0]
    is_named = _follows_program(match.string, match.start())
    if not is_named:
        is_apart = bool(match.groupdict().get("gap", " "))
        is_p = match[0][1] == "p"
        if not is_p or not is_apart or not _may_be_password(value):
            return match[0]
    return match[0][: match.start("value") - match.start()] + MARK


def _follows_program(text: str, start: int) -> bool:
    line = text[max(0, start - _NEAR) : start].rpartition("\n\n")[2]
    return bool(_PROGRAM.search(line))


def _may_be_password(value: str) -> bool:
    return bool(value.strip("\"' ")) and not _NO_PASSWORD.match(value.strip("\"';,"))
