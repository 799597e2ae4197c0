# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Hides what follows a name that suggests a credential, in texts of any format.

One scan from the beginning to the end: at each such name, `_Scanner` finds out where the value
begins and ends, and continues behind it. Each value is read once, or within a fixed limit, so that
the time is linear in the length of the text.
"""

from __future__ import annotations

import re
import typing as t

from .sensitive_names import (
    HINTS,
    MARK,
    REFERENCE_FIELDS,
    is_harmless,
    is_password,
    may_hide,
    split_words,
)

Span = tuple[int, int]

_LIMIT = 1 << 14
"""How far an end of a quoted or bracketed value is searched for."""

_NEAR = 400
_SHORT = 160
_MAX_SKIPPED = 50
_VALUE_KEYS = "value|val|content|default|string_?value|default_?value"
_NAME_KEYS = "name|key|id|field|header|variable|option|parameter|property|type|k"

_RUN = re.compile(rf"(?i)(?<![\w.-])(?:(?=[\w.-]*?(?:{HINTS}))[\w.-]+|(?:{_VALUE_KEYS})(?![\w.-]))")
_IS_VALUE_KEY = re.compile(rf"(?i)(?:{_VALUE_KEYS})")
_CLOSE = r"(?:\\*+[\"'`])?+"
_SEP = re.compile(
    rf"(?P<close>{_CLOSE})\]?(?:\\*\[[^\]\n]{{1,64}}\]){{0,3}}"
    r"(?:[ \t]{1,8}(?!is\b)[*\w]{1,20}(?=[ \t]{1,8}:?=[ \t]))?"
    r"(?P<sep>\s{0,20}(?::=|=>|->|==?=?|::?|%3[DdAa]|\\+u003[dD])|(?=\(\\*[\"'])\()[ \t]*"
)
_IS = re.compile(
    rf"(?i){_CLOSE}[ \t]{{1,8}}"
    r"(?:is|was|set to|changed to|reset to|for[ \t]+\S{1,64}[ \t]*=)[ \t]+"
)
_FLAG_GAP = re.compile(
    rf"(?P<close>{_CLOSE})(?:(?:[ \t]|\\\r?\n)++|\s{{0,20}}+,?+\s{{0,20}}+(?=\\*[\"'])"
    r"|\s{0,200}?\n[ \t]*+(?=- ))(?:- ++)?+(?!-[-A-Za-z](?![\w-]*\d))"
)
_TUPLE_GAP = re.compile(r"""(?P<close>\\*["'])\s{0,20},\s{0,20}(?=[bru]?\\*["'])[bru]?""")
_COLON = re.compile(r"\s{0,20}[:=]")
_BODY = re.compile(rf"{_CLOSE}[ \t]{{1,8}}(?=\{{)")
_PREFIX = re.compile(r"[bBrRuUfF]{1,2}(?=\\*[\"'])")
_FLOW_GAP = re.compile(r",[ \t]*(?=\S)")
_SPACE = re.compile(r"[ \t]+(?=\S)")
_SECTION_END = re.compile(r"\][ \t\r]*(?:\n|\Z)")
_ELEMENT = re.compile(r"(?:<|&lt;|\\+u003[cC])(?:[\w.-]{1,40}:)?\Z")
_BEFORE_ELEMENT = ("<", ";", ":", "c", "C", "\\", '"', "'")
_ELEMENT_START = re.compile(r"(?P<attributes>[^<>&\n\\]{0,400}?)(?P<end>/?(?:>|&gt;|\\+u003[eE]))")
_NEXT_TAG = re.compile(r"<|&lt;|\\+u003[cC]")
_ATTRIBUTE_NAME = re.compile(rf"(?i)\b(?:{_NAME_KEYS})=\\*[\"']\Z")
_NAMED_ELEMENT = re.compile(r"\\*[\"'][^<>]{0,200}>(?=[^<\s])")
_PAIR_BEFORE = re.compile(
    rf"(?i)(?<![\w.-])(?:{_NAME_KEYS})(?:\\*[\"'])?(?:\s{{0,20}}[:=]\s{{0,20}}|>)(?:\\*[\"'])?\Z"
)
_PAIR_AFTER = re.compile(
    rf"(?i)(?<![\w.-])(?:{_NAME_KEYS})(?:\\*[\"'])?(?:\s{{0,20}}[:=]\s{{0,20}}|>)(?:\\*[\"'])?"
    r"(?P<name>[\w.-]+)"
)
_PAIR_SIGNS, _ASSIGNS = "\"'\\ \t\n", (":", "=", ">")
_BOUNDARY = re.compile(r"[{}]|\n[ \t]*-[ \t]|<(?!/?(?:name|value|key)>)")
_COMMENT = re.compile(r"(?m)^[ \t]*#[^\n]*\n?|[ \t]#[^\n]*")

_LINE_START = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\dT[\d:.]*(?:Z|[+-]\d\d:\d\d) )?(?P<indent>[ \t]*+(?:[-?] ++)*+)"
    r"(?:(?:export|set|setx|ENV|ARG|env|declare|readonly|local|const|let|var|-x)[ \t]"
    r"|[-+#;>/ \t])*+(?P<bracket>\[{0,2}(?:[\w-]+\.)*)(?:\\*[\"'`])?\Z"
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]*(?:Z|[+-]\d\d:\d\d) ")
_BLOCK_HEAD = re.compile(r"(?:[|>][-+0-9]*|[&!][^\s\"']+)?[ \t]*(?:#[^\n]*)?\r?(?=\n|\Z)")
_REFERENCE_LINE = re.compile(
    r"\s*(?:- +)*\\*[\"']?(?P<key>\w+)\\*[\"']?\s*:\s*\\*[\"']?[\w./-]{0,253}\\*[\"']?\s*(?:#.*)?"
)
_NEXT_SETTING = re.compile(r";?.[ \t]+[\w.-]{1,64}[=:]|;[ \t]+(?:export|declare|set)[ \t]")
_QUOTE = re.compile(r"""\\*["'`]""")
_BRACKETS = re.compile(r"[\[\]{}]")
_REST_OF_ITEM = re.compile(r"(?:[ \t][^\s,;{}\[\]:=]+){1,8}(?=[,}\]])")
_TRIPLE = re.compile(r"\"{3}|'{3}")
_TOKEN_OF_FLOW = re.compile(r"""\\*+["'`]|[\[\]{}]""")
_TOKEN_OF_CALL = re.compile(r"""\\*+["'`]|[()]""")
_TYPE = re.compile(r"(?:map|&[\w.*]{1,64}|\[\][\w.*]{1,64}|[A-Z][A-Za-z]{1,40})(?=[\[{(])")
_STOP = re.compile(r"""[\s,;&"'`<>\])}\[({\\%|]""")
_CLOSES = re.compile(r"[\s,;:.)\]}\"'`<>&|/\\]|\Z")
_AFTER_COMMA = re.compile(r"[\s\"'\]})\\]|\Z|amp;|[\w.$-]{1,64}[\"']?\s?[=:(]")
_AFTER_ESCAPE = re.compile(r"\\+(?:[\"'`]|[nrt](?=[\s\\\"'}\]#-]|\Z|[\w.-]{1,64}\s?[=:])|u0026)")
_TAG = re.compile(r"</|<\w{1,40}[\s/>]")
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
    r"(?i)\b(?:login|account|user|machine)\s+\S{1,100}\s+\Z|configure[ \t]+set[ \t]+\Z"
)
_HEADER = {"authorization", "cookie", "cookies"}
_SCHEME = re.compile(
    r"(?i)(?:basic|bearer|token|negotiate|apikey|api-key|key|kerberos|ntlm)\s+(?=[^\s=\"']+"
    r"(?:[\s\"'\\,;]|\Z))"
)
_FLAG_VALUE = re.compile(r"[^\s\"']+")
_SETTING = re.compile(r"\S+")
_LINES_BELOW = re.compile(r"\s{1,200}")
_ASSIGNED_LATER = re.compile(r"[ \t]{0,8}=[ \t]{0,8}(?=\S)")
_OPEN_QUOTE = re.compile(r"\\*[\"'`]\Z")
_NEXT_SECTION = re.compile(r"\n[ \t]*\[|\Z")


def hide_named_values(text: str) -> str:
    """The text without the values of sensitive names."""
    return _Scanner(text).run()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._unclosed: dict[str, int] = {}
        """Up to where there is no closing tag of an element."""
        self._line = (0, -1)
        self._pair = ("", 0)
        """The last sensitive value of a ``name``, and its end: a sibling is its value."""

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
            parts += [text[done:begin], " " if text[begin].isspace() else "", MARK]
            done = start = end - (text[end - 1] == "\n")
        return "".join([*parts, text[done:]])

    def _find(self, run: re.Match[str]) -> Span | None:
        """What to hide after this name."""
        name = run[0].strip("-.")
        if _IS_VALUE_KEY.fullmatch(name):
            return self._find_value_of_pair(run)
        name = self._sensitive(name, run.start())
        if not name:
            return None
        before = self._before(run.start(), 80)
        if before.rstrip(_PAIR_SIGNS)[-1:] in _ASSIGNS and _PAIR_BEFORE.search(before):
            self._pair = (name, run.end())
        for find in (self._find_element, self._find_assigned, self._find_flag, self._find_spaced):
            if found := find(name, run, before):
                return None if self._is_harmless(name, found) else found
        return None

    def _sensitive(self, name: str, start: int) -> str:
        """The name that suggests a credential, without what an escape has put before it."""
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

    # how a value may follow a name

    def _find_element(self, _name: str, run: re.Match[str], before: str) -> Span | None:
        """Of XML: an element of this name, or one with an attribute that has it as its value."""
        text = self._text
        if before[-1:] not in _BEFORE_ELEMENT:
            return None
        if _ATTRIBUTE_NAME.search(before):
            named = _NAMED_ELEMENT.match(text, run.end())
            return (named.end(), self._end_of_tag(named.end(), "")) if named else None
        is_escaped = before[-1:] == "\\" and run[0].startswith(("u003c", "u003C"))
        if not is_escaped and not _ELEMENT.search(before):
            return None
        start = _ELEMENT_START.match(text, run.end())
        if not start or start["end"][0] == "/" or start["attributes"][:1].strip():
            return None
        element = run[0][5:] if is_escaped else run[0]
        return start.end(), self._end_of_tag(start.end(), element)

    def _end_of_tag(self, start: int, element: str) -> int:
        """Where the closing tag begins; without one, the end of the line or of the text."""
        text = self._text
        limit = min(len(text), start + _LIMIT)
        if start >= self._unclosed.get(element, 0):
            tag = re.compile(
                r"(?:<|&lt;|\\++u003[cC])(?P<slash>\\*+/)?(?:[\w.-]{1,40}:)?"
                rf"{re.escape(element)}(?![\w.-])"
            )
            depth, last = 1, 0
            for found in tag.finditer(text, start, limit):
                depth += -1 if found["slash"] else 1
                last = found.start() if found["slash"] else last
                if not depth or not element:
                    return found.start()
            if last:
                return last if limit < len(text) else limit
            self._unclosed[element] = limit
        if limit == len(text) and (
            text[start : start + _NEAR].lstrip()[:1] == "<" or not _NEXT_TAG.search(text, start)
        ):
            return limit
        return self._line_end(start)

    def _find_assigned(self, name: str, run: re.Match[str], before: str) -> Span | None:
        """After a colon, an equals sign or the like; or the lines below."""
        text, end = self._text, run.end()
        head = None if run[0].startswith("-") else self._line_head(run.start())
        if head and head["bracket"]:
            if section := _SECTION_END.match(text, end):
                return section.end() - 1, self._section_end(section.end() - 1)
            head = None
        if pair := _TUPLE_GAP.match(text, end):
            return self._in_tuple(name, pair, before)
        if before[-1:] in ("[", "(") and (gap := _FLOW_GAP.match(text, end)):
            return self._span(name, gap.end(), "", None, "")
        if match := _SEP.match(text, end):
            quote = "" if match["close"] else self._enclosing(before)
            return self._span(name, match.end(), quote, head, match["sep"].strip())
        return self._find_said(name, end)

    def _find_said(self, name: str, end: int) -> Span | None:
        """In ``password is x``, or in ``password {``."""
        if body := _BODY.match(self._text, end):
            return self._span(name, body.end(), "", None, "")
        if match := _IS.match(self._text, end):
            word = _WORD.match(self._text, match.end())
            if word and not _PROSE.fullmatch(word[0].strip(".,;:!?\"'")):
                return self._span(name, match.end(), "", None, "is")
        return None

    def _in_tuple(self, name: str, gap: re.Match[str], before: str) -> Span | None:
        """Of a pair such as ``("token", "x")``; not of ``"name": "token", "value": "x"``."""
        if not before.endswith(gap["close"]) or _PAIR_BEFORE.search(before):
            return None
        span = self._span(name, gap.end(), "", None, "")
        return None if span and _COLON.match(self._text, span[1]) else span

    def _find_flag(self, name: str, run: re.Match[str], before: str) -> Span | None:
        if not run[0].startswith("-"):
            return None
        gap = _FLAG_GAP.match(self._text, run.end())
        if not gap or gap.end() >= len(self._text):
            return None
        if self._text[gap.end()] in "\"'\\`":
            return self._span(name, gap.end(), "", None, "")
        if gap["close"] or not _FLAG_VALUE.match(self._text, gap.end()):
            return None
        return self._span(name, gap.end(), self._enclosing(before), None, "")

    def _find_spaced(self, name: str, run: re.Match[str], before: str) -> Span | None:
        """Two words of a line, as in a ``.netrc``, or what is quoted or appears to be random."""
        text = self._text
        gap = _SPACE.match(text, run.end())
        word = _WORD.match(text, gap.end()) if gap else None
        if not gap or not word:
            return None
        start = gap.end()
        last = (split_words(name) or [""])[-1]
        is_loud = is_password(name) or last in _HEADER
        if _LOGIN.search(before) or (text[start] in "\"'" and is_loud):
            return self._span(name, start, "", None, "")
        if last in ("secret", "secrets") and name != name.upper():
            return None
        if _LOOKS_RANDOM.match(word[0].strip(".\"'")) or self._is_line(run, word):
            return start, word.end()
        return None

    def _is_line(self, run: re.Match[str], word: re.Match[str]) -> bool:
        """Whether a line has nothing but the name and this word."""
        end = min(self._line_end(word.end()), word.end() + 80)
        if self._text[word.end() : end].strip("; \t\r") or not self._line_head(run.start()):
            return False
        return not _PROSE.fullmatch(word[0].strip(".,;:!?"))

    def _find_value_of_pair(self, run: re.Match[str]) -> Span | None:
        """The value beside a sensitive name, before or after it."""
        text = self._text
        before = self._before(run.start(), 80)
        if before[-1:] in _BEFORE_ELEMENT and _ELEMENT.search(before):
            tag = _ELEMENT_START.match(text, run.end())
            span: Span | None = (tag.end(), self._end_of_tag(tag.end(), run[0])) if tag else None
        elif match := _SEP.match(text, run.end()):
            quote = "" if match["close"] else self._enclosing(before)
            at, head = match.end(), self._line_head(run.start())
            if text[at : at + 1] in ("[", "{") and not self._pair_before(run.start()):
                end = self._end_of_flow(at, _NEAR)
                span = (at, end) if end else None
            else:
                span = self._span("value", at, quote, head, match["sep"].strip())
        else:
            return None
        name = self._name_of_pair(run.start(), span[1]) if span else ""
        if not span or not name or is_harmless(name, text[span[0] : span[1]]):
            return None
        return span

    def _name_of_pair(self, start: int, end: int) -> str:
        """The sensitive name beside a value, if any."""
        if name := self._pair_before(start):
            return name
        text = self._text
        after = _COMMENT.sub("", text[end : end + _NEAR])
        named = _PAIR_AFTER.search(after)
        if named and may_hide(named["name"]) and not _BOUNDARY.search(after[: named.start()]):
            return named["name"]
        return ""

    def _pair_before(self, start: int) -> str:
        name, place = self._pair
        if not name or start - place > 2 * _NEAR:
            return ""
        between = _COMMENT.sub("", self._text[place:start]).rstrip("<")
        return "" if _BOUNDARY.search(between) else name

    # where a value begins and ends

    def _span(  # noqa: PLR0911 - a table of forms
        self, name: str, start: int, quote: str, head: re.Match[str] | None, sep: str
    ) -> Span | None:
        """The value that begins here."""
        text = self._text
        if head and sep in (":", "=", "") and _BLOCK_HEAD.match(text, start):
            return self._block(start, head, is_open=True)
        if start >= len(text) or text[start] in "\r\n":
            return self._next_line(start)
        first = start
        if prefix := _PREFIX.match(text, start):
            start = prefix.end()
        is_closed = self._is_closed(start)
        if is_closed or not sep:
            return first, self._value_end(start)
        if split_words(name)[-1:] and split_words(name)[-1] in _HEADER:
            return self._header(start, quote, head)
        if quote:
            return start, self._end_of_quote(start, quote, self._line_end(start))
        if head and sep in (":", "=", ":="):
            return self._rest(start, head, sep)
        return start, self._inline_end(name, start, sep)

    def _is_closed(self, start: int) -> bool:
        """Whether a quote or a bracket says where the value ends."""
        text = self._text
        if text.startswith(MARK, start):
            return False
        return bool(_QUOTE.match(text, start)) or text[start] in "[{("

    def _next_line(self, start: int) -> Span | None:
        """A value on the line after its name."""
        text = self._text
        match = _LINES_BELOW.match(text, start)
        at = match.end() if match else start
        if at < len(text) and self._is_closed(at) and text[at] != "(":
            return at, self._value_end(at)
        word = _WORD.match(text, at)
        is_alone = word and word.end() == self._line_end(at)
        return (at, word.end()) if word and is_alone and word[0][-1] not in ":=" else None

    def _rest(self, start: int, head: re.Match[str], sep: str) -> Span:
        """The rest of a line, and the lines that continue it."""
        text = self._text
        end = self._line_end(start)
        if sep != ":":
            first = _SETTING.match(text, start)
            if first and _NEXT_SETTING.match(text, first.end() - 1):
                return start, self._bare_end(start)
        while text[end - 1] == "\\" and end < len(text):
            end = self._line_end(end + 1)
        if (opened := self._open_bracket(start, end)) >= 0:
            return start, self._line_end(min(self._end_of_flow(opened), len(text)))
        return start, self._block(end, head, is_open=False)[1]

    def _open_bracket(self, start: int, end: int) -> int:
        """The outermost bracket that the end of a line leaves open; -1 if there is none."""
        opened: list[int] = []
        for found in _BRACKETS.finditer(self._text, start, min(end, start + _LIMIT)):
            if found[0] in "[{":
                opened.append(found.start())
            elif opened:
                opened.pop()
        before = self._text[opened[0] - 1] if opened else "x"
        return opened[0] if before in " \t[{:," else -1

    def _inline_end(self, name: str, start: int, sep: str) -> int:
        text = self._text
        end = self._value_end(start)
        if sep == ":" and (later := _ASSIGNED_LATER.match(text, end)):
            return self._value_end(later.end())
        if sep == ":" and (more := _REST_OF_ITEM.match(text, end)):
            return more.end()
        if sep in (":", "is") and is_password(name) and text[end : end + 1] == " ":
            limit = self._line_end(end)
            stop = _NEXT_NAMED.search(text, end, limit)
            return stop.start() if stop else limit
        return end

    def _header(self, start: int, quote: str, head: re.Match[str] | None) -> Span:
        """The value of a header: one word after a scheme, or all that is in the line."""
        limit = self._line_end(start)
        if quote:
            limit = self._end_of_quote(start, quote, limit)
        elif head:
            return self._rest(start, head, ":")
        scheme = _SCHEME.match(self._text, start)
        if scheme and not quote:
            return scheme.end(), min(limit, self._bare_end(scheme.end()))
        return start, limit

    def _value_end(self, start: int) -> int:
        """The end of a value: quoted, bracketed or neither, or several of these in one."""
        text, at = self._text, start
        while at < len(text):
            if triple := _TRIPLE.match(text, at):
                end = text.find(triple[0], triple.end(), triple.end() + _LIMIT)
                return end + 3 if end >= 0 else min(len(text), triple.end() + _LIMIT)
            if quote := _QUOTE.match(text, at):
                at = self._end_of_quote(quote.end(), quote[0], 0) + len(quote[0])
            elif made := _TYPE.match(text, at):
                at = self._end_of_flow(made.end())
            elif text[at] in "[{(" and not text.startswith(MARK, at):
                at = self._end_of_flow(at)
            else:
                return self._bare_end(at)
            if _CLOSES.match(text, at) and text[at : at + 1] not in ('"', "'"):
                break
        return min(max(at, start), len(text))

    def _end_of_quote(self, start: int, quote: str, limit: int) -> int:
        """Where the quote closes, at the same depth of escapes, or one further out closes."""
        text, depth = self._text, len(quote) - 1
        end = limit or min(len(text), start + _LIMIT)
        escaped = -1
        for found in re.compile(rf"\\*{quote[-1]}").finditer(text, start, end):
            slashes = len(found[0]) - 1
            if escaped >= 0 and "\n" in text[escaped : found.start()]:
                break
            if slashes == depth or (not depth and slashes % 2 == 0):
                return found.end() - 1 - depth
            if slashes < depth:
                return found.start()
            if quote == "'" and escaped < 0 and _CLOSES.match(text, found.end()):
                escaped = found.end() - 1
        if escaped >= 0:
            return escaped
        return end if limit or end == len(text) else self._line_end(start)

    def _end_of_flow(self, start: int, limit: int = _LIMIT) -> int:
        """Where the bracket closes; if it does not, the end of the text, or of the line.

        With a shorter limit, 0 if it does not close in it.
        """
        text = self._text
        end = min(len(text), start + limit)
        depth, at = 0, start
        token = _TOKEN_OF_CALL if text[start] == "(" else _TOKEN_OF_FLOW
        while found := token.search(text, at, end):
            at = found.end()
            if found[0][-1] in "\"'`":
                at = self._end_of_quote(at, found[0], 0) + len(found[0])
                continue
            depth += 1 if found[0] in "[{(" else -1
            if not depth:
                return at
        if limit < _LIMIT:
            return 0
        return end if end == len(text) else self._line_end(end)

    def _bare_end(self, start: int) -> int:
        """The end of a word; commas and brackets end it if what follows appears to be next."""
        text, at, is_nested = self._text, start, False
        if text.startswith(MARK, at):
            at += len(MARK)
        while stop := _STOP.search(text, at):
            if self._ends_at(stop.start(), stop[0]):
                return stop.start()
            at = stop.end()
            if stop[0] in "[{(" and not is_nested:
                is_nested = True
                end = self._end_of_flow(stop.start(), _SHORT)
                at = at if ": " in text[at:end] else max(end, at)
            elif stop[0] == "\\":
                at += 1
        return len(text)

    def _ends_at(self, at: int, char: str) -> bool:  # noqa: PLR0911 - a table of signs
        """Whether a value that is not quoted ends at this character."""
        text = self._text
        if char in ",;&|":
            return bool(_AFTER_COMMA.match(text, at + 1))
        if char in "\"'`])}":
            return bool(_CLOSES.match(text, at + 1))
        if char == "\\":
            return bool(_AFTER_ESCAPE.match(text, at))
        if char == "%":
            return text[at : at + 3] in ("%26", "%22", "%20")
        if char == "<":
            return bool(_TAG.match(text, at))
        if char == ">":
            return text[at + 1 : at + 2].strip() in ("", "<")
        return char.isspace()

    def _block(self, start: int, head: re.Match[str], *, is_open: bool) -> Span:
        """The lines below that are indented more; or list items, if nothing is on the line."""
        text = self._text
        column = len(head[0].rstrip("\"'\\`")) - len(head["time"] or "")
        first = at = end = self._line_end(start)
        skipped = 0
        while at < len(text) and skipped < _MAX_SKIPPED:
            following = self._line_end(at + 1)
            line = text[at + 1 : min(following, at + 1 + _NEAR)]
            if head["time"] and (time := _TIME.match(line)):
                line = line[time.end() :]
            content = line.lstrip(" \t")
            indent = len(line) - len(content)
            is_item = is_open and indent == column and content.startswith(("- ", "-\n", "-\r"))
            if content.strip() and (indent > column or is_item):
                end, skipped = following, 0
            elif content.strip() and not content.startswith("#"):
                break
            else:
                skipped += 1
            at = following
        return (start, end) if not is_open or end > first else (start, start)

    def _section_end(self, start: int) -> int:
        end = _NEXT_SECTION.search(self._text, start)
        return end.start() if end else len(self._text)

    # what is around

    def _before(self, start: int, count: int) -> str:
        return self._text[max(0, start - count) : start]

    def _enclosing(self, before: str) -> str:
        """The quote that begins right before the name."""
        found = _OPEN_QUOTE.search(before)
        return found[0] if found else ""

    def _line_head(self, start: int) -> re.Match[str] | None:
        """What is before the name in its line, if the line begins with it."""
        first = max(0, start - _NEAR)
        line = self._text.rfind("\n", first, start)
        if line < 0 and first:
            return None
        return _LINE_START.match(self._text[line + 1 if line >= 0 else 0 : start])

    def _line_end(self, start: int) -> int:
        """Remembered, as a line may have thousands of names."""
        if not self._line[0] <= start <= self._line[1]:
            end = self._text.find("\n", start)
            self._line = (start, len(self._text) if end < 0 else end)
        return self._line[1]


def _is_reference_block(value: str) -> bool:
    """Whether all lines, or all parts of a flow, only say where a credential is."""
    text = value.strip()
    if len(text) > 2000 or ":" not in text:
        return False
    if text[0] in "[{":
        lines: t.Iterable[str] = re.split(r"[,\[\]{}]", text)
    elif "\n" in value:
        lines = value.splitlines()
    else:
        return False
    shown = [line for line in lines if line.strip() and not line.strip().startswith("#")]
    found = [_REFERENCE_LINE.fullmatch(line) for line in shown]
    return bool(found) and all(match and match["key"] in REFERENCE_FIELDS for match in found)
