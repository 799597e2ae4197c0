# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Environment variables of pods in a group. Their order is part of the contract."""

from __future__ import annotations

from ...._builders.env import EnvVar, env, field_env
from ..app import NIMServiceApp

_GROUPS = "leaderworkerset.sigs.k8s.io"


def group_env(app: NIMServiceApp) -> list[EnvVar]:
    """The variables of all containers of a group, with MPI as well as Ray."""
    return [
        *env(
            NIM_MPI_ALLOW_RUN_AS_ROOT="0",
            NIM_NUM_COMPUTE_NODES=str(app.spec.multi_node.pipeline_size),
            NIM_MULTI_NODE="1",
            NIM_TENSOR_PARALLEL_SIZE=str(app.spec.multi_node.tensor_size),
            NIM_PIPELINE_PARALLEL_SIZE=str(app.spec.multi_node.pipeline_size),
        ),
        field_env("NIM_NODE_RANK", f"metadata.labels['{_GROUPS}/worker-index']"),
    ]


def leader_env(app: NIMServiceApp) -> list[EnvVar]:
    """The variables of the model container of a leader."""
    return [
        *env(
            NIM_LEADER_ROLE="1",
            OMPI_MCA_orte_keep_fqdn_hostnames="true",
            OMPI_MCA_plm_rsh_args="-o ConnectionAttempts=20",
            GPUS_PER_NODE=str(app.spec.multi_node.tensor_size),
            CLUSTER_START_TIMEOUT=str(app.spec.multi_node.mpi_seconds),
        ),
        field_env("CLUSTER_SIZE", f"metadata.annotations['{_GROUPS}/size']"),
        field_env("GROUP_INDEX", f"metadata.labels['{_GROUPS}/group-index']"),
    ]


def worker_env() -> list[EnvVar]:
    """The variables of the model container of a worker."""
    return [
        *env(NIM_LEADER_ROLE="0"),
        field_env("LEADER_NAME", f"metadata.annotations['{_GROUPS}/leader-name']"),
        field_env("NAMESPACE", "metadata.namespace"),
        field_env("LWS_NAME", f"metadata.labels['{_GROUPS}/name']"),
    ]
