# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Finds the end of a value in a text: a quote, a bracket, a tag or a word."""

from __future__ import annotations

import re
from bisect import bisect_left

from .sensitive_names import MARK

TIME = r"\d{4}-\d\d-\d\dT[\d:.]*(?:Z|[+-]\d\d:\d\d) "
"""The timestamp before each line of a log."""

_FAR = 1 << 14
"""Distance from which a line that does not seem to belong to an open bracket ends it."""

_NEAR = 400
_SHORT = 160

_OTHER_LINE = re.compile(
    rf"\n(?:{TIME})?(?:[A-Za-z_][\w.-]{{0,80}}[ \t]{{0,8}}[:=][ \t]|\w+(?: [\w.:/-]+){{2}})"
    r"[^\n]*[^\s,\[{][ \t\r]*(?=\n|\Z)"
)
_QUOTE = re.compile(r"""\\*["'`]""")
_TRIPLE = re.compile(r"\"{3}|'{3}")
_JOINED = re.compile(
    rf"[ \t]*(?:(?:\+|->|\\?\r?\n(?:{TIME})?[ \t]+(?![^\n]{{0,{_NEAR}}}[\"']\s?:))\s{{0,200}})"
    r"(?=[\"'])"
)
"""Text between two strings that form one value."""

_TOKEN_OF_FLOW = re.compile(r"""\\*+(?:["`]|(?<!\w\w)')|[\[\]{}]""")
_TOKEN_OF_CALL = re.compile(r"""\\*+(?:["`]|(?<!\w\w)')|[()]""")
_TYPE = re.compile(r"(?:map|&[\w.*]{1,64}|\[\][\w.*]{1,64}|[A-Z][A-Za-z]{1,40})(?=[\[{(])")
_STOP = re.compile(r"""[\s,;&"'`<>\])}\[({\\%|]""")
_CLOSES = re.compile(r"[\s,;:.)\]}\"'`<>&|/\\]|\Z")
_ENDS = re.compile(
    r"[,;&|](?:[\s\"'\]})\\]|\Z|amp;|[\w.$-]{1,64}[\"']?\s?[=:(])"
    rf"|[\"'`\])}}](?:{_CLOSES.pattern})"
    r"|\\+(?:[\"'`]|[nrt](?=[\s\\\"'}\]#-]|\Z|[\w.-]{1,64}\s?[=:])|u0026)"
    r"|%(?:26|22|20)|</|<\w{1,40}[\s/>]|>(?:[\s<]|\Z)|\s"
)
"""The end of a value that is neither quoted nor bracketed."""

_FOLD = re.compile(rf"\\\r?\n(?:{TIME})?[ \t]*")
_TAG = re.compile(
    r"(?:<|&lt;|\\++u003[cC])(?P<slash>\\*+/)?(?:[\w.-]{1,40}:)?(?P<name>[\w.-]{1,400})"
)
_NEXT_TAG = re.compile(r"<|&lt;|\\+u003[cC]")


class ValueEnds:
    """Finds ends in one text, in time linear in its length.

    Callers must pass increasing positions, and skip found values unless they are short.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._line = (0, -1)
        self._other_line = (0, -1)
        self._tags: dict[str, list[tuple[int, bool]]] | None = None
        self._closing: dict[str, list[int]] = {}

    def line(self, start: int) -> int:
        """The end of the line; cached, as a line may have thousands of names."""
        if not self._line[0] <= start <= self._line[1]:
            end = self._text.find("\n", start)
            self._line = (start, len(self._text) if end < 0 else end)
        return self._line[1]

    def is_closed(self, start: int) -> bool:
        """Whether a quote or a bracket determines the end of the value."""
        text = self._text
        if text.startswith(MARK, start):
            return False
        return bool(_QUOTE.match(text, start)) or text[start] in "[{("

    def value(self, start: int) -> int:
        """The end of a value: quoted, bracketed, bare, or a concatenation of these."""
        text, at = self._text, start
        while at < len(text):
            if triple := _TRIPLE.match(text, at):
                return self._triple(triple.end(), triple[0])
            if quote := _QUOTE.match(text, at):
                at = self.quote(quote.end(), quote[0]) + len(quote[0])
                if joined := _JOINED.match(text, at):
                    at = joined.end()
                    continue
            elif made := _TYPE.match(text, at):
                at = self.flow(made.end())
            elif text[at] in "[{(" and not text.startswith(MARK, at):
                at = self.flow(at)
            else:
                return self.bare(at)
            if _CLOSES.match(text, at) and text[at : at + 1] not in ('"', "'"):
                break
        return min(max(at, start), len(text))

    def quote(self, start: int, quote: str, limit: int = 0) -> int:
        """The end of a quote, at the same depth of escapes or further out."""
        text, depth = self._text, len(quote) - 1
        end = limit or len(text)
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
        return limit or self._far(start)

    def flow(self, start: int, limit: int = 0) -> int:
        """The end of a bracket; if it is not closed, where other text seems to start.

        With a limit, 0 if it is not closed within the limit.
        """
        text = self._text
        end = min(len(text), start + limit) if limit else self._far(start)
        depth, at = 0, start
        token = _TOKEN_OF_CALL if text[start] == "(" else _TOKEN_OF_FLOW
        while found := token.search(text, at, end):
            at = found.end()
            if found[0][-1] in "\"'`":
                at = self.quote(at, found[0]) + len(found[0])
                continue
            depth += 1 if found[0] in "[{(" else -1
            if not depth:
                return at
        return 0 if limit else min(max(at, end), len(text))

    def bare(self, start: int) -> int:
        """The end of a word, at a comma or bracket if another item seems to follow."""
        text, at, is_nested = self._text, start, False
        if text.startswith(MARK, at):
            at += len(MARK)
        while stop := _STOP.search(text, at):
            if fold := _FOLD.match(text, stop.start()):
                at = fold.end()
                continue
            if _ENDS.match(text, stop.start()):
                return stop.start()
            at = stop.end()
            if stop[0] in "[{(" and not is_nested:
                is_nested = True
                end = self.flow(stop.start(), _SHORT)
                at = at if ": " in text[at:end] else max(end, at)
            elif stop[0] == "\\":
                at += 1
        return len(text)

    def element(self, start: int, name: str) -> int:
        """The start of the closing tag; without one, the end of the line or of the text."""
        text = self._text
        tags = self._find_tags().get(name, [])
        depth, last = 1, 0
        for number in range(bisect_left(tags, (start, False)), len(tags)):
            position, is_end = tags[number]
            depth += -1 if is_end else 1
            last = position if is_end else last
            if not depth:
                return position
        if last and self._far(last) < len(text):
            return last
        return len(text) if last else self._unclosed_element(start)

    def next_tag(self, start: int, name: str) -> int:
        """The start of the next closing tag of this name, or of any name if it is empty."""
        ends = self._closing.get(name, []) if self._find_tags() else []
        number = bisect_left(ends, start)
        return ends[number] if number < len(ends) else self._unclosed_element(start)

    def _unclosed_element(self, start: int) -> int:
        text = self._text
        limit = self._far(start)
        if limit == len(text) and (
            text[start : start + _NEAR].lstrip()[:1] == "<" or not _NEXT_TAG.search(text, start)
        ):
            return limit
        return self.line(start)

    def _find_tags(self) -> dict[str, list[tuple[int, bool]]]:
        """All tags of each element, up to its last closing tag."""
        if self._tags is None:
            self._tags = {}
            waiting: dict[str, list[tuple[int, bool]]] = {}
            for tag in _TAG.finditer(self._text):
                name, position = tag["name"], tag.start()
                waiting.setdefault(name, []).append((position, bool(tag["slash"])))
                if tag["slash"]:
                    self._tags.setdefault(name, []).extend(waiting.pop(name))
                    self._closing.setdefault(name, []).append(position)
                    self._closing.setdefault("", []).append(position)
        return self._tags

    def _triple(self, start: int, quote: str) -> int:
        end = self._text.find(quote, start)
        return end + len(quote) if end >= 0 else len(self._text)

    def _far(self, start: int) -> int:
        """The limit of the text that may belong to an unclosed value."""
        first = start + _FAR
        if not self._other_line[0] <= first <= self._other_line[1]:
            found = _OTHER_LINE.search(self._text, first)
            self._other_line = (first, found.start() if found else len(self._text))
        return max(start, self._other_line[1]) if first < len(self._text) else len(self._text)
