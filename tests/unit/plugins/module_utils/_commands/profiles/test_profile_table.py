# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The profiles of a manifest, judged by a NIMCache's selection rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.profiles.profile_table import (
    list_offers,
    to_model,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.model_manifest import (
    parse_manifest,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.profile_selection import (
    select_profiles,
)

ROOT = Path(__file__).resolve().parents[6]
MANIFESTS = {
    version: parse_manifest((ROOT / "sandbox" / name).read_text())
    for version, name in ((1, "manifest.yaml"), (2, "manifest-v2.yaml"))
}
H100 = "NVIDIA-H100-80GB-HBM3"
OPTIONS = {
    **dict.fromkeys(("engine", "tensor_parallelism", "precision", "qos_profile")),
    "lora": None,
    "buildable": None,
    "gpus": [],
}

WANTED = {
    "nothing": {},
    "a precision": {"precision": "fp8"},
    "an engine": {"engine": "tensorrt_llm"},
    "GPUs": {"gpus": [{"product": "h100"}]},
    "a lot": {"engine": "tensorrt_llm", "tensorParallelism": "1", "qosProfile": "throughput"},
    "adapters": {"lora": True},
    "not offered": {"precision": "int4"},
}


@pytest.mark.parametrize("products", [[], [H100], ["NVIDIA-L40S"]], ids=str)
@pytest.mark.parametrize("wanted", WANTED.values(), ids=WANTED)
@pytest.mark.parametrize("version", [1, 2])
def test_list_offers(version, wanted, products):
    manifest = MANIFESTS[version]
    found = list_offers(manifest, wanted, products)
    selection = select_profiles(manifest.profiles, wanted, products, version)
    assert found.fitting == selection.selected
    reasons = {item.profile.id: (item.rule, item.message) for item in found.offers if not item.fits}
    assert reasons == {item.profile: (item.rule, item.message) for item in selection.dropped}


def test_offers_to_text():
    text = list_offers(MANIFESTS[2], {"precision": "bf16"}, [H100]).to_text()
    lines = [line.split("   ") for line in text.splitlines()]
    assert [" ".join(" ".join(line).split()) for line in lines] == [
        "ID MODEL GPU ENGINE TP/PP PRECISION QOS LORA FITS WHY NOT",
        "c83921a0… - none tensorrt_llm 1/1 bf16 - false yes -",
        "29e673bc… - none vllm 1/1 bf16 - true yes -",
        "275991f3… - H100 tensorrt_llm 1/1 fp8 throughput false no"
        " precision wanted bf16, profile has fp8",
        f"0757f0bf… - A100 tensorrt_llm 1/1 bf16 latency false no gpus found {H100},"
        " profile has A100",
        "0366ed01… - L40S tensorrt_llm 2/1 fp16 latency false no"
        " precision wanted bf16, profile has fp16",
    ]


def test_offers_to_dict():
    found = list_offers(MANIFESTS[1], {"precision": "int4"}, []).to_dict()
    first = MANIFESTS[1].profiles[0]
    assert found["manifest_version"] == 1
    assert found["wanted"] == {"precision": "int4"}
    assert found["fitting"] == []
    assert found["profiles"][0] == {
        "id": first.id,
        "model": "acme/tiny-llm",
        "release": first.release,
        "fits": False,
        "rule": "precision",
        "message": f"precision wanted int4, profile has {first.tags['precision']}",
        "tags": first.tags,
    }


NOTES = {
    "version 1 without an engine": (
        *(1, {}, [H100]),
        "GPUs are ignored: the manifest is of version 1, where they only count for engine"
        " tensorrt_llm, or if gpus is set",
    ),
    "version 1 with one": (1, {"engine": "tensorrt"}, [H100], None),
    "version 1 with GPUs": (1, {"gpus": [{"product": "H100"}]}, [], None),
    "no GPUs": (2, {}, [], "GPUs are ignored: no node has the label nvidia.com/gpu.product"),
    "GPUs": (2, {}, [H100], None),
    "profiles that are named": (
        *(2, {"profiles": ["275991f3d70662ad30b8d190e60ed5f67b8e2bcfc3be79df"]}, [H100]),
        "the NIMCache lists its profiles (275991f3…): it downloads them even if they do not fit",
    ),
}


@pytest.mark.parametrize(("version", "wanted", "products", "note"), NOTES.values(), ids=NOTES)
def test_offers_notes(version, wanted, products, note):
    found = list_offers(MANIFESTS[version], wanted, products)
    assert found.notes == ([note] if note else [])
    assert "profiles" not in found.wanted


WISHES = {
    "nothing": ({}, {}),
    "all": (
        {
            "engine": "vllm",
            "tensor_parallelism": "2",
            "precision": "fp8",
            "qos_profile": "latency",
            "lora": False,
            "buildable": True,
            "gpus": ["H100", {"product": "A100", "ids": ["20b0", 2330]}],
        },
        {
            "engine": "vllm",
            "tensorParallelism": "2",
            "precision": "fp8",
            "qosProfile": "latency",
            "lora": False,
            "buildable": True,
            "gpus": [{"product": "H100"}, {"product": "A100", "ids": ["20b0", "2330"]}],
        },
    ),
}


@pytest.mark.parametrize(("given", "wanted"), WISHES.values(), ids=WISHES)
def test_to_model(given, wanted):
    assert to_model(OPTIONS | given) == wanted


@pytest.mark.parametrize("entry", [1, {}, {"name": "H100"}, {"product": 1}, {"ids": "20b0"}, ["x"]])
def test_to_model_invalid_gpu(entry):
    with pytest.raises(NimError, match=r"^gpus: .*product"):
        to_model(OPTIONS | {"gpus": [entry]})
