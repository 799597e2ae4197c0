# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Asks a model server one question."""

from __future__ import annotations

import math
import time
import typing as t
from dataclasses import dataclass, field

from ..._base.errors import NimError
from ..._base.printable import name_some, printable
from ..._base.types import Json
from ..._http.stream import Stream, StreamError
from .answers import (
    AnswerError,
    Generation,
    declared_paths,
    list_models,
    list_names,
    main_model,
    parse_object,
    read_embedding,
    read_ranking,
)
from .server_events import EventReader
from .servers import RefusedError, Server, UnreachableError
from .tasks import (
    CHAT,
    COMPLETION,
    EMBEDDING,
    Question,
    Request,
    order_tasks,
    requests_of,
    routes_of,
)

NOT_THIS_WAY = (400, 404, 405, 415, 422, 501)
"""Statuses after which another request may succeed."""
_OTHER_PATH = (404, 405, 501)
_MAX_SHOWN, _MAX_NAMED, _SHOWN_VALUES = 3, 20, 8
_DONE = "[DONE]"
_DOCUMENT_SECONDS, _LIST_SECONDS = 5.0, 10.0
_NO_MODELS = "the model server lists no model: it is still loading, or does not serve models"


@dataclass(frozen=True)
class Reply:
    """The answer to the question. ``details``: those of its task; ``text``: for people."""

    request: Request
    text: str
    details: Json
    seconds: float
    first: float | None = None
    tokens: int | None = None
    is_streamed: bool = False

    @property
    def rate(self) -> float | None:
        """Tokens per second after the first one, which also counts the prompt."""
        if not self.tokens:
            return None
        start = self.first if self.is_streamed and self.first and self.tokens > 1 else 0.0
        count = self.tokens - 1 if start else self.tokens
        return count / (self.seconds - start) if self.seconds > start else None

    @property
    def timing(self) -> str:
        """The times in words."""
        parts = [f"answer after {self.seconds:.2f} s"]
        if self.first is not None:
            parts.insert(0, f"time to first token {self.first:.2f} s")
        if self.rate is not None:
            parts.append(f"{self.tokens} tokens, {self.rate:.1f} tokens/s")
        return ", ".join(parts)

    def to_dict(self) -> Json:
        """The reply as plain data; times in seconds."""
        return {
            "task": self.request.task,
            **self.details,
            "time_to_first_token": _round(self.first),
            "tokens_per_second": _round(self.rate),
            "tokens": self.tokens,
            "seconds": _round(self.seconds),
            "streamed": self.is_streamed,
        }


@dataclass
class Conversation:
    """The requests to one server within ``seconds``. TimeoutError after them."""

    server: Server
    seconds: float
    clock: t.Callable[[], float] = time.monotonic
    begun: float = field(init=False)

    def __post_init__(self) -> None:
        self.begun = self.clock()

    def list_models(self) -> dict[str, Json]:
        """The models. NimError if there are none."""
        found: dict[str, Json] = {}
        for path, read in (("/v1/models", list_models), ("/v1/metadata", list_names)):
            try:
                found = found or read(self._get(path, _LIST_SECONDS))
            except RefusedError as error:
                if error.status not in NOT_THIS_WAY:
                    raise
            except TimeoutError:
                self._left()  # ends here if all time is over
                raise UnreachableError(
                    f"{self.server.name} lists no models within {_LIST_SECONDS:g} s"
                ) from None
        if not found:
            raise NimError(_NO_MODELS)
        return found

    def ask(self, question: Question, task: str = "") -> Reply:
        """The reply to the first request that the server accepts. NimError if it accepts none."""
        paths = self._find_paths()
        refusals: list[RefusedError] = []
        for item in [task] if task else order_tasks(question.model, paths):
            for route in routes_of(item, paths):
                if reply := self._try(requests_of(item, route, question), question, refusals):
                    return reply
        refusals.sort(key=lambda error: error.status in _OTHER_PATH)
        raise NimError(
            "the model server refuses the request: "
            + "; ".join(str(error) for error in refusals[:_MAX_SHOWN])
        )

    def _try(
        self, requests: list[Request], question: Question, refusals: list[RefusedError]
    ) -> Reply | None:
        """The reply to one of these requests to the same path; None if it refuses all."""
        for request in requests:
            try:
                return self._send(request, question)
            except RefusedError as error:
                if error.status not in NOT_THIS_WAY:
                    raise
                refusals.append(error)
                if error.status in _OTHER_PATH:
                    break
        return None

    def _send(self, request: Request, question: Question) -> Reply:
        begun = self.clock()
        stream = self.server.send(request.path, request.body, self._left())
        try:
            if request.task in (CHAT, COMPLETION):
                return self._generate(request, stream, begun)
            body = parse_object(stream.read())
            seconds = self.clock() - begun
            if request.task == EMBEDDING:
                return Reply(request, *_show_vector(read_embedding(body)), seconds)
            ranked = read_ranking(body, len(question.passages))
            return Reply(request, *_show_ranking(ranked, question.passages), seconds)
        except (AnswerError, StreamError) as error:
            raise NimError(f"the answer to {request.path} {_be(error)}") from error
        finally:
            stream.close()

    def _generate(self, request: Request, stream: Stream, begun: float) -> Reply:
        found = Generation()
        is_streamed = "text/event-stream" in stream.content_type.lower()
        if is_streamed:
            self._read_events(stream, found)
        else:
            found.add(parse_object(stream.read()), self.clock())
        if not found.text:
            raise NimError(_why_empty(found))
        first = None if found.first is None or not is_streamed else found.first - begun
        details = {"answer": found.text, "finish_reason": found.finish}
        tokens = found.tokens if is_streamed or found.counted else None
        seconds = self.clock() - begun
        return Reply(request, found.text, details, seconds, first, tokens, is_streamed)

    def _read_events(self, stream: Stream, found: Generation) -> None:
        """AnswerError if the stream ends before the answer does."""
        reader = EventReader()
        try:
            for piece in stream:
                for data in reader.feed(piece):
                    if data.strip() == _DONE:
                        return
                    found.add(parse_object(data), self.clock())
        except AnswerError as error:
            raise AnswerError(f"has an event that {error}") from error
        except ValueError as error:
            raise AnswerError(f"is not a stream of events: {error}") from error
        if not found.finish:
            raise AnswerError("ended before it was complete")

    def _find_paths(self) -> list[str]:
        """The paths that the server declares; none if it has no OpenAPI document."""
        try:
            return declared_paths(self._get("/openapi.json", _DOCUMENT_SECONDS))
        except (NimError, TimeoutError):
            return []

    def _get(self, path: str, seconds: float = math.inf) -> Json:
        """A JSON object. NimError if the answer is none."""
        stream = self.server.send(path, None, min(self._left(), seconds))
        try:
            return parse_object(stream.read())
        except (AnswerError, StreamError) as error:
            raise NimError(f"the answer to {path} {_be(error)}") from error

    def _left(self) -> float:
        left = self.begun + self.seconds - self.clock()
        if left <= 0:
            raise TimeoutError
        return left


def choose_model(models: t.Mapping[str, Json], wanted: str, known: str) -> str:
    """The ``wanted``, the ``known``, or the main model. NimError if the wanted one is absent."""
    if wanted and wanted not in models:
        served = name_some(list(models), _MAX_NAMED)
        raise NimError(f"model: {printable(wanted, 253)} is not served; available models: {served}")
    return wanted or (known if known in models else main_model(models))


def _why_empty(found: Generation) -> str:
    if found.reasoning:
        return f"the answer is empty: all {found.tokens} tokens were reasoning; raise --max-tokens"
    reason = f" (finish_reason {found.finish})" if found.finish else ""
    return f"the answer is empty{reason}; use another prompt, raise --max-tokens, or set --task"


def _show_vector(vector: list[float]) -> tuple[str, Json]:
    shown = vector[:_SHOWN_VALUES]
    values = ", ".join(f"{value:.6g}" for value in shown)
    more = ", …" if len(vector) > len(shown) else ""
    text = f"dimension: {len(vector)}\nfirst values: {values}{more}"
    return text, {"dimension": len(vector), "first_values": shown}


def _show_ranking(ranked: list[tuple[int, float]], passages: list[str]) -> tuple[str, Json]:
    found = [
        {"index": index, "score": score, "passage": printable(passages[index], 1000)}
        for index, score in ranked
    ]
    lines = [
        f"{rank}. {item['score']:.4f}  {item['passage']}" for rank, item in enumerate(found, 1)
    ]
    return "\n".join(lines), {"ranking": found}


def _be(error: Exception) -> str:
    """An error as the rest of a sentence about an answer."""
    return str(error) if isinstance(error, AnswerError) else f"is incomplete: {error}"


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
