# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The pods of a custom resource, and the container whose log matters."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._base.printable import name_some, printable
from ..._base.types import Fields, Json
from ..._builders.pod_problems import why_not_ready
from ..._engine.metadata import is_controlled_by, is_deleted
from ..._nim.service.workload import KSERVE_LABEL
from ..gather.support_views import Container, list_containers

_GROUP, _WORKER = "leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/worker-index"
_LABELS: dict[str, tuple[tuple[str, str], ...]] = {
    "NIMCache": (("job-name", "{}-job"),),
    "NIMService": (
        ("app", "{}"),
        (_GROUP, "{}-lws"),
        (KSERVE_LABEL, "{}"),
    ),
}
_OTHER_LABELS = (("app", "{}"),)
"""Labels of the pods of a kind, with the name of the resource; others it controls itself."""
_MODEL_CONTAINERS = ("nim-leader", "nim-worker", "kserve-container")
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
_MAX_NAMED = 10


def find_pods(owners: t.Iterable[Fields], pods: t.Iterable[Json]) -> list[Json]:
    """The pods of these resources: leaders of groups first, then the newest, then leaving ones."""
    owners = list(owners)
    found = [pod for pod in pods if any(_is_of(owner, pod) for owner in owners)]
    found.sort(key=lambda pod: str(pod["metadata"]["name"]))
    found.sort(key=lambda pod: str(pod["metadata"].get("creationTimestamp") or ""), reverse=True)
    return sorted(found, key=lambda pod: (is_deleted(pod), _is_worker(pod)))


def choose_container(pod: Json, owners: t.Iterable[Fields], wanted: str = "") -> Container:
    """The wanted container, an init container that the pod waits for, or the main container."""
    known = {item.name: item for item in list_containers(pod)}
    if wanted:
        if wanted not in known:
            raise NimError(
                f"container: Pod {pod['metadata']['name']} has no container"
                f" {printable(wanted, 100)}, but {name_some(list(known), _MAX_NAMED)}"
            )
        return known[wanted]
    return known[_pending_init(pod) or _main(pod, owners)]


def why_no_log(pod: Json, container: Container, *, is_previous: bool) -> str:
    """Why a container has no log; empty if it should have one."""
    where = f"container {container.name} of Pod {container.pod}"
    if is_previous:
        return "" if container.has_previous else f"{where} has not restarted: omit --previous"
    if not container.waits_for:
        return ""
    why = why_not_ready(pod) or f": {printable(container.waits_for, 300)}"
    return f"{where} has not started{why}"


def _is_of(owner: Fields, pod: Json) -> bool:
    labels = pod["metadata"].get("labels") or {}
    name = owner["metadata"]["name"]
    known = _LABELS.get(owner["kind"], _OTHER_LABELS)
    return is_controlled_by(pod, owner) or any(
        labels.get(label) == value.format(name) for label, value in known
    )


def _is_worker(pod: Json) -> bool:
    labels = pod["metadata"].get("labels") or {}
    return str(labels.get(_WORKER, "0")) != "0"


def _pending_init(pod: Json) -> str:
    """The first init container that has not succeeded; empty if the main containers may run."""
    states = {
        item["name"]: item.get("state") or {}
        for item in (pod.get("status") or {}).get("initContainerStatuses") or []
    }
    for container in pod["spec"].get("initContainers") or []:
        state = states.get(container["name"])
        if state is None or container.get("restartPolicy") == "Always":
            continue
        if (state.get("terminated") or {}).get("exitCode") != 0:
            return str(container["name"])
    return ""


def _main(pod: Json, owners: t.Iterable[Fields]) -> str:
    names = [str(item["name"]) for item in pod["spec"]["containers"]]
    chosen = (pod["metadata"].get("annotations") or {}).get(_DEFAULT_CONTAINER)
    ours = {f"{owner['metadata']['name']}-ctr" for owner in owners} | {*_MODEL_CONTAINERS}
    likely = (name for name in names if name == chosen or (chosen not in names and name in ours))
    return next(likely, names[0])
