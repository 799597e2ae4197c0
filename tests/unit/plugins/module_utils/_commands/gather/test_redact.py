# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Credentials are removed, and data for support is kept."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.gather.redact import (
    MARK,
    is_sensitive_name,
    redact_object,
    redact_text,
)

S = "S3cr3tW0rd"
NOTED = "kubectl.kubernetes.io/last-applied-configuration"

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow{}\n-----END RSA PRIVATE KEY-----"

TEXTS = {
    "environment": f"NGC_API_KEY={S}",
    "exported": f"export HF_TOKEN={S}",
    "YAML": f"password: {S} and {S}",
    "YAML with commas": f"password: {S}, {S}; {S}",
    "YAML after a log's time": f"2026-01-01T00:00:00Z token: {S}",
    "YAML in quotes": f'password: "a \\" {S}"',
    "YAML over lines": f"password: |\n  {S}\n  {S}\nother: kept",
    "YAML folded, indented": f"  secret: >-\n     {S}\n\n     {S}\n  other: kept",
    "an unclosed quote": f'password="{S}',
    "a quote over lines": f"password='{S}\n{S}'",
    "settings": f"db_password = {S} {S}",
    "JSON": f'{{"auth":"{S}","other":"kept"}}',
    "JSON in JSON": f'\\"password\\":\\"{S}\\",\\"other\\":\\"kept\\"',
    "JSON in JSON in JSON": f'\\\\\\"token\\\\\\":\\\\\\"{S}\\\\\\"',
    "Python": f"{{'token': '{S}', 'other': 'kept'}}",
    "a value that holds a name": f"path=https://kept.example/x?token={S}&other=kept",
    "a name in a value of none": f"message: password={S}",
    "a flag": f"--api-key {S} --model kept",
    "a flag with =": f"--token={S} --model kept",
    "a flag in quotes": f'--password "{S} {S}"',
    "a header": f"X-Api-Key: {S}",
    "basic authorization": f"Authorization: Basic {S}",
    "basic authorization in a log": f"2026Z sent Authorization: Basic {S} kept",
    "basic authorization in JSON": f'{{"Authorization": "Basic {S}"}}',
    "bearer": f"curl -H 'Authorization: Bearer {S}' kept",
    "bearer in prose": f"sent bearer {S}",
    "cookie": f"Set-Cookie: session={S}",
    "signed URL": f"https://s3.example/x?X-Amz-Signature={S}&X-Amz-Credential={S}",
    "user in URL": f"https://user:{S}@kept.example/x",
    "no user in URL": f"redis://:{S}@kept:6379/0",
    "user without a URL": f"https_proxy=user:{S}@kept:3128",
    "token in URL": f"https://{S}@kept.example/x",
    "at in a password in URL": f"postgresql://u:{S}@{S}@kept/db",
    "a pair in YAML": f"- name: NGC_API_KEY\n  value: {S}\n- name: kept",
    "a pair in JSON": f'[{{"name":"HF_TOKEN","value":"{S}"}}]',
    "a pair in Go": f"{{Name:NGC_API_KEY Value:{S} ValueFrom:nil}}",
    "PEM": PEM.format(S) + "\nkept",
    "PEM in one line": json.dumps(PEM.format(S)) + " kept",
    "PEM after times": PEM.format(S).replace("\n", "\n2026-01-01T00:00:00Z ") + "\nkept",
    "PEM without an end": f"kept\n-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA{S}+/=\n",
    "PEM without an end, after times": f"-----BEGIN KEY-----\n2026Z MIIEowIBAAKCAQEA{S}\nkept 1",
    "PEM without a beginning": f"{S}\n-----END RSA PRIVATE KEY-----\nkept",
    "PEM in base64": "x LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo= kept",
}

LOOKS = [
    "nvapi-AbC_d-1234567890",
    "nvapi-short",
    "hf_AbCdEfGhIjKlMnOpQrStUvWxYz12345678",
    "hf_abcdefgh1",
    "hf_abcdefghijklmnopqrstuvwx",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "ghp_0123456789abcdefghij",
    "AKIAIOSFODNN7EXAMPLE",
    "sk-0123456789abcdefghij",
]

KEPT = [
    "max_tokens=4096 prompt_tokens: 12 tokens/s: 0.5",
    "tokenizer=/opt/nim/tokenizer.json",
    'secrets "ngc-api-secret" not found',
    "topologyKey: kubernetes.io/hostname",
    "authSecret: ngc-api-secret",
    "automountServiceAccountToken: true",
    "hf_transfer hf_hub_download hf_quantizer",
    "INFO key=value model=llama took: 3 s",
    "image: registry.example/nim/llm:1.0@sha256:0123456789abcdef",
    "mail user@example.com, see http://host.example/a@b",
    "author: me, monkey: x, keyboard=us",
    "the password is wrong",
    "password: ''",
    '"token": null',
    "path: /run/secrets/x",
]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_redact_text(text):
    found = redact_text(text)
    assert S not in found
    assert "LS0t" not in found
    assert MARK in found
    assert ("kept" in found) == ("kept" in text)
    assert redact_text(found).count(MARK) == found.count(MARK), "once more changes nothing"


@pytest.mark.parametrize("token", LOOKS)
@pytest.mark.parametrize("text", ["{}", "got {}, and", '"{}"', "a/{}/b", "x={}", "2026Z {}\nnext"])
def test_redact_text_tokens(token, text):
    assert redact_text(text.format(token)) == text.format(MARK)


@pytest.mark.parametrize("text", KEPT)
def test_redact_text_keeps(text):
    assert redact_text(text) == text


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        *[(name, True) for name in ("apiKey", "NGC_API_KEY", "hfToken", "HF_TOKEN", "dbPassword")],
        *[(name, True) for name in ("X-Api-Key", "MY_KEY", "client.key", ".dockerconfigjson")],
        *[(name, True) for name in ("ngctoken", "PGPASSWORD", "wandb_secret_key", "authorization")],
        *[
            (name, False)
            for name in ("key", "topologyKey", "author", "tokenizer", "monkey", "path")
        ],
        *[
            (name, False)
            for name in (
                "rbac.authorization.k8s.io/v1",
                "model",
                "NIM_CACHE_PATH",
                "passthrough",
                "design",
                "keys",
            )
        ],
    ],
)
def test_is_sensitive_name(name, is_one):
    assert is_sensitive_name(name) is is_one


OBJECTS = {
    "environment": {"env": [{"name": "NGC_API_KEY", "value": S}]},
    "environment in a URL": {"env": [{"name": "HTTPS_PROXY", "value": f"http://u:{S}@p:3128"}]},
    "a number": {"env": [{"name": "DB_PASSWORD", "value": 12345678}]},
    "arguments": {"args": ["--api-key", S, "--model", "kept"]},
    "an argument": {"args": [f"--api-key={S}"]},
    "a script": {"command": ["sh", "-c", f"export HF_TOKEN={S}; run"]},
    "an annotation": {"metadata": {"annotations": {"example.com/api-token": S}}},
    "last applied": {"metadata": {"annotations": {NOTED: f'{{"x":"{S}"}}'}}},
    "a field": {"spec": {"credentials": {"password": S}}},
    "a list": {"spec": {"tokens": [S, S]}},
    "a message": {"status": {"conditions": [{"message": f"login with password={S} failed"}]}},
    "managed fields": {
        "metadata": {"managedFields": [{"manager": "m", "fieldsV1": {f"v:{S}": {}}}]}
    },
    "a Secret": {"kind": "Secret", "data": {"x": S}, "stringData": {"y": S}},
    "what is named as a Secret": {"kind": "Secret", "data": S, "stringData": [S]},
    "a file": {"kind": "ConfigMap", "data": {"config.yaml": f"db:\n  password: {S}\n"}},
    "a value": {"kind": "ConfigMap", "data": {"authSecret": S, "api-key": S}},
    "docker": {"kind": "ConfigMap", "data": {".dockerconfigjson": f'{{"x":"{S}"}}'}},
    "docker in a file": {
        "kind": "ConfigMap",
        "data": {"c": f'{{"auths":{{"r":{{"auth":"{S}"}}}}}}'},
    },
    "a Secret in a file": {
        "kind": "ConfigMap",
        "data": {"all.yaml": f"apiVersion: v1\nkind: Secret\ndata:\n  x: {S}\n"},
    },
    "binary": {"kind": "ConfigMap", "binaryData": {"x": S}},
}


@pytest.mark.parametrize("item", OBJECTS.values(), ids=OBJECTS)
def test_redact_object(item):
    before = json.dumps(item)
    found = json.dumps(redact_object(item))
    assert S not in found
    assert "12345678" not in found
    assert json.dumps(item) == before, "the input stays as it is"


def test_redact_object_keeps():
    pod = {
        "kind": "Pod",
        "metadata": {"name": "llm", "annotations": {"x": "y"}, "labels": {"secret": "true"}},
        "spec": {
            "authSecret": "ngc-api",
            "imagePullSecrets": [{"name": "ngc"}],
            "automountServiceAccountToken": False,
            "containers": [
                {
                    "args": ["--max-tokens", "4096", "--model", "llama"],
                    "env": [
                        {"name": "MAX_TOKENS", "value": "4096"},
                        {"name": "PORT", "value": "8000"},
                        {
                            "name": "NGC_API_KEY",
                            "valueFrom": {
                                "secretKeyRef": {"name": "ngc-api", "key": "NGC_API_KEY"}
                            },
                        },
                    ],
                }
            ],
            "volumes": [{"name": "v", "secret": {"secretName": "s", "defaultMode": 420}}],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        },
    }
    found = redact_object(pod)
    assert found == pod


@pytest.mark.parametrize(
    "text",
    [
        *("-----BEGIN A-----\n" * 5000, "name: " * 20000, "a" * 200000, "\\" * 20000, '"' * 20000),
        *(" " * 50000, "://" * 30000, "--key " * 20000, "key: |\n" * 20000, "a-key." * 20000),
        *('password="' * 5000, 'password=\\"' * 5000, "token\n" * 20000, "=" * 50000),
    ],
    ids=lambda text: text[:20].strip() or "space",
)
def test_redact_text_time(text):
    """Each of these would take minutes if a pattern rescanned it again and again."""
    assert len(redact_text(text)) <= 3 * len(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("kind\n" + "\n" * 60_000, id="empty lines"),
        pytest.param("name: key" + " " * 60_000, id="spaces after a name"),
        pytest.param("-----BEGIN A-----\n" + "A" * 60_000 + " !", id="a line that is no PEM"),
    ],
)
def test_redact_log_time(text: str) -> None:
    """Each took minutes in an earlier version, and hours for a whole log."""
    assert redact_text(text).endswith(text[-2:])
    assert redact_data_of("log.txt", text)


def redact_data_of(name: str, content: str) -> object:
    return redact_object({"kind": "ConfigMap", "data": {name: content}})["data"][name]
