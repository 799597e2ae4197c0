# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Selection of profiles: a table of cases per rule, for both versions of manifests.

A row is (wanted, tags, GPUs found, rule that drops the profile or "" if it is kept).
"""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.model_manifest import Profile
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.profile_selection import (
    MAX_DROPPED,
    MAX_SUMMARY_BYTES,
    Dropped,
    Selection,
    discover_gpus,
    select_profiles,
    summarize,
)

H100, A100 = "NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-40GB"
TRT = {"llm_engine": "tensorrt_llm"}
WANT_TRT = {"engine": "tensorrt_llm"}


def gpus(*entries):
    return {"gpus": [{"product": product, "ids": ids} for product, ids in entries]}


BOTH = {
    "nothing wanted, nothing tagged": ({}, {}, [], ""),
    "precision equal": ({"precision": "fp8"}, {"precision": "fp8"}, [], ""),
    "precision other": ({"precision": "fp8"}, {"precision": "bf16"}, [], "precision"),
    "precision absent": ({"precision": "fp8"}, {}, [], "precision"),
    "precision empty is not wanted": ({"precision": ""}, {"precision": "bf16"}, [], ""),
    "tp equal": ({"tensorParallelism": "2"}, {"tp": "2"}, [], ""),
    "tp other": ({"tensorParallelism": "2"}, {"tp": "1"}, [], "tensorParallelism"),
    "tp reads only tp": (
        {"tensorParallelism": "2"}, {"tensorParallelism": "2"}, [], "tensorParallelism",
    ),
    "qos equal": ({"qosProfile": "latency"}, {"profile": "latency"}, [], ""),
    "qos other": ({"qosProfile": "latency"}, {"profile": "throughput"}, [], "qosProfile"),
    "lora true": ({"lora": True}, {"feat_lora": "true"}, [], ""),
    "lora true, absent": ({"lora": True}, {}, [], "lora"),
    "lora true, false": ({"lora": True}, {"feat_lora": "false"}, [], "lora"),
    "lora false": ({"lora": False}, {"feat_lora": "false"}, [], ""),
    "lora false, absent": ({"lora": False}, {}, [], "lora"),
    "engine equal": (WANT_TRT, TRT, [], ""),
    "engine part": ({"engine": "tensorrt"}, TRT, [], ""),
    "engine without _llm": (WANT_TRT, {"llm_engine": "tensorrt"}, [], ""),
    "engine other": ({"engine": "vllm"}, TRT, [], "engine"),
    "engine absent": ({"engine": "vllm"}, {}, [], "engine"),
    "engine from backend": ({"engine": "vllm"}, {"backend": "vllm"}, [], ""),
    "llm_engine before backend": (
        {"engine": "vllm"}, {"llm_engine": "sglang", "backend": "vllm"}, [], "engine",
    ),
    "GPU found": (WANT_TRT, TRT | {"gpu": "h100"}, [A100, H100], ""),
    "GPU not found": (WANT_TRT, TRT | {"gpu": "L40S"}, [A100, H100], "gpus"),
    "GPU regex": (WANT_TRT, TRT | {"gpu": "x", "product_name_regex": "H100.*HBM3"}, [H100], ""),
    "GPU regex keeps case": (
        WANT_TRT, TRT | {"gpu": "x", "product_name_regex": "h100"}, [H100], "gpus",
    ),
    "GPU regex inline flag": (
        WANT_TRT, TRT | {"gpu": "x", "product_name_regex": "(?i)h100"}, [H100], "",
    ),
    "GPU bad regex": (WANT_TRT, TRT | {"gpu": "x", "product_name_regex": "H100("}, [H100], "gpus"),
    "no GPU found": (WANT_TRT, TRT | {"gpu": "L40S"}, [], ""),
    "gpus product": (gpus(("h100", [])), TRT | {"gpu": "H100"}, [], ""),
    "gpus product in key": (gpus(("h100", [])), TRT | {"key": "H100_NVL"}, [], ""),
    "gpus product other": (gpus(("l40s", [])), TRT | {"gpu": "H100"}, [], "gpus"),
    "gpus tag absent": (gpus(("l40s", [])), TRT, [], "gpus"),
    "gpus one of two": (gpus(("l40s", []), ("h100", [])), TRT | {"gpu": "H100"}, [], ""),
    "gpus the first of two": (gpus(("h100", []), ("l40s", [])), TRT | {"gpu": "H100"}, [], ""),
    "gpus hide those found": (gpus(("l40s", [])), TRT | {"gpu": "H100"}, [H100], "gpus"),
    "gpus id": (gpus(("h100", ["2330"])), TRT | {"gpu": "H100", "gpu_device": "2330:10de"}, [], ""),
    "gpus id without suffix": (
        gpus(("h100", ["2330"])), TRT | {"gpu": "H100", "gpu_device": "2330"}, [], "",
    ),
    "gpus id other": (
        gpus(("h100", ["26b9"])), TRT | {"gpu": "H100", "gpu_device": "2330:10de"}, [], "gpus",
    ),
    "gpus id, no device": (gpus(("h100", ["2330"])), TRT | {"gpu": "H100"}, [], "gpus"),
}  # fmt: skip

V1 = BOTH | {
    "precision case": ({"precision": "FP8"}, {"precision": "fp8"}, [], "precision"),
    "qos case": ({"qosProfile": "Latency"}, {"profile": "latency"}, [], "qosProfile"),
    "lora unset, true": ({}, {"feat_lora": "true"}, [], "lora"),
    "lora unset, false": ({}, {"feat_lora": "false"}, [], ""),
    "lora case": ({"lora": True}, {"feat_lora": "True"}, [], "lora"),
    "buildable is ignored": ({"buildable": True}, {}, [], ""),
    "engine case": ({"engine": "vLLM"}, {"llm_engine": "vllm"}, [], "engine"),
    "model_type is not a backend": ({"engine": "vllm"}, {"model_type": "vllm"}, [], "engine"),
    "triton is not tensorrt": (WANT_TRT, {"llm_engine": "triton"}, [], "engine"),
    "other engine, GPUs do not count": (
        {"engine": "vllm"}, {"llm_engine": "vllm", "gpu": "L40S"}, [H100], "",
    ),
    "no engine, GPUs do not count": ({}, TRT | {"gpu": "L40S"}, [H100], ""),
    "gpus need tensorrt": (gpus(("h100", [])), {"llm_engine": "vllm", "gpu": "H100"}, [], "gpus"),
    "gpus need tensorrt, any case": (
        gpus(("h100", [])), {"llm_engine": "TensorRT", "gpu": "H100"}, [], "",
    ),
    "absent tag fits every GPU (O-35)": (WANT_TRT, TRT, [H100], ""),
    "key does not count for GPUs found": (WANT_TRT, TRT | {"gpu": "x", "key": "H100"}, [H100], "gpus"),
    "ids without product are ignored": (
        gpus(("", ["26b9"]), ("h100", [])), TRT | {"gpu": "H100", "gpu_device": "2330:10de"}, [], "",
    ),
    "only ids fit nothing": (gpus(("", ["2330"])), TRT | {"gpu_device": "2330:10de"}, [H100], "gpus"),
    "found sticks: ids of a later entry bind": (
        gpus(("h100", []), ("l40s", ["26b9"])),
        TRT | {"gpu": "H100", "gpu_device": "2330:10de"}, [], "gpus",
    ),
    "ids of an earlier, other entry do not": (
        gpus(("l40s", ["26b9"]), ("h100", [])),
        TRT | {"gpu": "H100", "gpu_device": "2330:10de"}, [], "",
    ),
}  # fmt: skip

V2 = BOTH | {
    "precision case": ({"precision": "FP8"}, {"precision": "fp8"}, [], ""),
    "qos case": ({"qosProfile": "Latency"}, {"profile": "latency"}, [], ""),
    "lora unset, true": ({}, {"feat_lora": "true"}, [], ""),
    "lora case": ({"lora": True}, {"feat_lora": "True"}, [], ""),
    "buildable true": ({"buildable": True}, {"trtllm_buildable": "True"}, [], ""),
    "buildable true, absent": ({"buildable": True}, {}, [], "buildable"),
    "buildable false": ({"buildable": False}, {"trtllm_buildable": "false"}, [], ""),
    "buildable false, true": ({"buildable": False}, {"trtllm_buildable": "true"}, [], "buildable"),
    "engine case": ({"engine": "vLLM"}, {"llm_engine": "vllm"}, [], ""),
    "model_type is a backend": ({"engine": "vllm"}, {"model_type": "vllm"}, [], ""),
    "llm_engine before model_type": (
        {"engine": "vllm"}, {"llm_engine": "sglang", "model_type": "vllm"}, [], "engine",
    ),
    "triton counts as tensorrt": (WANT_TRT, {"model_type": "Triton"}, [], ""),
    "triton is not triton any more": ({"engine": "triton"}, {"model_type": "triton"}, [], "engine"),
    "GPUs count for any engine": (
        {"engine": "vllm"}, {"llm_engine": "vllm", "gpu": "L40S"}, [H100], "gpus",
    ),
    "GPUs count without engine": ({}, {"gpu": "L40S"}, [H100], "gpus"),
    "key counts for GPUs found": ({}, {"gpu": "x", "key": "H100"}, [H100], ""),
    "no tag fits every GPU": ({}, {}, [H100], ""),
    "only a regex": ({}, {"product_name_regex": "A100"}, [H100], "gpus"),
    "gpus fit any engine": (gpus(("h100", [])), {"llm_engine": "vllm", "gpu": "H100"}, [], ""),
    "only ids": (gpus(("", ["2330"])), {"gpu_device": "2330:10de"}, [], ""),
    "only ids, other": (gpus(("", ["2330"])), {"gpu_device": "26b9:10de"}, [], "gpus"),
    "ids of any entry": (
        gpus(("h100", []), ("", ["2330"])), {"gpu": "H100", "gpu_device": "2330:10de"}, [], "",
    ),
    "ids of any entry bind all": (
        gpus(("h100", []), ("l40s", ["26b9"])),
        {"gpu": "H100", "gpu_device": "2330:10de"}, [], "gpus",
    ),
    "gpus neither product nor id": (gpus(("", [])), {"gpu": "L40S"}, [H100], ""),
    "buildable fits any GPU": ({}, {"gpu": "L40S", "trtllm_buildable": "TRUE"}, [H100], ""),
    "buildable fits any gpus": (gpus(("h100", [])), {"trtllm_buildable": "true"}, [], ""),
}  # fmt: skip


@pytest.mark.parametrize(
    ("version", "wanted", "tags", "found", "rule"),
    [
        pytest.param(version, *case, id=f"v{version}: {name}")
        for version, cases in ((1, V1), (2, V2))
        for name, case in cases.items()
    ],
)
def test_select_profiles_rule(version, wanted, tags, found, rule):
    selection = select_profiles([Profile("a", tags)], wanted, found, version)
    assert [item.rule for item in selection.dropped] == ([rule] if rule else [])
    assert selection.selected == ([] if rule else ["a"])


def test_select_profiles_all_rules_covered():
    names = {"precision", "tensorParallelism", "qosProfile", "lora", "engine", "gpus"}
    assert {rule for *_rest, rule in V1.values()} == names | {""}
    assert {rule for *_rest, rule in V2.values()} == names | {"", "buildable"}


@pytest.mark.parametrize(
    ("wanted", "tags", "found", "text"),
    [
        (
            {"qosProfile": "throughput"},
            {"profile": "latency"},
            [],
            "229e9ffd…: qosProfile wanted throughput, profile has latency",
        ),
        ({"precision": "fp8"}, {}, [], "229e9ffd…: precision wanted fp8, profile has none"),
        ({}, {"feat_lora": "true"}, [], "229e9ffd…: lora not wanted, profile has feat_lora true"),
        ({"engine": "vllm"}, TRT, [], "229e9ffd…: engine wanted vllm, profile has tensorrt_llm"),
        (
            WANT_TRT,
            TRT | {"gpu": "L40S"},
            [H100],
            f"229e9ffd…: gpus found {H100}, profile has L40S",
        ),
        (
            gpus(("h100", [])),
            TRT | {"gpu": "L40S"},
            [],
            "229e9ffd…: gpus wanted h100, profile has L40S",
        ),
    ],
)
def test_select_profiles_explanation(wanted, tags, found, text):
    selection = select_profiles([Profile("229e9ffd9f7ccb31f8860b7a", tags)], wanted, found, 1)
    assert str(selection.dropped[0]) == text


def test_select_profiles_gpus():
    assert select_profiles([], {}, [H100], 1).gpus == [H100]
    assert select_profiles([], gpus(("l40s", [])), [H100], 1).gpus == []


def test_select_profiles_order():
    profiles = [Profile(name, {}) for name in ("b", "a", "c")]
    assert select_profiles(profiles, {}, [], 1).selected == ["b", "a", "c"]


def test_discover_gpus():
    key = "nvidia.com/gpu.product"
    labels = [{key: H100}, {key: A100}, {key: H100}, {key: " "}, {"other": "x"}]
    assert discover_gpus(labels) == [A100, H100]


def many(count):
    dropped = [
        Dropped(f"{n:064d}", "engine", "engine wanted vllm, profile has …") for n in range(count)
    ]
    return Selection(count, [], dropped, [H100])


def test_summarize_bounded():
    text = summarize(many(500))
    assert text.startswith(
        f"none of 500 fits; GPUs found: {H100}; dropped by engine 500; 00000000…: "
    )
    assert "\n" not in text
    assert MAX_SUMMARY_BYTES - 8 < len(text.encode()) <= MAX_SUMMARY_BYTES
    assert text.endswith("…")


def test_summarize_choice():
    selection = Selection(3, ["a", "b"], [Dropped("c", "lora", "lora not wanted")])
    assert summarize(selection) == (
        "2 of 3 profiles selected for caching: a, b; dropped by lora 1; c: lora not wanted"
    )


def test_selection_to_status_bounded():
    status = many(500).to_status()
    assert (status["considered"], status["selected"]) == (500, [])
    assert len(status["dropped"]) == MAX_DROPPED
    assert status["dropped"][0] == {
        "profile": "0" * 64,
        "reason": "engine",
        "message": "engine wanted vllm, profile has …",
    }


def test_selection_to_status_schema_limits():
    """The API server must not refuse the status because of one long id."""
    dropped = Dropped("i" * 300, "gpus", "m" * 2000)
    (entry,) = Selection(1, [], [dropped]).to_status()["dropped"]
    assert (len(entry["profile"]), len(entry["message"])) == (253, 1024)
