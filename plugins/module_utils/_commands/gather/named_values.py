# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Hides values after names that suggest a credential, in texts of any format.

`_Scanner` scans the text once. At each such name, it finds the start and the end of the value, and
continues after it. Each value is read once, or within a fixed limit, so the time is linear in the
length of the text.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from .confusables import fold
from .sensitive_names import (
    HINTS,
    MARK,
    REFERENCE_FIELDS,
    is_harmless,
    is_password,
    may_hide,
    split_words,
)
from .value_ends import TIME, ValueEnds

Span = tuple[int, int]

_NEAR = 400
_VALUE_KEYS = "value|val|content|default|string_?value|default_?value"
_NAME_KEYS = "name|key|id|field|header|variable|option|parameter|property|type|path|k"

_RUN = re.compile(rf"(?i)(?<![\w.-])(?:(?=[\w.-]*?(?:{HINTS}))[\w.-]+|(?:{_VALUE_KEYS})(?![\w.-]))")
_IS_VALUE_KEY = re.compile(rf"(?i)(?:{_VALUE_KEYS})")
_CLOSE = r"(?:\\*+[\"'`])?+"
_SEP = re.compile(
    rf"(?P<close>{_CLOSE})\]?(?:[ \t](?:ID|data|value|phrase))?"
    r"(?:[ \t]?\\*\[[^\]\n]{1,64}\]){0,3}(?:[ \t]{1,8}(?:is|was|are)(?=:))?"
    r"(?:[ \t]{1,8}(?!is\b)[*\w]{1,20}(?=[ \t]{1,8}:?=[ \t]))?"
    r"(?P<sep>\s{0,20}(?::=|=>|->|==?=?|::?|%3[DdAa]|\\+u003[dD])|(?=\(\\*[\"'])\()[ \t]*"
)
_IS = re.compile(
    rf"(?i){_CLOSE}[ \t]{{1,8}}"
    r"(?:is|was|set to|changed to|reset to|for[ \t]+\S{1,64}[ \t]*=)[ \t]+"
)
_FLAG_GAP = re.compile(
    rf"(?P<close>{_CLOSE})(?:(?>(?:[ \t]|\\\r?\n)+)|\s{{0,20}}+,?+\s{{0,20}}+(?=\\*[\"'])"
    r"|\s{0,200}?\n[ \t]*+(?=- ))(?:- ++)?+(?!-[-A-Za-z](?![\w-]*\d))"
)
_TUPLE_GAP = re.compile(r"""(?P<close>\\*["'])\s{0,20},\s{0,20}(?=[bru]?\\*["'])[bru]?""")
_COLON = re.compile(r"\s{0,20}[:=]")
_BODY = re.compile(rf"{_CLOSE}[ \t]{{1,8}}(?:\$\w{{1,64}}[ \t]{{1,8}})?(?=\{{)")
_PREFIX = re.compile(
    rf"[bBrRuUfF]{{1,2}}(?=\\*[\"'])|(?:(?!{re.escape(MARK)})\([\w.*\[\] =]{{1,64}}\)[ \t]+(?=\S))+"
)
"""Prefix of a Python string, or a Go type."""

_FLOW_GAP = re.compile(r",[ \t]*(?=\S)")
_ALONE = re.compile(rf"[ \t\r]*\n(?:{TIME})?[ \t]*(?=\S+[ \t\r]*(?:\n|\Z))")
_FORM = re.compile(r"\\*\"[^\n]{0,200}\n(?:[\w-]{1,64}:[^\n]{0,200}\n){0,8}\r?\n(?=\S)")
"""In multipart forms, the name is in a header, and the value follows an empty line."""

_NEXT_CELL = re.compile(r"[ \t]{0,80}\|[ \t]*(?P<value>(?:[^|\s]|[ \t]+(?![|\s]))+)")
_SPACE = re.compile(r"[ \t]+(?=\S)")
_SECTION_END = re.compile(r"\][ \t\r]*(?:\n|\Z)")
_ELEMENT = re.compile(r"(?:<|&lt;|\\+u003[cC])(?:[\w.-]{1,40}:)?\Z")
_BEFORE_ELEMENT = ("<", ";", ":", "c", "C", "\\", '"', "'")
_ELEMENT_START = re.compile(r"(?P<attributes>[^<>&\n\\]{0,400}?)(?P<end>/?(?:>|&gt;|\\+u003[eE]))")
_ATTRIBUTE_NAME = re.compile(rf"(?i)\b(?:{_NAME_KEYS})=\\*[\"']\Z")
_NAMED_ELEMENT = re.compile(r"\\*[\"'][^<>]{0,200}>(?=[^<\s])")
_PAIR_NAME = (
    rf"(?i)(?<![\w.-])(?:{_NAME_KEYS})(?:\\*[\"'])?(?:\s{{0,20}}[:=]\s{{0,20}}|>)(?:\\*[\"'])?"
    r"(?:/(?:[\w.~-]{1,40}/){0,8})?"
)
_PAIR_BEFORE = re.compile(_PAIR_NAME + r"\Z")
_PAIR_AFTER = re.compile(_PAIR_NAME + r"(?P<name>[\w.-]+)")
_PAIR_SIGNS, _ASSIGNS = "\"'\\ \t\n", (":", "=", ">", "/")
_BOUNDARY = re.compile(r"[{}]|\n[ \t]*-[ \t]|<(?!/?(?:name|value|key)>)")
_COMMENT = re.compile(r"(?m)^[ \t]*#[^\n]*\n?|[ \t]#[^\n]*")

_LINE_START = re.compile(
    rf"(?P<time>{TIME})?(?P<margin>[ \t]*+(?:\#+|//+|;+|>+|[-+*|]))?(?P<indent>[ \t]*+)"
    r"(?>(?:(?:export|set|setx|ENV|ARG|env|declare|readonly|local|const|let|var|-x)[ \t]"
    r"|[-+#;>~?/$ \t])*)(?P<bracket>\[{0,2}(?:[\w-]+\.)*)(?:\\*[\"'`])?\Z"
)
_ANCHOR_START = re.compile(
    rf"(?P<time>{TIME})?(?P<margin>[ \t]*+(?:\#+|//+|[-+]))?(?P<indent>[ \t]*+)(?:- ++)*+"
    r"(?P<key>[\"']?[\w.-]{1,100}[\"']?[ \t]*:[ \t]+(?:!\S{0,64}[ \t]+)?&)\Z"
)
_ANCHOR = re.compile(r"[:,\[-][ \t]+(?:!\S{0,64}[ \t]+)?&\Z")
_TIME = re.compile(TIME)
_BLOCK_HEAD = re.compile(r"(?:[|>][-+0-9]*|[&!][^\s\"']+)?[ \t]*(?:#[^\n]*)?\r?(?=\n|\Z)")
_REFERENCE_LINE = re.compile(
    r"\s*(?:- +)*\\*[\"']?(?P<key>\w+)\\*[\"']?\s*:\s*\\*[\"']?[\w./-]{0,253}\\*[\"']?\s*(?:#.*)?"
)
_NEXT_SETTING = re.compile(r";?.[ \t]+[\w.-]{1,64}[=:]|;[ \t]+(?:export|declare|set)[ \t]")
_BRACKETS = re.compile(r"(?<![^\s\[{:,(=])[\[{]|[\]}](?=[\s,;)\]}]|\Z)")
"""Brackets in YAML flow style; other brackets can be part of a secret."""

_FLOW_WORDS = re.compile(r"(?>(?:\s+(?:[^\s,{}\[\]:#]|:(?!\s)|(?<!\s)#)+)+)(?=\s*+(?:[,}\]]|\Z))")
"""Further words of a value in YAML flow style, possibly on further lines, up to its end."""

_REST_OF_ITEM = re.compile(r"(?:[ \t][^\s,;{}\[\]:=]+){1,8}(?=[,}\]])")
_NEXT_NAMED = re.compile(r"[,;|}\])\n]|[ \t][\w.-]{1,64}[=:]")
_PROSE = re.compile(
    r"(?i)(?:an?|the|not?|in|on|of|to|for|from|by|and|or|is|was|are|be|been|being|wrong|invalid"
    r"|incorrect|missing|required|expired|empty|(?:un)?set|too|correct|(?:un)?used|only|already"
    r"|stored|read|needed|optional|present|absent|(?:un)?available|(?:un)?defined|null|none|nil"
    r"|ok|bad|good|weak|short|long|old|new|deprecated|unknown|malformed|denied|accepted|rejected"
    r"|ignored|disabled|enabled|loaded|mounted|provided|given|specified|configured|created"
    r"|deleted|found|revoked|mandatory|now|still|must|should|can(?:not)?|will|has|have|had|if"
    r"|when|with(?:out)?|at|as|(?:un)?supported|valid|different|same|hidden|masked|changed"
    r"|forbidden|does|do|did|rotated|refreshed|updated|exists?|authentication|validation|file"
    r"|env|environment|variable|mismatch|failed|error|also|it|that|this|your|you|please|reset"
    r"|successfully)"
)
_WORD = re.compile(r"[^\s,;]+")
_LOOKS_RANDOM = re.compile(r"(?=\S{0,200}?[0-9])(?=\S{0,200}?[A-Za-z])[^\s\"'<>:=/,;()]{6,}\Z")
_WORD_BEFORE = re.compile(r"(?<![\w.-])([A-Za-z]+) \Z")
_LOGIN = re.compile(
    r"(?i)\b(?:login|account|user|machine)\s+\S{1,100}\s+\Z|(?:configure|config)[ \t]+set[ \t]+\Z"
    r"|\b(?:\w{1,20}_header|requestheader[ \t]+\w{1,20})[ \t]+\Z"
)
_HEADER = {"authorization", "cookie", "cookies"}
_SCHEME = re.compile(
    r"(?i)(?:basic|bearer|token|negotiate|apikey|api-key|key|kerberos|ntlm)\s+(?=[^\s=\"']+"
    r"(?:[\s\"'\\,;]|\Z))"
)
_FLAG_VALUE = re.compile(r"[^\s\"']+")
_SETTING = re.compile(r"\S+")
_LINES_BELOW = re.compile(rf"\s{{1,200}}(?:{TIME}\s{{0,200}})?(?:[-*>] +)?")
_ASSIGNED_LATER = re.compile(r"[ \t]{0,8}=[ \t]{0,8}(?=\S)")
_OPEN_QUOTE = re.compile(r"\\*[\"'`]\Z")
_NEXT_SECTION = re.compile(r"\n[ \t]*\[|\Z")


_ALIAS = re.compile(
    r"(?<![\w.-])(?P<name>[\w.-]{1,100})[\"']?[ \t]{0,8}:[ \t]{1,8}\*(?P<alias>[\w-]{1,64})"
)
_ALIASED = re.compile(r"(?<=[ \t])(?P<sign>[&*])(?P<alias>[\w-]{1,64})(?=[\s,}\]]|\Z)")


def hide_named_values(text: str) -> str:
    """The text without the values of sensitive names."""
    if "*" in text and "&" in text:
        text = _name_anchors(text)
    return _Scanner(text).run()


def _name_anchors(text: str) -> str:
    """Rename YAML anchors that a sensitive name refers to, so that they are sensitive as well."""
    aliases = {found["alias"] for found in _ALIAS.finditer(text) if may_hide(found["name"])}
    return _ALIASED.sub(
        lambda found: f"{found[0]}.secret" if found["alias"] in aliases else found[0], text
    )


@dataclass(frozen=True)
class _Line:
    """The text before a name at the start of a line."""

    has_time: bool
    margin: str
    """Markers of a comment, a quotation or a diff, possibly indented."""
    column: int
    """The column of the name, without the timestamp."""
    bracket: str

    def indent(self, line: str, *, has_items: bool) -> int:
        """How much deeper than the name a line is indented; -1 for an empty line.

        A list item counts as indented if the value may be a list.
        """
        margin = self.margin
        if margin and line.startswith(margin.rstrip()):
            inner = self._compare(line[len(margin) :], self.column - len(margin), has_items)
            if inner:
                return inner
        return self._compare(line, self.column, has_items)

    def _compare(self, line: str, column: int, has_items: bool) -> int:
        content = line.lstrip(" \t")
        if not content.strip():
            return -1
        more = len(line) - len(content) - column
        is_item = has_items and not more and content.startswith(("- ", "-\n", "-\r"))
        return max(more, int(is_item), 0)


@dataclass(frozen=True)
class _Value:
    """The start of a possible value, and its context."""

    name: str
    start: int
    sep: str = ""
    quote: str = ""
    """The quote that opened before the name."""
    line: _Line | None = None


class _Scanner:
    def __init__(self, text: str) -> None:
        self._shown = text
        self._text = fold(text)
        self._ends = ValueEnds(self._text)
        self._pair = ("", 0)
        """The last sensitive value of a ``name`` key, and its end: a sibling key has the value."""
        self._open = 0
        self._counted = 0
        """The number of open brackets at that position."""

    def run(self) -> str:
        text = self._text
        parts: list[str] = []
        done = start = 0
        while run := _RUN.search(text, start):
            start = run.end()
            found = self._find(run)
            if not found or not found[1] > found[0] >= done:
                continue
            begin, end = found
            parts += [self._shown[done:begin], " " if text[begin].isspace() else "", MARK]
            done = start = end - (text[end - 1] == "\n")
        return "".join([*parts, self._shown[done:]])

    def _find(self, run: re.Match[str]) -> Span | None:
        """The span to hide after this name."""
        name = run[0].strip("-.")
        if _IS_VALUE_KEY.fullmatch(name):
            return self._find_value_of_pair(run)
        name = self._sensitive(name, run.start())
        if not name:
            return None
        before = self._before(run.start(), 80)
        if before.rstrip(_PAIR_SIGNS)[-1:] in _ASSIGNS and _PAIR_BEFORE.search(before):
            self._pair = (name, run.end())
        for find in (
            *(self._find_element, self._find_anchored, self._find_framed),
            *(self._find_assigned, self._find_flag, self._find_spaced),
        ):
            if found := find(name, run, before):
                return None if self._is_harmless(name, found) else found
        return None

    def _sensitive(self, name: str, start: int) -> str:
        """The name that suggests a credential, without a preceding escape letter."""
        before = self._text[start - 1] if start else ""
        names = [name]
        if before == "\\":
            names.append(name[1:] if name[:1] in tuple("bfnrt") else name[5:])
        elif before == "%":
            names.append(name[2:])
        elif name.lower() in ("key", "keys"):
            word = _WORD_BEFORE.search(self._before(start, 20))
            names = [f"{word[1]}_{name}"] if word else []
        return next((one for one in names if one and may_hide(one)), "")

    def _is_harmless(self, name: str, span: Span) -> bool:
        if span[1] - span[0] > 4096:
            return False
        value = self._text[span[0] : span[1]]
        return is_harmless(name, value) or _is_reference_block(value)

    # Forms in which a value follows a name

    def _find_element(self, _name: str, run: re.Match[str], before: str) -> Span | None:
        """XML: an element of this name, or an element with this name as an attribute's value."""
        text = self._text
        if before[-1:] not in _BEFORE_ELEMENT:
            return None
        if _ATTRIBUTE_NAME.search(before):
            named = _NAMED_ELEMENT.match(text, run.end())
            return (named.end(), self._ends.next_tag(named.end(), "")) if named else None
        is_escaped = before[-1:] == "\\" and run[0].startswith(("u003c", "u003C"))
        if not is_escaped and not _ELEMENT.search(before):
            return None
        start = _ELEMENT_START.match(text, run.end())
        if not start or start["end"][0] == "/" or start["attributes"][:1].strip():
            return None
        element = run[0][5:] if is_escaped else run[0]
        return start.end(), self._ends.element(start.end(), element)

    def _find_anchored(self, name: str, run: re.Match[str], before: str) -> Span | None:
        """YAML: the value after an anchor of this name."""
        if before[-1:] != "&" or not _ANCHOR.search(before):
            return None
        gap = _SPACE.match(self._text, run.end())
        line = self._line(run.start(), _ANCHOR_START)
        return self._span(_Value(name, gap.end() if gap else run.end(), ":", "", line))

    def _find_framed(self, _name: str, run: re.Match[str], before: str) -> Span | None:
        """A section of settings, the next cell of a table, or a part of a form."""
        text, end = self._text, run.end()
        line = self._line_of(run)
        if line and line.bracket and (section := _SECTION_END.match(text, end)):
            return section.end() - 1, self._section_end(section.end() - 1)
        if line and line.margin.strip() == "|" and (cell := _NEXT_CELL.match(text, end)):
            return cell.span("value")
        if before.endswith('name="') and (part := _FORM.match(text, end)):
            return part.end(), self._ends.line(part.end())
        return None

    def _find_assigned(self, name: str, run: re.Match[str], before: str) -> Span | None:
        """The value after a colon, an equals sign or similar, or in the lines below."""
        text, end = self._text, run.end()
        if pair := _TUPLE_GAP.match(text, end):
            return self._in_tuple(name, pair, before)
        if before[-1:] in ("[", "(") and (gap := _FLOW_GAP.match(text, end)):
            return self._span(_Value(name, gap.end()))
        if match := _SEP.match(text, end):
            line = self._line_of(run)
            quote = "" if match["close"] else self._enclosing(before)
            line = None if line and line.bracket else line
            return self._span(_Value(name, match.end(), match["sep"].strip(), quote, line))
        return self._find_stated(name, end)

    def _find_stated(self, name: str, end: int) -> Span | None:
        """The value in ``password is x`` or ``password {``."""
        if body := _BODY.match(self._text, end):
            return self._span(_Value(name, body.end()))
        if match := _IS.match(self._text, end):
            word = _WORD.match(self._text, match.end())
            if word and not _PROSE.fullmatch(word[0].strip(".,;:!?\"'")):
                return self._span(_Value(name, match.end(), "is"))
        return None

    def _in_tuple(self, name: str, gap: re.Match[str], before: str) -> Span | None:
        """The value in a pair such as ``("token", "x")``; not ``"name": "token", "value": "x"``."""
        if not before.endswith(gap["close"]) or _PAIR_BEFORE.search(before):
            return None
        span = self._span(_Value(name, gap.end()))
        return None if span and _COLON.match(self._text, span[1]) else span

    def _find_flag(self, name: str, run: re.Match[str], before: str) -> Span | None:
        if not run[0].startswith("-"):
            return None
        text = self._text
        gap = _FLAG_GAP.match(text, run.end())
        if not gap or gap.end() >= len(text) or text[gap.end()] == "\n":
            return self._below(run.end()) if text[run.end() : run.end() + 1] == "\n" else None
        if text[gap.end()] in "\"'\\`":
            return self._span(_Value(name, gap.end()))
        if gap["close"] or not _FLAG_VALUE.match(text, gap.end()):
            return None
        return self._span(_Value(name, gap.end(), "", self._enclosing(before)))

    def _find_spaced(self, name: str, run: re.Match[str], before: str) -> Span | None:
        """The next word of a line, as in a ``.netrc``, or a quoted or random-looking word."""
        text = self._text
        gap = _SPACE.match(text, run.end())
        if not gap and self._line(run.start()):
            gap = _ALONE.match(text, run.end())
        word = _WORD.match(text, gap.end()) if gap else None
        if not gap or not word:
            return None
        start = gap.end()
        last = (split_words(name) or [""])[-1]
        is_loud = is_password(name) or last in _HEADER
        if _LOGIN.search(before) or (text[start] in "\"'" and is_loud):
            return self._span(_Value(name, start))
        if last in ("secret", "secrets") and name != name.upper():
            return None
        if _LOOKS_RANDOM.match(word[0].strip(".\"'")) or self._is_line(run, word):
            return start, word.end()
        return None

    def _is_line(self, run: re.Match[str], word: re.Match[str]) -> bool:
        """Whether the line contains only the name and this word."""
        end = min(self._ends.line(word.end()), word.end() + 80)
        if self._text[word.end() : end].strip("; \t\r") or not self._line(run.start()):
            return False
        return not _PROSE.fullmatch(word[0].strip(".,;:!?"))

    def _find_value_of_pair(self, run: re.Match[str]) -> Span | None:
        """The ``value`` key next to a sensitive ``name``, before or after it."""
        text = self._text
        before = self._before(run.start(), 80)
        if before[-1:] in _BEFORE_ELEMENT and _ELEMENT.search(before):
            tag = _ELEMENT_START.match(text, run.end())
            span: Span | None = (tag.end(), self._ends.next_tag(tag.end(), run[0])) if tag else None
        elif match := _SEP.match(text, run.end()):
            quote = "" if match["close"] else self._enclosing(before)
            at, line = match.end(), self._line(run.start())
            if text[at : at + 1] in ("[", "{") and not self._pair_before(run.start()):
                end = self._ends.flow(at, _NEAR)
                span = (at, end) if end else None
            else:
                span = self._span(_Value("value", at, match["sep"].strip(), quote, line))
        else:
            return None
        name = self._name_of_pair(run.start(), span[1]) if span else ""
        if not span or not name or is_harmless(name, text[span[0] : span[1]]):
            return None
        return span

    def _name_of_pair(self, start: int, end: int) -> str:
        """The sensitive name next to a value, if any."""
        if name := self._pair_before(start):
            return name
        text = self._text
        after = _COMMENT.sub("", text[end : end + _NEAR])
        named = _PAIR_AFTER.search(after)
        if named and may_hide(named["name"]) and not _BOUNDARY.search(after[: named.start()]):
            return named["name"]
        return ""

    def _pair_before(self, start: int) -> str:
        name, position = self._pair
        if not name or start - position > 2 * _NEAR:
            return ""
        between = _COMMENT.sub("", self._text[position:start]).rstrip("<")
        return "" if _BOUNDARY.search(between) else name

    # Start and end of a value

    def _span(self, value: _Value) -> Span | None:
        """The span of a value that starts here: block, next line, closed, or open."""
        text, start = self._text, value.start
        if value.line and value.sep in (":", "=", "") and _BLOCK_HEAD.match(text, start):
            block = self._block(start, value.line, is_open=True)
            return (
                block if block[1] > start or text[start : start + 1].strip() else self._below(start)
            )
        if start >= len(text) or text[start] in "\r\n":
            return self._below(start)
        prefix = _PREFIX.match(text, start)
        first = prefix.end() if prefix else start
        if self._ends.is_closed(first) or not value.sep:
            return start, self._ends.value(first)
        return self._open_value(value, first)

    def _open_value(self, value: _Value, start: int) -> Span:
        """The span of a value without a closing character: the text before its name decides."""
        text, line = self._text, value.line
        if split_words(value.name)[-1:] and split_words(value.name)[-1] in _HEADER:
            return self._header(start, value)
        if value.quote:
            return start, self._ends.quote(start, value.quote, self._ends.line(start))
        if line and value.sep in (":", "=", ":="):
            begin, end = self._rest(start, line, value.sep)
        else:
            begin, end = start, self._inline_end(value.name, start, value.sep)
        if value.sep == ":" and text[start - 1].isspace() and self._is_in_flow(start):
            end = self._end_in_flow(end)
        return begin, end

    def _below(self, start: int) -> Span | None:
        """A value on the line after its name."""
        text = self._text
        match = _LINES_BELOW.match(text, start)
        at = match.end() if match else start
        if at < len(text) and self._ends.is_closed(at) and text[at] != "(":
            return at, self._ends.value(at)
        word = _WORD.match(text, at)
        if not word or word[0][-1] in ":=":
            return None
        if word.end() == self._ends.line(at):
            return at, self._end_in_flow(word.end()) if self._is_in_flow(start) else word.end()
        if not self._is_in_flow(start):
            return None
        return at, self._end_in_flow(self._ends.bare(at))

    def _is_in_flow(self, start: int) -> bool:
        """Whether a bracket is open at this position."""
        for found in _BRACKETS.finditer(self._text, self._counted, start):
            self._open = max(0, self._open + (1 if found[0] in "[{" else -1))
        self._counted = max(self._counted, start)
        return self._open > 0

    def _end_in_flow(self, end: int) -> int:
        """The end of a value of several words, possibly on further lines."""
        if self._text[end - 1] in ",}]":
            return end
        more = _FLOW_WORDS.match(self._text, end)
        return more.end() if more else end

    def _rest(self, start: int, line: _Line, sep: str) -> Span:
        """The rest of a line, and the lines that continue it."""
        text = self._text
        end = self._ends.line(start)
        if sep != ":":
            first = _SETTING.match(text, start)
            if first and _NEXT_SETTING.match(text, first.end() - 1):
                return start, self._ends.bare(start)
        while text[end - 1] == "\\" and end < len(text):
            end = self._ends.line(end + 1)
        end = self._block(end, line, is_open=False)[1]
        return start, self._end_of_brackets(start, end)

    def _end_of_brackets(self, start: int, end: int) -> int:
        """The end, extended to the line that closes all brackets."""
        while (opened := self._open_bracket(start, end)) >= 0:
            start = self._ends.flow(opened)
            end = self._ends.line(start)
        return end

    def _open_bracket(self, start: int, end: int) -> int:
        """The outermost bracket that is still open at the end of a line; -1 if there is none."""
        opened: list[int] = []
        for found in _BRACKETS.finditer(self._text, start, end):
            if found[0] in "[{":
                opened.append(found.start())
            elif opened:
                opened.pop()
        before = self._text[opened[0] - 1] if opened else "x"
        return opened[0] if before in " \t[{:," else -1

    def _inline_end(self, name: str, start: int, sep: str) -> int:
        text = self._text
        end = self._ends.value(start)
        if sep == ":" and (later := _ASSIGNED_LATER.match(text, end)):
            return self._ends.value(later.end())
        if sep == ":" and (more := _REST_OF_ITEM.match(text, end)):
            return more.end()
        if sep in (":", "is") and is_password(name) and text[end : end + 1] == " ":
            limit = self._ends.line(end)
            stop = _NEXT_NAMED.search(text, end, limit)
            return stop.start() if stop else limit
        return end

    def _header(self, start: int, value: _Value) -> Span:
        """The value of a header: the word after a scheme, or the rest of the line."""
        limit = self._ends.line(start)
        if value.quote:
            limit = self._ends.quote(start, value.quote, limit)
        elif value.line:
            return self._rest(start, value.line, ":")
        scheme = _SCHEME.match(self._text, start)
        if scheme and not value.quote:
            return scheme.end(), min(limit, self._ends.bare(scheme.end()))
        return start, self._end_of_brackets(start, limit)

    def _block(self, start: int, line: _Line, *, is_open: bool) -> Span:
        """The lines below with deeper indentation, or list items if the line has no value."""
        text = self._text
        first = at = end = self._ends.line(start)
        while at < len(text):
            following = self._ends.line(at + 1)
            below = text[at + 1 : min(following, at + 1 + _NEAR)]
            if line.has_time and (time := _TIME.match(below)):
                below = below[time.end() :]
            more = line.indent(below, has_items=is_open)
            if more > 0:
                end = following
            elif not more and ("#" in line.margin or below.lstrip(" \t")[:1] != "#"):
                break
            at = following
        return (start, end) if not is_open or end > first else (start, start)

    def _section_end(self, start: int) -> int:
        end = _NEXT_SECTION.search(self._text, start)
        return end.start() if end else len(self._text)

    # Context of a name

    def _line_of(self, run: re.Match[str]) -> _Line | None:
        """The start of the line if the name begins it, possibly after the dash of a diff."""
        dashes = len(run[0]) - len(run[0].lstrip("-"))
        if dashes > 1 or (dashes and self._text[run.end() : run.end() + 1] != ":"):
            return None
        return self._line(run.start() + dashes)

    def _before(self, start: int, count: int) -> str:
        return self._text[max(0, start - count) : start]

    def _enclosing(self, before: str) -> str:
        """The quote that opens directly before the name."""
        found = _OPEN_QUOTE.search(before)
        return found[0] if found else ""

    def _line(self, start: int, form: re.Pattern[str] = _LINE_START) -> _Line | None:
        """The text before the name in its line, if the line starts with the name."""
        first = max(0, start - _NEAR)
        newline = self._text.rfind("\n", first, start)
        if newline < 0 and first:
            return None
        head = form.match(self._text[newline + 1 if newline >= 0 else 0 : start])
        if not head:
            return None
        parts = head.groupdict("")
        before = head[0][: len(head[0]) - len(parts.get("key", ""))]
        column = len(before.rstrip("\"'\\`")) - len(parts["time"])
        return _Line(bool(parts["time"]), parts["margin"], column, parts.get("bracket", ""))


def _is_reference_block(value: str) -> bool:
    """Whether all lines, or all parts in flow style, only refer to a credential."""
    text = value.strip()
    if len(text) > 2000 or ":" not in text:
        return False
    if text[0] in "[{" and text[-1] in "]}":
        lines: t.Iterable[str] = re.split(r"[,\[\]{}]", text)
    elif "\n" in value:
        lines = value.splitlines()
    else:
        return False
    shown = [line for line in lines if line.strip() and not line.strip().startswith("#")]
    found = [_REFERENCE_LINE.fullmatch(line) for line in shown]
    return bool(found) and all(match and match["key"] in REFERENCE_FIELDS for match in found)
