# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What the pods of a group are told of each other. The order is part of the contract."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.env import (
    EnvVar,
    env,
    field_env,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    mpi_seconds,
    pipeline_size,
    tensor_size,
)

_GROUPS = "leaderworkerset.sigs.k8s.io"


def group_env(cr: Resource) -> list[EnvVar]:
    """The variables of every container of a group, whichever way its nodes are connected."""
    return [
        *env(
            NIM_MPI_ALLOW_RUN_AS_ROOT="0",
            NIM_NUM_COMPUTE_NODES=str(pipeline_size(cr)),
            NIM_MULTI_NODE="1",
            NIM_TENSOR_PARALLEL_SIZE=str(tensor_size(cr)),
            NIM_PIPELINE_PARALLEL_SIZE=str(pipeline_size(cr)),
        ),
        field_env("NIM_NODE_RANK", f"metadata.labels['{_GROUPS}/worker-index']"),
    ]


def leader_env(cr: Resource) -> list[EnvVar]:
    """The variables of the model container of a leader."""
    return [
        *env(
            NIM_LEADER_ROLE="1",
            OMPI_MCA_orte_keep_fqdn_hostnames="true",
            OMPI_MCA_plm_rsh_args="-o ConnectionAttempts=20",
            GPUS_PER_NODE=str(tensor_size(cr)),
            CLUSTER_START_TIMEOUT=str(mpi_seconds(cr)),
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
