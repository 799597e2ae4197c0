# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""How the nodes of a replica find each other by MPI: hostfiles, start script, SSH key."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.keys import GENERATED_KEY
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    name_of,
    namespace_of,
    pipeline_size,
    tensor_size,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.metadata import (
    build,
    nim_annotations,
    service_labels,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.workload import groups_of

Items = list[dict[str, t.Any]]

_SCRIPTS = Path(__file__).parent / "scripts"
_START_SCRIPT = "start-mpi-cluster.sh"
_OWNER_READS = 0o400
_MAX_CONFIG_MAP = 1 << 20


def hostfiles_name(cr: Resource) -> str:
    """The ConfigMap of `build_hostfiles`."""
    return f"{name_of(cr)}-mpi-config"


def script_name(cr: Resource) -> str:
    """The ConfigMap of `build_start_script`."""
    return f"{name_of(cr)}-mpi-start-script"


def key_name(cr: Resource) -> str:
    """The Secret of `build_ssh_key`."""
    return f"{name_of(cr)}-ssh-pk"


def build_hostfiles(cr: Resource, observed: Observed, groups: int) -> Manifest:
    """A hostfile for each group: its leader, then its workers, with their GPUs.

    NimError if they are too many for a ConfigMap.
    """
    if groups * pipeline_size(cr) * len(_worker_line(cr, 0, 0)) > _MAX_CONFIG_MAP:
        raise NimError(
            f"spec.replicas: the hostfiles of {groups} replicas on {pipeline_size(cr)} nodes each"
            " (spec.multiNode.parallelism.pipeline) do not fit into a ConfigMap: use fewer, or"
            " spec.multiNode.ray"
        )
    files = {f"hostfile-{group}": _hostfile(cr, group) for group in range(groups)}
    return _build_config_map(cr, observed, hostfiles_name(cr), files)


def build_start_script(cr: Resource, observed: Observed) -> Manifest:
    """What the image starts on each node."""
    script = (_SCRIPTS / _START_SCRIPT).read_text(encoding="utf-8")
    return _build_config_map(cr, observed, script_name(cr), {_START_SCRIPT: script})


def build_ssh_key(cr: Resource, observed: Observed) -> Manifest:
    """The key by which leaders reach their workers; made once, when it is written."""
    return build(
        cr,
        "Secret",
        service_labels(cr, observed),
        nim_annotations(cr),
        name=key_name(cr),
        data={"private.key": GENERATED_KEY},
        type="Opaque",
    )


def leader_volumes(cr: Resource) -> Items:
    """What leaders have beside a pod's usual volumes."""
    return [{"name": "mpi-config", "configMap": {"name": hostfiles_name(cr)}}, *_volumes(cr)]


def leader_mounts() -> Items:
    """Where the leaders' container has them."""
    return [{"name": "mpi-config", "mountPath": "/etc/mpi"}, *_mounts()]


def worker_volumes(cr: Resource) -> Items:
    """What workers have beside a pod's usual volumes."""
    return [{"name": "ssh-confs", "emptyDir": {}}, *_volumes(cr)]


def worker_mounts() -> Items:
    """Where the workers' container has them."""
    return [{"name": "ssh-confs", "mountPath": "/ssh-confs"}, *_mounts()]


def _hostfile(cr: Resource, group: int) -> str:
    workers = (_worker_line(cr, group, worker) for worker in range(1, pipeline_size(cr)))
    return "".join((f"localhost slots={tensor_size(cr)}\n", *workers))


def _worker_line(cr: Resource, group: int, worker: int) -> str:
    groups = groups_of(cr).name
    host = f"{groups}-{group}-{worker}.{groups}.{namespace_of(cr)}.svc"
    return f"{host} slots={tensor_size(cr)}\n"


def _build_config_map(
    cr: Resource, observed: Observed, name: str, data: t.Mapping[str, str]
) -> Manifest:
    labels, annotations = service_labels(cr, observed), nim_annotations(cr)
    return build(cr, "ConfigMap", labels, annotations, name=name, data=dict(data))


def _volumes(cr: Resource) -> Items:
    secret = {"secretName": key_name(cr), "defaultMode": _OWNER_READS}
    return [
        {"name": "ssh-dotfiles", "emptyDir": {}},
        {"name": "ssh-pk", "secret": secret},
        {"name": "start-mpi-script", "configMap": {"name": script_name(cr)}},
    ]


def _mounts() -> Items:
    home = "/opt/nim/llm"
    return [
        {"name": "ssh-dotfiles", "mountPath": f"{home}/.ssh"},
        {"name": "ssh-pk", "mountPath": f"{home}/pk"},
        {
            "name": "start-mpi-script",
            "mountPath": f"/opt/nim/{_START_SCRIPT}",
            "subPath": _START_SCRIPT,
        },
    ]
