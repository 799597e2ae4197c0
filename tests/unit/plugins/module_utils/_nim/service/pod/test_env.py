# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_store import Store
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.pod.env import (
    main_env,
    side_env,
)

STANDARD = [
    "NIM_CACHE_PATH", "OUTLINES_CACHE_DIR", "NIM_SERVER_PORT", "NIM_HTTP_API_PORT",
    "NIM_JSONL_LOGGING", "NIM_LOG_LEVEL",
]  # fmt: skip
PROXY = [
    "NIM_SDK_USE_NATIVE_TLS", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy",
    "no_proxy",
]  # fmt: skip
UNIVERSAL = ["NIM_MODEL_NAME", "HF_HOME"]
TOKENS = ["NGC_API_KEY", "HF_TOKEN"]
HF = {"hf": {"namespace": "meta", "modelName": "m"}}
DATA_STORE = {"dataStore": {"namespace": "default", "modelName": "m"}}
ENDPOINT = {"ngc": {"modelPuller": "x", "modelEndpoint": "https://e"}}
OPTIMIZED = {"ngc": {"modelPuller": "x", "model": {}}}


def value_of(items, name):
    (item,) = [item for item in items if item["name"] == name]
    return item.get("value") or item.get("valueFrom", {}).get("secretKeyRef")


def variables(**values):
    return {"env": [{"name": name, "value": value} for name, value in values.items()]}


DEFAULT = {"spec": {}, "source": None, "native": False, "values": {}}
NATIVE = {"source": OPTIMIZED, "native": True}
HF_NAMES = [*STANDARD, *UNIVERSAL, "NIM_MODEL_PATH"]
KEY = {"name": "ngc", "key": "NGC_API_KEY", "optional": True}
MAIN_ENV_CASES = {
    "plain": {"names": [*STANDARD, "NGC_API_KEY"]},
    "no secret": {"spec": {"authSecret": None}, "names": STANDARD},
    "all ports": {
        "spec": {"expose": {"service": {"port": 1, "grpcPort": 2, "metricsPort": 3}}},
        "names": [*STANDARD, "NGC_API_KEY", "NIM_GRPC_API_PORT", "NIM_TRITON_GRPC_PORT", "NIM_TRITON_METRICS_PORT"],
        "values": {"NIM_SERVER_PORT": "1", "NIM_GRPC_API_PORT": "2", "NIM_TRITON_METRICS_PORT": "3"},
    },
    "the user's come first and win": {
        "spec": variables(B="1", NIM_LOG_LEVEL="DEBUG"),
        "names": ["B", "NIM_LOG_LEVEL", *STANDARD[:-1], "NGC_API_KEY"],
        "values": {"NIM_LOG_LEVEL": "DEBUG"},
    },
    "the user wins over the proxy": {
        "spec": {"proxy": {"httpsProxy": "p"}} | variables(HTTPS_PROXY="u", B="1"),
        "names": [*(name for name in PROXY if name != "HTTPS_PROXY"), "HTTPS_PROXY", "B", *STANDARD, "NGC_API_KEY"],
        "values": {"HTTPS_PROXY": "u", "https_proxy": "p", "NO_PROXY": None},
    },
    "Hugging Face": {
        "source": HF, "names": [*TOKENS, *HF_NAMES],
        "values": {"NIM_MODEL_PATH": "hf://meta/m", "NGC_API_KEY": KEY, "HF_TOKEN": {"name": "ngc", "key": "HF_TOKEN"}},
    },
    "DataStore as Hugging Face": {
        "source": DATA_STORE, "names": [*TOKENS, *HF_NAMES], "values": {"NIM_MODEL_PATH": "hf://default/m"},
    },
    "Hugging Face with the user's tokens": {
        "spec": {"authSecret": None} | variables(HF_TOKEN="t", NGC_API_KEY="k"), "source": HF,
        "names": ["HF_TOKEN", "NGC_API_KEY", *HF_NAMES], "values": {"HF_TOKEN": "t", "NGC_API_KEY": "k"},
    },
    "Hugging Face with the user's token beside authSecret": {
        "spec": variables(HF_TOKEN="t"), "source": HF,
        "names": [*TOKENS, *HF_NAMES], "values": {"HF_TOKEN": "t", "NGC_API_KEY": KEY},
    },
    "model endpoint, which has no path": {
        "source": ENDPOINT, "names": [*STANDARD, "NGC_API_KEY", *UNIVERSAL],
        "values": {"NIM_MODEL_NAME": "/model-store", "HF_HOME": "/model-store/huggingface/hub"},
    },
    "a Hugging Face model without a cache": {
        "spec": variables(NIM_MODEL_NAME="hf://a/b"), "names": [*TOKENS, "NIM_MODEL_NAME", *STANDARD],
    },
    "a Hugging Face address that is not the model's": {
        "spec": variables(NIM_MODEL_NAME="m", B="hf://a/b"), "names": ["NIM_MODEL_NAME", "B", *STANDARD, "NGC_API_KEY"],
    },
    "native from a cache, with the user's variables": NATIVE | {
        "spec": variables(NIM_ENGINE_MODEL_PATH="/u", HF_TOKEN="t"),
        "names": ["NGC_API_KEY", "NIM_ENGINE_MODEL_PATH", "HF_TOKEN", *STANDARD],
        "values": {"NIM_ENGINE_MODEL_PATH": "/u", "HF_TOKEN": "t", "NGC_API_KEY": KEY},
    },
    "native from a cache": NATIVE | {
        "names": [*TOKENS, "NIM_ENGINE_MODEL_PATH", *STANDARD], "values": {"NIM_ENGINE_MODEL_PATH": "/model/cache"},
    },
    "native without cache or secret": NATIVE | {
        "spec": {"authSecret": None}, "source": None,
        "names": ["NIM_ENGINE_MODEL_PATH", *STANDARD], "values": {"NIM_ENGINE_MODEL_PATH": "/model"},
    },
    "native and Hugging Face": NATIVE | {
        "source": HF, "names": [*TOKENS, "NIM_ENGINE_MODEL_PATH", *STANDARD],
        "values": {"HF_TOKEN": {"name": "ngc", "key": "HF_TOKEN"}},
    },
}  # fmt: skip


@pytest.mark.parametrize("case", MAIN_ENV_CASES.values(), ids=MAIN_ENV_CASES)
def test_main_env(make, case):
    case = DEFAULT | case
    store = Store({}, cache=make.cache(case["source"]) if case["source"] else None)
    items = main_env(make.app(case["spec"]), store, native=case["native"])
    assert [item["name"] for item in items] == case["names"]
    assert {name: value_of(items, name) for name in case["values"]} == case["values"]


def test_main_env_standard_values(make):
    ports = {"service": {"port": 1, "grpcPort": 2, "metricsPort": 3}}
    items = main_env(make.app({"expose": ports}), Store({}), native=False)
    assert {item["name"]: value_of(items, item["name"]) for item in items} == {
        "NIM_CACHE_PATH": "/model-store",
        "OUTLINES_CACHE_DIR": "/tmp/outlines",
        "NIM_SERVER_PORT": "1",
        "NIM_HTTP_API_PORT": "1",
        "NIM_JSONL_LOGGING": "1",
        "NIM_LOG_LEVEL": "INFO",
        "NGC_API_KEY": KEY,
        "NIM_GRPC_API_PORT": "2",
        "NIM_TRITON_GRPC_PORT": "2",
        "NIM_TRITON_METRICS_PORT": "3",
    }


def test_main_env_universal_model_values(make):
    items = main_env(make.app(), Store({}, cache=make.cache(HF)), native=False)
    found = {item["name"]: value_of(items, item["name"]) for item in items[-3:]}
    assert found == {
        "NIM_MODEL_NAME": "/model-store",
        "HF_HOME": "/model-store/huggingface/hub",
        "NIM_MODEL_PATH": "hf://meta/m",
    }


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        pytest.param({}, ["NIM_MODEL_PROFILE", "p"], id="last"),
        pytest.param(variables(NIM_MODEL_PROFILE="u"), ["NGC_API_KEY", None], id="the user's"),
    ],
)
def test_main_env_of_a_profile(make, spec, wanted):
    store = Store({}, cache=make.cache(), profile="p")
    last = main_env(make.app(spec), store, native=False)[-1]
    assert [last["name"], last.get("value")] == wanted


def test_side_env_order(make):
    items = side_env(make.app(), [{"name": "NIM_LOG_LEVEL", "value": "X"}])
    assert [item["name"] for item in items] == ["NIM_LOG_LEVEL", *STANDARD[:-1], "NGC_API_KEY"]
    assert value_of(items, "NGC_API_KEY") == KEY
