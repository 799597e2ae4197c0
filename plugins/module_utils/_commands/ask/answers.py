# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reads the answers of model servers, which are untrusted data."""

from __future__ import annotations

import json
import math
import typing as t
from dataclasses import dataclass, field

from ..._base.printable import printable, printable_lines
from ..._base.types import Json

_MAX_MODELS, _MAX_NAME, _MAX_TEXT = 100, 253, 300
_MAX_COUNT = 10**9
_MESSAGES = ("error", "message", "detail", "msg")
_MAX_DIMENSION = 1 << 16


class AnswerError(ValueError):
    """An answer that does not have the form of its API."""


def parse_object(content: bytes | str) -> Json:
    """A JSON object. AnswerError for anything else."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise AnswerError("is not a JSON object")
    return found


def list_models(body: Json) -> dict[str, Json]:
    """The models of `/v1/models` by name, without those that have none."""
    found: dict[str, Json] = {}
    for item in _dicts(body.get("data"))[:_MAX_MODELS]:
        name = item.get("id")
        if isinstance(name, str) and name and printable(name, _MAX_NAME) == name:
            found[name] = item
    return found


def list_names(body: Json) -> dict[str, Json]:
    """The models of `/v1/metadata`, which older embedding and rerank NIMs have."""
    names = (item.get("shortName") for item in _dicts(body.get("modelInfo"))[:_MAX_MODELS])
    cut = (name.partition(":")[0] for name in names if isinstance(name, str))
    return {name: {} for name in cut if name and printable(name, _MAX_NAME) == name}


def main_model(models: t.Mapping[str, Json]) -> str:
    """The model itself, among LoRA adapters that the server lists as well."""
    roots = (name for name, item in models.items() if item.get("root") == name)
    return next(roots, next(iter(models)))


def declared_paths(body: Json) -> list[str]:
    """The paths of an OpenAPI document to which a POST can be sent."""
    paths = body.get("paths")
    if not isinstance(paths, dict):
        return []
    return [path for path, item in paths.items() if isinstance(item, dict) and "post" in item]


def error_text(content: bytes) -> str:
    """The message of an error, in the forms that model servers have; empty for HTML."""
    try:
        found: t.Any = parse_object(content)
    except AnswerError:
        plain = " ".join(content.decode(errors="replace").split())
        return "" if plain.startswith("<") else printable(plain, _MAX_TEXT)
    for _depth in range(4):
        if isinstance(found, dict):
            found = next((found[key] for key in _MESSAGES if found.get(key)), "")
        elif isinstance(found, list):
            found = next(iter(found), "")
    return printable(" ".join(str(found).split()), _MAX_TEXT)


@dataclass
class Generation:
    """A text that a model generates, in one answer or in events, with the times of its parts."""

    parts: list[str] = field(default_factory=list)
    first: float | None = None
    pieces: int = 0
    reasoning: int = 0
    counted: int | None = None
    finish: str = ""

    @property
    def text(self) -> str:
        """The text, safe to show."""
        return printable_lines("".join(self.parts)).strip()

    @property
    def tokens(self) -> int:
        """The number of tokens according to the server, otherwise that of the pieces."""
        return self.pieces if self.counted is None else self.counted

    def add(self, body: Json, now: float) -> None:
        """Add an answer, or an event. AnswerError if it is an error, or not of this form."""
        if body.get("error") or body.get("object") == "error":
            raise AnswerError(f"is an error: {error_text(json.dumps(body).encode())}")
        choices = body.get("choices")
        if not isinstance(choices, list):
            raise AnswerError("has no choices")
        for choice in _dicts(choices)[:1]:
            self._add(choice, now)
        usage = body.get("usage")
        counted = _count(usage.get("completion_tokens")) if isinstance(usage, dict) else None
        self.counted = self.counted if counted is None else counted

    def _add(self, choice: Json, now: float) -> None:
        if isinstance(finish := choice.get("finish_reason"), str):
            self.finish = printable(finish, _MAX_TEXT)
        given = choice.get("delta") or choice.get("message") or {"content": choice.get("text")}
        if not isinstance(given, dict):
            raise AnswerError("has a choice without a message")
        text = _text_of(given.get("content")) or _text_of(given.get("refusal"))
        thought = _text_of(given.get("reasoning_content")) or _text_of(given.get("reasoning"))
        if not text and not thought:
            return
        self.parts.append(text)
        self.pieces += 1
        self.reasoning += not text
        self.first = now if self.first is None else self.first


def read_embedding(body: Json) -> list[float]:
    """The first vector. AnswerError if there is none."""
    data = _dicts(body.get("data"))
    vector = data[0].get("embedding") if data else None
    if not isinstance(vector, list) or not 0 < len(vector) <= _MAX_DIMENSION:
        raise AnswerError("has no embedding")
    return [
        _number(value, "has an embedding with a value that is not a number") for value in vector
    ]


def read_ranking(body: Json, count: int) -> list[tuple[int, float]]:
    """Index and score of the ``count`` passages, the best first. AnswerError if there are none."""
    ranked = _dicts(body.get("rankings")) or _dicts(body.get("results"))
    found: dict[int, float] = {}
    for item in ranked[:count]:
        index = _count(item.get("index"))
        if index is None or index >= count or index in found:
            raise AnswerError("ranks a passage that does not exist, or one twice")
        scores = (item[key] for key in ("logit", "relevance_score", "score") if key in item)
        found[index] = _number(next(scores, None), "has a passage without a score")
    if not found:
        raise AnswerError("ranks no passage")
    return sorted(found.items(), key=lambda pair: -pair[1])


def _text_of(value: t.Any) -> str:
    """A text, also in the form of a list of parts."""
    if isinstance(value, list):
        return "".join(_text_of(item.get("text")) for item in _dicts(value))
    return value if isinstance(value, str) else ""


def _number(value: t.Any, otherwise: str) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or abs(value) > _MAX_COUNT or math.isnan(value):
        raise AnswerError(otherwise)
    return float(value)


def _count(value: t.Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_COUNT
    return value if is_count else None


def _dicts(value: t.Any) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
