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
    "NIM_CACHE_PATH",
    "OUTLINES_CACHE_DIR",
    "NIM_SERVER_PORT",
    "NIM_HTTP_API_PORT",
    "NIM_JSONL_LOGGING",
    "NIM_LOG_LEVEL",
]
PROXY = [
    "NIM_SDK_USE_NATIVE_TLS",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "https_proxy",
    "http_proxy",
    "no_proxy",
]
UNIVERSAL = ["NIM_MODEL_NAME", "HF_HOME"]
TOKENS = ["NGC_API_KEY", "HF_TOKEN"]
HF = {"hf": {"namespace": "meta", "modelName": "m"}}
DATA_STORE = {"dataStore": {"namespace": "default", "modelName": "m"}}
ENDPOINT = {"ngc": {"modelPuller": "x", "modelEndpoint": "https://e"}}
OPTIMIZED = {"ngc": {"modelPuller": "x", "model": {}}}


def value_of(items, name):
    (item,) = [item for item in items if item["name"] == name]
    return item.get("value") or item.get("valueFrom", {}).get("secretKeyRef")


@pytest.mark.parametrize(
    ("spec", "source", "native", "names", "values"),
    [
        pytest.param({}, None, False, [*STANDARD, "NGC_API_KEY"], {}, id="plain"),
        pytest.param({"authSecret": None}, None, False, STANDARD, {}, id="no secret"),
        pytest.param(
            {"expose": {"service": {"port": 1, "grpcPort": 2, "metricsPort": 3}}},
            None,
            False,
            [
                *STANDARD,
                "NGC_API_KEY",
                "NIM_GRPC_API_PORT",
                "NIM_TRITON_GRPC_PORT",
                "NIM_TRITON_METRICS_PORT",
            ],
            {"NIM_SERVER_PORT": "1", "NIM_GRPC_API_PORT": "2", "NIM_TRITON_METRICS_PORT": "3"},
            id="all ports",
        ),
        pytest.param(
            {"env": [{"name": "B", "value": "1"}, {"name": "NIM_LOG_LEVEL", "value": "DEBUG"}]},
            None,
            False,
            ["B", "NIM_LOG_LEVEL", *STANDARD[:-1], "NGC_API_KEY"],
            {"NIM_LOG_LEVEL": "DEBUG"},
            id="the user's come first and win",
        ),
        pytest.param(
            {
                "proxy": {"httpsProxy": "p"},
                "env": [{"name": "HTTPS_PROXY", "value": "u"}, {"name": "B", "value": "1"}],
            },
            None,
            False,
            [
                *(name for name in PROXY if name != "HTTPS_PROXY"),
                "HTTPS_PROXY",
                "B",
                *STANDARD,
                "NGC_API_KEY",
            ],
            {"HTTPS_PROXY": "u", "https_proxy": "p", "NO_PROXY": None},
            id="the user wins over the proxy",
        ),
        pytest.param(
            {"authSecret": "s"},
            HF,
            False,
            [*TOKENS, *STANDARD, *UNIVERSAL, "NIM_MODEL_PATH"],
            {
                "NIM_MODEL_PATH": "hf://meta/m",
                "NGC_API_KEY": {"name": "s", "key": "NGC_API_KEY", "optional": True},
                "HF_TOKEN": {"name": "s", "key": "HF_TOKEN"},
            },
            id="Hugging Face",
        ),
        pytest.param(
            {"authSecret": "s"},
            DATA_STORE,
            False,
            [*TOKENS, *STANDARD, *UNIVERSAL, "NIM_MODEL_PATH"],
            {"NIM_MODEL_PATH": "hf://default/m"},
            id="DataStore as Hugging Face",
        ),
        pytest.param(
            {
                "authSecret": None,
                "env": [{"name": "HF_TOKEN", "value": "t"}, {"name": "NGC_API_KEY", "value": "k"}],
            },
            HF,
            False,
            ["HF_TOKEN", "NGC_API_KEY", *STANDARD, *UNIVERSAL, "NIM_MODEL_PATH"],
            {"HF_TOKEN": "t", "NGC_API_KEY": "k"},
            id="Hugging Face with the user's tokens",
        ),
        pytest.param(
            {"authSecret": "s", "env": [{"name": "HF_TOKEN", "value": "t"}]},
            HF,
            False,
            ["NGC_API_KEY", "HF_TOKEN", *STANDARD, *UNIVERSAL, "NIM_MODEL_PATH"],
            {"HF_TOKEN": "t", "NGC_API_KEY": {"name": "s", "key": "NGC_API_KEY", "optional": True}},
            id="Hugging Face with the user's token beside authSecret",
        ),
        pytest.param(
            {},
            ENDPOINT,
            False,
            [*STANDARD, "NGC_API_KEY", *UNIVERSAL],
            {"NIM_MODEL_NAME": "/model-store", "HF_HOME": "/model-store/huggingface/hub"},
            id="model endpoint, which has no path",
        ),
        pytest.param(
            {"env": [{"name": "NIM_MODEL_NAME", "value": "hf://a/b"}]},
            None,
            False,
            [*TOKENS, "NIM_MODEL_NAME", *STANDARD],
            {},
            id="a Hugging Face model without a cache",
        ),
        pytest.param(
            {"env": [{"name": "NIM_MODEL_NAME", "value": "m"}, {"name": "B", "value": "hf://a/b"}]},
            None,
            False,
            ["NIM_MODEL_NAME", "B", *STANDARD, "NGC_API_KEY"],
            {},
            id="a Hugging Face address that is not the model's",
        ),
        pytest.param(
            {
                "env": [
                    {"name": "NIM_ENGINE_MODEL_PATH", "value": "/u"},
                    {"name": "HF_TOKEN", "value": "t"},
                ]
            },
            OPTIMIZED,
            True,
            ["NGC_API_KEY", "NIM_ENGINE_MODEL_PATH", "HF_TOKEN", *STANDARD],
            {
                "NIM_ENGINE_MODEL_PATH": "/u",
                "HF_TOKEN": "t",
                "NGC_API_KEY": {"name": "ngc", "key": "NGC_API_KEY", "optional": True},
            },
            id="native from a cache, with the user's variables",
        ),
        pytest.param(
            {},
            OPTIMIZED,
            True,
            [*TOKENS, "NIM_ENGINE_MODEL_PATH", *STANDARD],
            {"NIM_ENGINE_MODEL_PATH": "/model/cache"},
            id="native from a cache",
        ),
        pytest.param(
            {"authSecret": None},
            None,
            True,
            ["NIM_ENGINE_MODEL_PATH", *STANDARD],
            {"NIM_ENGINE_MODEL_PATH": "/model"},
            id="native without cache or secret",
        ),
        pytest.param(
            {},
            HF,
            True,
            [*TOKENS, "NIM_ENGINE_MODEL_PATH", *STANDARD],
            {"HF_TOKEN": {"name": "ngc", "key": "HF_TOKEN"}},
            id="native and Hugging Face",
        ),
    ],
)
def test_main_env(make, spec, source, native, names, values):
    store = Store({}, cache=make.cache(source) if source else None)
    items = main_env(make.app(spec), store, native=native)
    assert [item["name"] for item in items] == names
    assert {name: value_of(items, name) for name in values} == values


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
        "NGC_API_KEY": {"name": "ngc", "key": "NGC_API_KEY"},
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
    ("given", "wanted"),
    [
        pytest.param([], ["NIM_MODEL_PROFILE", "p"], id="last"),
        pytest.param(
            [{"name": "NIM_MODEL_PROFILE", "value": "u"}], ["NGC_API_KEY", None], id="the user's"
        ),
    ],
)
def test_main_env_of_a_profile(make, given, wanted):
    items = main_env(
        make.app({"env": given}),
        Store({}, cache=make.cache(), profile="p"),
        native=False,
    )
    assert [items[-1]["name"], items[-1].get("value")] == wanted


def test_side_env_order(make):
    items = side_env(make.app(), [{"name": "NIM_LOG_LEVEL", "value": "X"}])
    assert [item["name"] for item in items] == ["NIM_LOG_LEVEL", *STANDARD[:-1], "NGC_API_KEY"]
