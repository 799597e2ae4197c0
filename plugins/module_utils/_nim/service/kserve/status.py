# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The readiness and the URLs of an InferenceService."""

from __future__ import annotations

import typing as t
from ipaddress import ip_address
from urllib.parse import urlsplit

from ...._builders.rollout import Readiness
from ...._engine.conditions import find_condition

STOP_ANNOTATION = "serving.kserve.io/stop"
"""Annotation: KServe removes the pods while its value is "true", in upper or lower case.

`maxReplicas: 0` does not do so: it means no limit.
"""

Live = t.Optional[t.Mapping[str, t.Any]]  # noqa: UP045 Python evaluates this alias


def predictor_readiness(name: str, live: Live, *, is_changed: bool = False) -> tuple[bool, str]:
    """Whether the predictor is ready, and its message.

    ``is_changed``: this pass changed its spec, so the status is outdated. The generation in the
    status does not show that, because KServe copies it from the object that runs the pods.
    """
    if live is None:
        return False, f'Waiting for InferenceService "{name}" creation'
    found = find_condition((live.get("status") or {}).get("conditions"), "PredictorReady")
    if found is None or is_changed:
        return False, f'Waiting for InferenceService "{name}" reporting Predictor readiness'
    return found.get("status") == "True", str(found.get("message") or "")


def ready_pods(live: Live) -> int | None:
    """The ready pods of an InferenceService by KServe's count; None if it has not counted them.

    KServe omits a count of 0.
    """
    copies = (((live or {}).get("status") or {}).get("modelStatus") or {}).get("copies")
    return None if copies is None else copies.get("totalCopies", 0)


def is_off(live: Live) -> bool:
    """Whether KServe must stop the InferenceService."""
    annotations = ((live or {}).get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(STOP_ANNOTATION)).casefold() == "true"


def readiness_of_stopped(name: str, live: Live) -> Readiness:
    """The readiness of an InferenceService that KServe must stop."""
    conditions = ((live or {}).get("status") or {}).get("conditions")
    stopped = find_condition(conditions, "Stopped") or {}
    predictor = find_condition(conditions, "PredictorReady") or {}
    if stopped.get("status") == "True" or predictor.get("status") != "True":
        return Readiness(False, f'InferenceService "{name}" is scaled down', is_off=True)
    text = f'Waiting for KServe, from 0.16 on, to stop InferenceService "{name}"'
    return Readiness(False, text, moving=True)


def cluster_url(live: Live) -> str:
    """The URL inside the cluster, empty until the InferenceService reports one."""
    address = ((live or {}).get("status") or {}).get("address") or {}
    return _clean(address.get("url"))


def external_url(live: Live) -> str:
    """The external URL, empty until the InferenceService reports one."""
    return _clean(((live or {}).get("status") or {}).get("url"))


def is_in_namespace(url: str, namespace: str) -> bool:
    """Whether the host of a URL is a Service of the namespace, or a foreign address.

    Otherwise, users who can write a status could make the operator contact servers that only it can
    reach, for example in its own pod.
    """
    host = ""
    try:
        host = urlsplit(url).hostname or ""
        address = ip_address(host)
    except ValueError:
        return host.split(".")[1:3] == [namespace, "svc"]
    is_mapped = getattr(address, "ipv4_mapped", None) is not None
    is_own = is_mapped or str(address) in ("127.0.0.1", "::1")
    return not (is_own or address.is_link_local or address.is_unspecified)


def _clean(url: t.Any) -> str:
    return url if isinstance(url, str) and url.isprintable() else ""
