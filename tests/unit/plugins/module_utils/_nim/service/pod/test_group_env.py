# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_store import Store
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.pod.env import (
    base_env,
    main_env,
    side_env,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.pod.group_env import (
    group_env,
    leader_env,
    worker_env,
)

LWS = "leaderworkerset.sigs.k8s.io"
GROUP = {"parallelism": {"pipeline": 2, "tensor": 8}}
STORE = Store({"emptyDir": {}})


def values_of(items):
    """Names in order, with their values or source fields."""
    found = {}
    for item in items:
        fields = (item.get("valueFrom") or {}).get("fieldRef") or {}
        found[item["name"]] = item.get("value") or fields.get("fieldPath", "")
    return found


def test_group_env(make):
    assert list(values_of(group_env(make.app({"multiNode": GROUP}))).items()) == [
        ("NIM_MPI_ALLOW_RUN_AS_ROOT", "0"),
        ("NIM_NUM_COMPUTE_NODES", "2"),
        ("NIM_MULTI_NODE", "1"),
        ("NIM_TENSOR_PARALLEL_SIZE", "8"),
        ("NIM_PIPELINE_PARALLEL_SIZE", "2"),
        ("NIM_NODE_RANK", f"metadata.labels['{LWS}/worker-index']"),
    ]


@pytest.mark.parametrize(
    ("given", "gpus", "seconds"),
    [
        pytest.param({}, "8", "300", id="by default"),
        pytest.param({"mpi": {"mpiStartTimeout": 6000}}, "8", "6000", id="timeout"),
        pytest.param({"parallelism": {"pipeline": 2}}, "1", "300", id="tensor unset"),
        pytest.param({"ray": {"rayPort": 1}}, "8", "300", id="Ray has them too"),
    ],
)
def test_leader_env(make, given, gpus, seconds):
    assert list(values_of(leader_env(make.app({"multiNode": GROUP | given}))).items()) == [
        ("NIM_LEADER_ROLE", "1"),
        ("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
        ("OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=20"),
        ("GPUS_PER_NODE", gpus),
        ("CLUSTER_START_TIMEOUT", seconds),
        ("CLUSTER_SIZE", f"metadata.annotations['{LWS}/size']"),
        ("GROUP_INDEX", f"metadata.labels['{LWS}/group-index']"),
    ]


def test_worker_env():
    assert list(values_of(worker_env()).items()) == [
        ("NIM_LEADER_ROLE", "0"),
        ("LEADER_NAME", f"metadata.annotations['{LWS}/leader-name']"),
        ("NAMESPACE", "metadata.namespace"),
        ("LWS_NAME", f"metadata.labels['{LWS}/name']"),
    ]


def test_main_env_order_in_group(make):
    env = [{"name": "NIM_MULTI_NODE", "value": "mine"}, {"name": "NIM_LEADER_ROLE", "value": "x"}]
    spec = {"multiNode": GROUP, "env": env, "proxy": {"httpProxy": "p"}}
    names = list(values_of(main_env(make.app(spec), STORE, native=False, role=worker_env())))
    proxied, users, ours, common, role = (
        names.index(name)
        for name in (
            "HTTP_PROXY",
            "NIM_MULTI_NODE",
            "NIM_CACHE_PATH",
            "NIM_NODE_RANK",
            "LEADER_NAME",
        )
    )
    assert proxied < users < ours < common < role
    found = values_of(main_env(make.app(spec), STORE, native=False, role=worker_env()))
    assert (found["NIM_MULTI_NODE"], found["NIM_LEADER_ROLE"]) == ("mine", "x")


def test_side_env_in_group(make):
    cr = make.cr({"multiNode": GROUP})
    assert side_env(make.app(cr)) == base_env(make.app(cr))
    assert "NIM_NODE_RANK" in values_of(base_env(make.app(cr)))
    assert "NIM_LEADER_ROLE" not in values_of(base_env(make.app(cr)))


@pytest.mark.parametrize("given", [None, {"parallelism": {"pipeline": 1}}], ids=["unset", "one"])
def test_base_env_one_node(make, given):
    assert base_env(make.app({"multiNode": given})) == base_env(make.app())


IN_GROUP = {
    "Hugging Face": (
        {"hf": {"namespace": "n", "modelName": "m"}}, {}, False,
        {
            "NIM_MODEL_NAME": "/model-store",
            "HF_HOME": "/model-store/huggingface/hub",
            "NIM_MODEL_PATH": "hf://n/m",
        },
    ),
    "native": (
        {"ngc": {"modelPuller": "x"}}, {"type": "native"}, True,
        {"NIM_ENGINE_MODEL_PATH": "/model/cache"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("source", "status", "native", "wanted"),
    IN_GROUP.values(),
    ids=IN_GROUP,
)
def test_main_env_model_in_group(make, source, status, native, wanted):
    """The reference omits these variables (O-24)."""
    cache = make.cache(source, {"state": "Ready", "pvc": "x"} | status)
    store = Store({}, cache=cache, profile="p")
    items = main_env(make.app({"multiNode": GROUP}), store, native=native, role=worker_env())
    assert wanted.items() <= values_of(items).items()
    assert values_of(items)["NIM_MODEL_PROFILE"] == "p"
    assert "HF_TOKEN" in [item["name"] for item in items]
