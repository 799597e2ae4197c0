# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Pods that print a model manifest to their log: their command and their progress."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..._base.types import Fields, Manifest
from ..._builders.pod import has_ended, phase_of
from ..._builders.pod_problems import why_not_ready
from ..._engine.created_once import is_outdated
from ..._engine.ownership import ownership_of, refuse_foreign
from ..._engine.reads import Read, ReadLog
from .model_manifest import BEGIN_MARK, END_MARK, LogReading, read_log

LOG = "log"


_SHOW = f"""\
show() {{ echo '{BEGIN_MARK}'; cat "$1"; echo; echo '{END_MARK}'; }}
"""
_STAY = """\
trap 'exit 0' TERM INT
while :; do sleep 3600 & wait $!; done
"""


@dataclass(frozen=True)
class PodReading:
    """The progress of a manifest pod.

    ``is_wanted``: the pod must exist. ``waiting``: the awaited event, empty once ``log`` is
    complete.
    """

    is_wanted: bool
    waiting: str = ""
    log: LogReading = field(default_factory=lambda: LogReading(complete=False))


def print_command(find: str) -> list[str]:
    """The command of the container, which runs until it receives a termination signal.

    ``find``: shell code that calls ``show FILE`` for a manifest or prints `NOT_FOUND`.
    """
    return ["sh", "-c", _SHOW + find + _STAY]


def read_log_of(resource: Fields, pod: Fields | None, container: str) -> list[Read]:
    """The read of the pod's log once the pod runs."""
    if pod is None or ownership_of(dict(pod), resource) != "ours" or phase_of(pod) != "Running":
        return []
    name, namespace = pod["metadata"]["name"], resource["metadata"]["namespace"]
    return [ReadLog(LOG, namespace, name, container)]


def follow_pod(resource: Fields, pod: Manifest | None, name: str, log: str | None) -> PodReading:
    """The progress of the pod ``name``; NimError if it is not ours or its log is unreadable."""
    if refuse_foreign(pod, resource, f"Pod {name}") == "leaving":
        return PodReading(False, f"Pod {name} to be deleted")
    if pod is not None and is_outdated(pod, resource):
        return PodReading(False, f"Pod {name} to be recreated: the spec has changed")
    if has_ended(pod):
        return PodReading(False, f"Pod {name} to be recreated: it ended")
    if phase_of(pod) != "Running":
        return PodReading(True, f"Pod {name} to run{why_not_ready(pod)}")
    reading = read_log(log or "")
    if not reading.complete:
        return PodReading(True, f"Pod {name} to print the model manifest")
    return PodReading(False, log=reading)
