# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Files with which MPI connects the nodes of a replica: hostfiles, start script, SSH key."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ...._base.errors import NimError
from ...._base.types import Json, Manifest
from ...._engine.generated_keys import GENERATED_KEY
from ..app import NIMServiceApp
from ..workload import groups_of

_SCRIPTS = Path(__file__).parent / "scripts"
_START_SCRIPT = "start-mpi-cluster.sh"
_OWNER_READS = 0o400
_MAX_CONFIG_MAP = 1 << 20


def hostfiles_name(app: NIMServiceApp) -> str:
    """The name of the ConfigMap that `build_hostfiles` builds."""
    return f"{app.name}-mpi-config"


def script_name(app: NIMServiceApp) -> str:
    """The name of the ConfigMap that `build_start_script` builds."""
    return f"{app.name}-mpi-start-script"


def key_name(app: NIMServiceApp) -> str:
    """The name of the Secret that `build_ssh_key` builds."""
    return f"{app.name}-ssh-pk"


def build_hostfiles(app: NIMServiceApp, groups: int) -> Manifest:
    """The ConfigMap with a hostfile for each group: leader and workers with their GPUs.

    NimError if the hostfiles do not fit into a ConfigMap.
    """
    nodes = app.spec.multi_node.pipeline_size
    if groups * nodes * len(_worker_line(app, 0, 0)) > _MAX_CONFIG_MAP:
        raise NimError(
            f"spec.replicas: the hostfiles of {groups} replicas on {nodes} nodes each"
            " (spec.multiNode.parallelism.pipeline) do not fit into a ConfigMap: use fewer, or"
            " spec.multiNode.ray"
        )
    files = {f"hostfile-{group}": _hostfile(app, group) for group in range(groups)}
    return _build_config_map(app, hostfiles_name(app), files)


def build_start_script(app: NIMServiceApp) -> Manifest:
    """The ConfigMap with the script that the image runs on each node."""
    script = (_SCRIPTS / _START_SCRIPT).read_text(encoding="utf-8")
    return _build_config_map(app, script_name(app), {_START_SCRIPT: script})


def build_ssh_key(app: NIMServiceApp) -> Manifest:
    """The Secret with the key for SSH from leaders to workers, generated once at writing."""
    return app.child(
        "Secret",
        name=key_name(app),
        data={"private.key": GENERATED_KEY},
        type="Opaque",
    )


def leader_volumes(app: NIMServiceApp) -> list[Json]:
    """The additional volumes of leaders."""
    return [{"name": "mpi-config", "configMap": {"name": hostfiles_name(app)}}, *_volumes(app)]


def leader_mounts() -> list[Json]:
    """The additional mounts of the leaders' container."""
    return [{"name": "mpi-config", "mountPath": "/etc/mpi"}, *_mounts()]


def worker_volumes(app: NIMServiceApp) -> list[Json]:
    """The additional volumes of workers."""
    return [{"name": "ssh-confs", "emptyDir": {}}, *_volumes(app)]


def worker_mounts() -> list[Json]:
    """The additional mounts of the workers' container."""
    return [{"name": "ssh-confs", "mountPath": "/ssh-confs"}, *_mounts()]


def _hostfile(app: NIMServiceApp, group: int) -> str:
    nodes = app.spec.multi_node
    workers = (_worker_line(app, group, worker) for worker in range(1, nodes.pipeline_size))
    return "".join((f"localhost slots={nodes.tensor_size}\n", *workers))


def _worker_line(app: NIMServiceApp, group: int, worker: int) -> str:
    groups = groups_of(app).name
    host = f"{groups}-{group}-{worker}.{groups}.{app.namespace}.svc"
    return f"{host} slots={app.spec.multi_node.tensor_size}\n"


def _build_config_map(app: NIMServiceApp, name: str, data: t.Mapping[str, str]) -> Manifest:
    labels, annotations = app.labels, app.annotations
    return app.child(
        "ConfigMap", labels=labels, annotations=annotations, name=name, data=dict(data)
    )


def _volumes(app: NIMServiceApp) -> list[Json]:
    secret = {"secretName": key_name(app), "defaultMode": _OWNER_READS}
    return [
        {"name": "ssh-dotfiles", "emptyDir": {}},
        {"name": "ssh-pk", "secret": secret},
        {"name": "start-mpi-script", "configMap": {"name": script_name(app)}},
    ]


def _mounts() -> list[Json]:
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
