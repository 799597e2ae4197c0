# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Why Knative's last revision failed, which the message of the predictor does not always have."""

from __future__ import annotations

import re

from ...._engine.conditions import find_condition
from ..app import NIMServiceApp
from ..workload import live_workload
from .mode import is_knative, settled_mode

_ADVICE = {
    "failed to resolve image to digest": "check spec.image, or add its registry to"
    " registries-skipping-tag-resolving in ConfigMap config-deployment, in Knative's namespace"
    " knative-serving",
    "timed out progressing|Initial scale was never achieved": "for a slow start, set the annotation"
    " serving.knative.dev/progress-deadline, such as 1h",
}
"""A part of the message → what may help."""


def why_failed(app: NIMServiceApp, known: str, pods: str) -> str:
    """Why the revision failed, unless ``known``, the message so far, or the pods explain it.

    ``pods``: the problems of the pods, which are the reason of a failure without advice.
    """
    if not app.spec.is_kserve or not is_knative(settled_mode(app)):
        return pods
    conditions = ((live_workload(app) or {}).get("status") or {}).get("conditions")
    found = find_condition(conditions, "PredictorConfigurationReady") or {}
    message = str(found.get("message") or "") if found.get("status") == "False" else ""
    advice = next((it for part, it in _ADVICE.items() if re.search(part, message)), "")
    if pods and not advice:
        return pods
    reason = "" if message in known else message.rstrip(".")
    hint = f"({advice})" if advice else ""
    return "; ".join(filter(None, (" ".join(filter(None, (reason, hint))), pods)))
