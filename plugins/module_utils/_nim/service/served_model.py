# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The name of the served model, as the model server reports it."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass

from ..._base.printable import printable
from ..._engine.observed import Observed
from ..._engine.reads import Read, ReadHttp
from .app import NIMServiceApp

MAX_NAME, MAX_ADAPTERS = 253, 100
_MAX_MODELS = 1000
_ADAPTER_SOURCE = "NIM_PEFT_SOURCE"
"""The variable by which NIMs for LLMs find LoRA adapters."""


@dataclass(frozen=True)
class Answer:
    """The model server's answer: an ``error``, or the ``name`` of the model, possibly empty.

    ``late``: the answer was slow, or did not arrive in time.
    """

    name: str = ""
    error: str = ""
    late: bool = False


def needs_model(app: NIMServiceApp, endpoint: str) -> bool:
    """Whether to query the model server.

    This is unnecessary while the service is Ready with the same generation and address and a known
    model: a change of the workload interrupts readiness. But servers of LoRA adapters load new ones
    at any time.
    """
    if any(item.get("name") == _ADAPTER_SOURCE for item in app.spec.env):
        return True
    status = app.status
    model = status.get("model") or {}
    return not (
        status.get("state") == "Ready"
        and status.get("observedGeneration") == app.resource["metadata"].get("generation")
        and model.get("name")
        and model.get("clusterEndpoint") == endpoint
    )


def model_reads(endpoint: str, namespace: str, observed: Observed, service: str = "") -> list[Read]:
    """The requests to the model server; the second only after a 404 for the first.

    ``endpoint`` is an address or a URL; ``service`` is the Service behind it, if any.
    """
    urls = [_models_url(endpoint)]
    if _status(observed.get(urls[0])) == 404:
        urls.append(_metadata_url(endpoint))
    return [ReadHttp(url, namespace, service) for url in urls]


def read_answer(endpoint: str, observed: Observed) -> Answer | None:
    """The model server's answer; None if it was not contacted."""
    url = _models_url(endpoint)
    answer = observed.get(url)
    if answer is None:
        return None
    if _status(answer) != 404:
        return _interpret(url, answer, _listed_name)
    url = _metadata_url(endpoint)
    answer = observed.get(url)
    if answer is None:
        return None
    return Answer() if _status(answer) == 404 else _interpret(url, answer, _short_name)


def read_adapters(endpoint: str, observed: Observed, model: str) -> list[str] | None:
    """The LoRA adapters beside a model, sorted; None if the model server was not contacted."""
    answer = observed.get(_models_url(endpoint))
    if answer is None:
        return None
    models = _dicts((_body_of(answer) or {}).get("data")) if model else []
    found = {_clean(item.get("id")) for item in models[:_MAX_MODELS] if _is_adapter(item, model)}
    return sorted(found - {"", model})[:MAX_ADAPTERS]


def _is_adapter(item: t.Mapping[str, t.Any], model: str) -> bool:
    """Whether a listed model builds on the served one; other names of that have neither field."""
    return bool(item.get("parent")) or item.get("root") == model


def _models_url(endpoint: str) -> str:
    return f"{_base_url(endpoint)}/v1/models"


def _metadata_url(endpoint: str) -> str:
    return f"{_base_url(endpoint)}/v1/metadata"


def _base_url(endpoint: str) -> str:
    return endpoint.rstrip("/") if "://" in endpoint else f"http://{endpoint}"


def _status(answer: t.Any) -> int:
    return int((answer or {}).get("status") or 0)


def _interpret(
    url: str, answer: t.Mapping[str, t.Any], find: t.Callable[[t.Mapping[str, t.Any]], t.Any]
) -> Answer:
    if _status(answer) != 200:
        problem = answer.get("error") or f"HTTP status {_status(answer)}"
        return Answer(error=f"GET {url}: {problem}", late=bool(answer.get("late")))
    body = _body_of(answer)
    if body is None:
        return Answer(
            error=f"GET {url}: the answer is not a JSON object", late=bool(answer.get("late"))
        )
    return Answer(name=_clean(find(body)))


def _body_of(answer: t.Mapping[str, t.Any]) -> dict[str, t.Any] | None:
    """The JSON object in an answer; None if it is none."""
    try:
        body = json.loads(answer.get("body") or "")
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _listed_name(body: t.Mapping[str, t.Any]) -> t.Any:
    """The only model in a list, or the model that is its own root among LoRA adapters."""
    models = _dicts(body.get("data")) if body.get("object") == "list" else []
    if len(models) == 1:
        return models[0].get("id")
    for model in models:
        if model.get("object") == "model" and model.get("root") == model.get("id"):
            return model.get("id")
    return ""


def _short_name(body: t.Mapping[str, t.Any]) -> t.Any:
    """The first model's short name, without its version."""
    name = next(iter(_dicts(body.get("modelInfo"))), {}).get("shortName")
    return name.partition(":")[0] if isinstance(name, str) else ""


def _dicts(value: t.Any) -> list[dict[str, t.Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _clean(name: t.Any) -> str:
    """The name in a form that is safe to show; the server is untrusted."""
    return printable(name, MAX_NAME) if isinstance(name, str) else ""
