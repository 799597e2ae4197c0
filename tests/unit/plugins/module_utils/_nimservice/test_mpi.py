# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nimservice import mpi

MPI = {"multiNode": {"parallelism": {"pipeline": 3, "tensor": 8}}, "annotations": {"a": "1"}}
LABELS = {"app.kubernetes.io/name", "app.kubernetes.io/managed-by"}


@pytest.mark.parametrize(
    ("groups", "wanted"),
    [
        pytest.param(0, {}, id="none"),
        pytest.param(
            2,
            {
                f"hostfile-{group}": "localhost slots=8\n"
                f"llm-lws-{group}-1.llm-lws.ns.svc slots=8\n"
                f"llm-lws-{group}-2.llm-lws.ns.svc slots=8\n"
                for group in (0, 1)
            },
            id="two",
        ),
    ],
)
def test_hostfiles(make: t.Any, groups: int, wanted: dict[str, str]) -> None:
    made = mpi.build_hostfiles(make.cr(MPI), make.observe(), groups)
    assert (made["metadata"]["name"], made["data"]) == ("llm-mpi-config", wanted)


@pytest.mark.parametrize(
    ("groups", "pipeline"),
    [(2**31, 2), (1, 2**31 - 1), (200, 200)],
    ids=["groups", "nodes", "both"],
)
def test_no_more_hostfiles_than_a_config_map_holds(make: t.Any, groups: int, pipeline: int) -> None:
    cr = make.cr({"multiNode": {"parallelism": {"pipeline": pipeline}}})
    with pytest.raises(NimError, match=r"spec\.replicas: .* do not fit into a ConfigMap"):
        mpi.build_hostfiles(cr, make.observe(), groups)


def test_slots_without_tensor_parallelism(make: t.Any) -> None:
    cr = make.cr({"multiNode": {"parallelism": {"pipeline": 2}}})
    made = mpi.build_hostfiles(cr, make.observe(), 1)
    assert made["data"]["hostfile-0"].splitlines()[0] == "localhost slots=1"


def test_start_script(make: t.Any) -> None:
    made = mpi.build_start_script(make.cr(MPI), make.observe())
    ((key, script),) = made["data"].items()
    assert (made["metadata"]["name"], key) == ("llm-mpi-start-script", "start-mpi-cluster.sh")
    assert script.startswith("#!/usr/bin/env bash\n")
    assert script.endswith("\n")
    assert not script.endswith("\n\n")


def test_ssh_key_is_not_in_what_is_planned(make: t.Any) -> None:
    made = mpi.build_ssh_key(make.cr(MPI), make.observe())
    assert (made["metadata"]["name"], made["type"]) == ("llm-ssh-pk", "Opaque")
    assert made["data"] == {"private.key": "<generated>"}


def test_all_have_our_metadata(make: t.Any) -> None:
    cr, observed = make.cr(MPI), make.observe()
    for made in (
        mpi.build_hostfiles(cr, observed, 1),
        mpi.build_start_script(cr, observed),
        mpi.build_ssh_key(cr, observed),
    ):
        metadata = made["metadata"]
        assert set(metadata["labels"]) >= LABELS
        assert metadata["annotations"] == {"a": "1", "openshift.io/required-scc": "nonroot"}
        assert [owner["uid"] for owner in metadata["ownerReferences"]] == ["u1"]


def test_volumes_and_mounts(make: t.Any) -> None:
    cr = make.cr(MPI)
    shared: list[dict[str, t.Any]] = [
        {"name": "ssh-dotfiles", "emptyDir": {}},
        {"name": "ssh-pk", "secret": {"secretName": "llm-ssh-pk", "defaultMode": 256}},
        {"name": "start-mpi-script", "configMap": {"name": "llm-mpi-start-script"}},
    ]
    mounted: list[dict[str, t.Any]] = [
        {"name": "ssh-dotfiles", "mountPath": "/opt/nim/llm/.ssh"},
        {"name": "ssh-pk", "mountPath": "/opt/nim/llm/pk"},
        {
            "name": "start-mpi-script",
            "mountPath": "/opt/nim/start-mpi-cluster.sh",
            "subPath": "start-mpi-cluster.sh",
        },
    ]
    hostfiles = {"name": "mpi-config", "configMap": {"name": "llm-mpi-config"}}
    assert mpi.leader_volumes(cr) == [hostfiles, *shared]
    assert mpi.leader_mounts() == [{"name": "mpi-config", "mountPath": "/etc/mpi"}, *mounted]
    assert mpi.worker_volumes(cr) == [{"name": "ssh-confs", "emptyDir": {}}, *shared]
    assert mpi.worker_mounts() == [{"name": "ssh-confs", "mountPath": "/ssh-confs"}, *mounted]
