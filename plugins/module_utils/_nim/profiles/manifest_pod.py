# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Pods that print a model manifest to their log: their command and their progress."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._builders.pod import has_ended, phase_of
from ..._builders.pod_problems import why_not_ready
from ..._engine.ownership import ownership_of, refuse_foreign
from ..._engine.reads import Read, ReadLog
from .model_manifest import BEGIN_MARK, END_MARK, LogReading, read_log

LOG = "log"

Resource = t.Mapping[str, t.Any]

_SHOW = f"""\
show() {{ echo '{BEGIN_MARK}'; cat "$1"; echo; echo '{END_MARK}'; }}
"""
_STAY = """\
trap 'exit 0' TERM INT
while :; do sleep 3600 & wait $!; done
"""


@dataclass(frozen=True)
class PodReading:
    """The progress of such a pod.

    ``is_wanted``: the pod must exist. ``waiting``: what it waits for, empty once ``log`` is
    complete.
    """

    is_wanted: bool
    waiting: str = ""
    log: LogReading = field(default_factory=lambda: LogReading(complete=False))


def print_command(find: str) -> list[str]:
    """The command of the container.

    ``find``: lines of shell code that call ``show FILE`` for a manifest or print `NOT_FOUND`. The
    pod runs until it is deleted, and exits at once on a termination signal.
    """
    return ["sh", "-c", _SHOW + find + _STAY]


def read_log_of(cr: Resource, pod: t.Mapping[str, t.Any] | None, container: str) -> list[Read]:
    """The read of the pod's log, once it is available."""
    if pod is None or ownership_of(dict(pod), cr) != "ours" or phase_of(pod) != "Running":
        return []
    name, namespace = pod["metadata"]["name"], cr["metadata"]["namespace"]
    return [ReadLog(LOG, namespace, name, container)]


def follow_pod(
    cr: Resource, pod: dict[str, t.Any] | None, name: str, log: str | None
) -> PodReading:
    """Follow the pod ``name``; NimError if it is not ours, or if its log is unreadable."""
    if refuse_foreign(pod, cr, f"Pod {name}") == "leaving":
        return PodReading(False, f"Pod {name} to be deleted")
    if has_ended(pod):
        return PodReading(False, f"Pod {name} to be recreated: it ended")
    if phase_of(pod) != "Running":
        return PodReading(True, f"Pod {name} to run{why_not_ready(pod)}")
    reading = read_log(log or "")
    if not reading.complete:
        return PodReading(True, f"Pod {name} to print the model manifest")
    return PodReading(False, log=reading)
