# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The tasks of models, and the requests for them, the most probable ones first."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ..._base.types import Json

CHAT, COMPLETION, EMBEDDING, RERANK = "chat", "completion", "embedding", "rerank"
TASKS = (CHAT, COMPLETION, EMBEDDING, RERANK)

DEFAULT_PROMPT = "What is the capital of France? Answer in one sentence."
DEFAULT_PASSAGES = (
    "Bananas grow in tropical countries.",
    "Paris is the capital and largest city of France.",
    "Berlin has been the capital of Germany since 1990.",
)

_ROUTES = {
    CHAT: ("/v1/chat/completions",),
    COMPLETION: ("/v1/completions",),
    EMBEDDING: ("/v1/embeddings",),
    RERANK: ("/v1/ranking", "/v1/rerank", "/rerank"),
}
_NAMES = (
    (RERANK, re.compile(r"re-?rank|cross-?encoder")),
    (EMBEDDING, re.compile(r"embed|sentence|retriever|(?:^|[/_-])(?:bge|e5|gte|minilm|nvclip)\b")),
)
"""Names of models that neither chat nor complete, the most specific first."""


@dataclass(frozen=True)
class Question:
    """A question. For a rerank model, each further line of the ``prompt`` is a passage."""

    model: str
    prompt: str
    max_tokens: int

    @property
    def query(self) -> str:
        """The first line of the prompt."""
        return self.prompt.strip().partition("\n")[0].strip()

    @property
    def passages(self) -> list[str]:
        """The passages to rank: those of the prompt, otherwise examples."""
        lines = [line.strip() for line in self.prompt.strip().splitlines()[1:]]
        return list(filter(None, lines)) or list(DEFAULT_PASSAGES)


class Request(t.NamedTuple):
    """A POST."""

    task: str
    path: str
    body: Json


def order_tasks(model: str, paths: t.Collection[str] = ()) -> list[str]:
    """The tasks to try. ``paths``: those of the server's OpenAPI document, empty if it has none.

    Servers such as vLLM declare more paths than the model can serve, so the name decides first.
    """
    hint = next((task for task, name in _NAMES if name.search(model.lower())), None)
    ordered = sorted(TASKS, key=lambda task: task != hint)
    served = [task for task in ordered if routes_of(task, paths, is_strict=True)]
    return served or ordered


def routes_of(task: str, paths: t.Collection[str], *, is_strict: bool = False) -> list[str]:
    """The paths of a task that a server declares; all if it declares none, unless ``is_strict``."""
    declared = [route for route in _ROUTES[task] if route in paths]
    return declared if declared or is_strict else list(_ROUTES[task])


def requests_of(task: str, route: str, question: Question) -> list[Request]:
    """The requests for a task: first as most servers know it, then without optional fields."""
    bodies = _BODIES[task](route, question)
    return [Request(task, route, {"model": question.model} | body) for body in bodies]


def _generate(question: Question, given: Json) -> list[Json]:
    plain = given | {"max_tokens": question.max_tokens}
    return [plain | {"stream": True, "stream_options": {"include_usage": True}}, plain]


def _chat(_route: str, question: Question) -> list[Json]:
    return _generate(question, {"messages": [{"role": "user", "content": question.prompt}]})


def _complete(_route: str, question: Question) -> list[Json]:
    return _generate(question, {"prompt": question.prompt})


def _embed(_route: str, question: Question) -> list[Json]:
    """NVIDIA's asymmetric models require the type of the input, which others may not know."""
    plain = {"input": [question.prompt]}
    return [plain | {"input_type": "query", "encoding_format": "float"}, plain]


def _rank(route: str, question: Question) -> list[Json]:
    """NVIDIA's form or, at the other paths, the one of Jina and Cohere, which vLLM has."""
    if route != _ROUTES[RERANK][0]:
        return [{"query": question.query, "documents": question.passages}]
    passages = [{"text": text} for text in question.passages]
    return [{"query": {"text": question.query}, "passages": passages}]


_BODIES: dict[str, t.Callable[[str, Question], list[Json]]] = {
    CHAT: _chat,
    COMPLETION: _complete,
    EMBEDDING: _embed,
    RERANK: _rank,
}
