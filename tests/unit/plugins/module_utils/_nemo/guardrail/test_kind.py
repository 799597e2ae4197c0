# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._builders.inputs import Input

Json = dict[str, t.Any]

ROWS = [
    "CONFIG_STORE_PATH=/config-store",
    "DEFAULT_CONFIG_ID=default",
    "DEFAULT_LLM_PROVIDER=nim",
    "NEMO_GUARDRAILS_SERVER_ENABLE_CORS=False",
    "NEMO_GUARDRAILS_SERVER_ALLOWED_ORIGINS=*",
    "GUARDRAILS_HOST=0.0.0.0",
    "GUARDRAILS_PORT=8000",
    "DEMO=False",
]
DATABASE = ["POSTGRES_DB_PASSWORD<pg/password", "POSTGRES_URI<x/uri", "DB_URI<x/uri"]
OFF = "OTEL_SDK_DISABLED=true"
URL = "http://nim:8000/v1"
NIM = {"nimEndpoint": {"baseURL": URL}}


def with_key(**more: str) -> Json:
    return {"nimEndpoint": {"baseURL": URL, "apiKeySecret": "key"} | more}


@pytest.mark.parametrize(
    ("spec", "more"),
    [
        pytest.param({}, [], id="least"),
        pytest.param(NIM, [f"NIM_ENDPOINT_URL={URL}"], id="endpoint"),
        pytest.param(
            with_key(),
            [f"NIM_ENDPOINT_URL={URL}", "NIM_ENDPOINT_API_KEY<key/NIM_ENDPOINT_API_KEY"],
            id="API key",
        ),
        pytest.param(
            with_key(apiKeyKey="k"),
            [f"NIM_ENDPOINT_URL={URL}", "NIM_ENDPOINT_API_KEY<key/k"],
            id="key of the API key",
        ),
        pytest.param(with_key(apiKeySecret=""), [f"NIM_ENDPOINT_URL={URL}"], id="no API key"),
    ],
)
def test_env(nemo: t.Any, spec: Json, more: list[str]) -> None:
    assert nemo.rows(nemo.container("NemoGuardrail", spec)["env"]) == [*ROWS, *more, OFF]


def test_env_with_database(nemo: t.Any) -> None:
    pod = nemo.pod("NemoGuardrail", {"databaseConfig": nemo.database})
    assert nemo.rows(pod["containers"][0]["env"]) == [*ROWS, *DATABASE, OFF]
    _wait, migration = pod["initContainers"]
    assert nemo.rows(migration["env"]) == [
        "NAMESPACE=ns",
        "PYTHONPATH=/app/services/guardrails",
        *DATABASE,
    ]


def test_env_telemetry_namespace(nemo: t.Any) -> None:
    found = nemo.rows(nemo.container("NemoGuardrail", {"otel": {"enabled": True}})["env"])
    assert found[-1] == "OTEL_RESOURCE_ATTRIBUTES=deployment.environment=$(NAMESPACE)"
    assert len(found) == len(ROWS) + 8


@pytest.mark.parametrize(
    ("store", "source", "sub_path"),
    [
        pytest.param({"configMap": {"name": "r"}}, {"configMap": {"name": "r"}}, None, id="map"),
        pytest.param(
            {"pvc": {}},
            {"persistentVolumeClaim": {"claimName": "x-pvc"}},
            "guardrails-config-store",
            id="claim",
        ),
        pytest.param(
            {"pvc": {"name": "c", "subPath": "s"}},
            {"persistentVolumeClaim": {"claimName": "c"}},
            "s",
            id="named claim",
        ),
    ],
)
def test_config_store(nemo: t.Any, store: Json, source: Json, sub_path: str | None) -> None:
    pod = nemo.pod("NemoGuardrail", {"configStore": store})
    assert pod["volumes"] == [{"name": "config-store", **source}]
    (mount,) = pod["containers"][0]["volumeMounts"]
    assert (mount["mountPath"], mount.get("subPath")) == ("/config-store", sub_path)


@pytest.mark.parametrize("store", [None, {}, {"configMap": {}}])
def test_config_store_missing(nemo: t.Any, store: Json | None) -> None:
    with pytest.raises(NimError, match=r"^spec\.configStore: ") as error:
        nemo.made("NemoGuardrail", {"configStore": store})
    assert error.value.reason == "DeploymentFailed"


def test_inputs(nemo: t.Any) -> None:
    app = nemo.app("NemoGuardrail", with_key() | {"databaseConfig": nemo.database})
    assert app.inputs() == [
        Input("Secret", "pg", "spec.databaseConfig.credentials", ("password",), is_copied=True),
        Input("ConfigMap", "rails", "spec.configStore.configMap.name"),
        Input("Secret", "key", "spec.nimEndpoint.apiKeySecret", ("NIM_ENDPOINT_API_KEY",)),
    ]
    assert nemo.app("NemoGuardrail", {"configStore": {"pvc": {}}}).inputs() == []
