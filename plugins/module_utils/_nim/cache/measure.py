# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Where the progress of a download is read: the puller's log, or that of a container beside it."""

from __future__ import annotations

from ..._base.types import Json, Manifest
from ..._builders.app import invalid_annotation
from ..._builders.pod import container_security
from ..._builders.unready_pods import pods_of
from ..._engine.reads import Read, ReadLogTail
from .app import NIMCacheApp
from .constants import CONTAINER
from .puller_output import USED, Progress, read_progress
from .source import source_of

PROGRESS = "nimops.nim/progress"
"""Annotation of a NIMCache: the source of the progress, a value of `_SOURCES`."""

LOG = "download-log"
_OUTPUT, _VOLUME, _OFF = _SOURCES = ("output", "volume", "off")
_METER, _STORE = "nim-cache-progress", "/model-store"
_MAX_LABEL = 63
_SCRIPT = f"""\
trap 'exit 0' TERM INT
while :; do
  set -- $(du -sk {_STORE} 2>/dev/null)
  [ -z "$1" ] || echo "{USED} $1"
  sleep 15 & wait $!
done
"""


def log_reads(app: NIMCacheApp, job: Manifest) -> list[Read]:
    """The reads of the progress while a pod of the Job runs."""
    status = job.get("status") or {}
    if not (status.get("active") and status.get("ready")) or len(app.job_name) > _MAX_LABEL:
        return []
    if (source := _given(app)) not in (_OUTPUT, _VOLUME):
        return []
    pods = pods_of(app, "job-name", app.job_name)
    running = [
        str(pod["metadata"]["name"])
        for pod in app.observed.get(pods.key) or []
        if (pod.get("status") or {}).get("phase") == "Running"
    ]
    container = _METER if source == _VOLUME else CONTAINER
    return [pods, *(ReadLogTail(LOG, app.namespace, name, container) for name in running[:1])]


def measure(app: NIMCacheApp, need: int | None) -> Progress | None:
    """The progress that the log shows; None if it shows none."""
    text = app.observed.get(LOG)
    return read_progress(text, need) if isinstance(text, str) else None


def meter(app: NIMCacheApp, mounts: list[Json]) -> list[Json]:
    """The container that reports the use of the volume, if the user wants it.

    It is an init container that runs beside the others and ends with them. NimError if the
    annotation is invalid.
    """
    source = _given(app)
    if source not in _SOURCES:
        raise invalid_annotation(PROGRESS, source, f"is none of {', '.join(_SOURCES)}")
    if source != _VOLUME:
        return []
    store = {**mounts[0], "mountPath": _STORE, "readOnly": True}
    return [
        {
            "name": _METER,
            "image": source_of(app).puller,
            "restartPolicy": "Always",
            "command": ["sh", "-c", _SCRIPT],
            "securityContext": container_security(app.spec.user, app.spec.group),
            "volumeMounts": [store],
        }
    ]


def _given(app: NIMCacheApp) -> str:
    return (app.annotation(PROGRESS) or _OUTPUT).strip().lower()
