# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Redaction removes credentials, and keeps data for support."""

from __future__ import annotations

import json
import time

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.gather.redact import (
    MARK,
    is_sensitive_name,
    redact_object,
    redact_text,
)

SECRET = "S3cr3tW0rd"
MAX_SECONDS = 20
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow{}\n-----END RSA PRIVATE KEY-----"

TEXTS = {
    "environment": f"NGC_API_KEY={SECRET}",
    "exported": f"export HF_TOKEN={SECRET}",
    "YAML": f"password: {SECRET} and {SECRET}",
    "YAML with commas": f"password: {SECRET}, {SECRET}; {SECRET}",
    "YAML after a timestamp": f"2026-01-01T00:00:00Z token: {SECRET}",
    "YAML in quotes": f'password: "a \\" {SECRET}"',
    "YAML in several lines": f"password: |\n  {SECRET}\n  {SECRET}\nother: kept",
    "YAML folded, indented": f"  secret: >-\n     {SECRET}\n\n     {SECRET}\n  other: kept",
    "a quoted value without its end": f'password="{SECRET}',
    "a quoted value in several lines": f"password='{SECRET}\n{SECRET}'",
    "INI file": f"db_password = {SECRET} {SECRET}",
    "JSON": f'{{"auth":"{SECRET}","other":"kept"}}',
    "JSON in JSON": f'\\"password\\":\\"{SECRET}\\",\\"other\\":\\"kept\\"',
    "JSON in JSON in JSON": f'\\\\\\"token\\\\\\":\\\\\\"{SECRET}\\\\\\"',
    "Python": f"{{'token': '{SECRET}', 'other': 'kept'}}",
    "a parameter of a URL": f"path=https://kept.example/x?token={SECRET}&other=kept",
    "an assignment in a message": f"message: password={SECRET}",
    "a flag": f"--api-key {SECRET} --model kept",
    "a flag with =": f"--token={SECRET} --model kept",
    "a flag in quotes": f'--password "{SECRET} {SECRET}"',
    "a header": f"X-Api-Key: {SECRET}",
    "basic authorization": f"Authorization: Basic {SECRET}",
    "basic authorization in a log": f"2026Z sent Authorization: Basic {SECRET} kept",
    "basic authorization in JSON": f'{{"Authorization": "Basic {SECRET}"}}',
    "bearer": f"curl -H 'Authorization: Bearer {SECRET}' kept",
    "bearer in prose": f"sent bearer {SECRET}",
    "cookie": f"Set-Cookie: session={SECRET}",
    "signed URL": f"https://s3.example/x?X-Amz-Signature={SECRET}&X-Amz-Credential={SECRET}",
    "user in URL": f"https://user:{SECRET}@kept.example/x",
    "password without a user in URL": f"redis://:{SECRET}@kept:6379/0",
    "user without a URL": f"https_proxy=user:{SECRET}@kept:3128",
    "token in URL": f"https://{SECRET}@kept.example/x",
    "an @ in the password of a URL": f"postgresql://u:{SECRET}@{SECRET}@kept/db",
    "name and value in YAML": f"- name: NGC_API_KEY\n  value: {SECRET}\n- name: kept",
    "name and value in JSON": f'[{{"name":"HF_TOKEN","value":"{SECRET}"}}]',
    "name and value in Go syntax": f"{{Name:NGC_API_KEY Value:{SECRET} ValueFrom:nil}}",
    "PEM": PEM.format(SECRET) + "\nkept",
    "PEM in one line": json.dumps(PEM.format(SECRET)) + " kept",
    "PEM after timestamps": PEM.format(SECRET).replace("\n", "\n2026-01-01T00:00:00Z ") + "\nkept",
    "PEM without an end": f"kept\n-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA{SECRET}+/=\n",
    "PEM without an end, after timestamps": f"-----BEGIN KEY-----\n2026Z MIIEowIBAAKCAQEA{SECRET}\nkept 1",
    "PEM without a beginning": f"{SECRET}\n-----END RSA PRIVATE KEY-----\nkept",
    "PEM in base64": "x LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo= kept",
}

KNOWN_TOKENS = [
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

HARMLESS = [
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
    assert SECRET not in found
    assert "LS0t" not in found
    assert MARK in found
    assert ("kept" in found) == ("kept" in text)
    assert redact_text(found).count(MARK) == found.count(MARK), "redacting again changes nothing"


@pytest.mark.parametrize("token", KNOWN_TOKENS)
@pytest.mark.parametrize("text", ["{}", "got {}, and", '"{}"', "a/{}/b", "x={}", "2026Z {}\nnext"])
def test_redact_text_tokens(token, text):
    assert redact_text(text.format(token)) == text.format(MARK)


@pytest.mark.parametrize("text", HARMLESS)
def test_redact_text_keeps(text):
    assert redact_text(text) == text


@pytest.mark.parametrize(
    ("name", "is_sensitive"),
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
def test_is_sensitive_name(name, is_sensitive):
    assert is_sensitive_name(name) is is_sensitive


OBJECTS = {
    "environment": {"env": [{"name": "NGC_API_KEY", "value": SECRET}]},
    "environment in a URL": {
        "env": [{"name": "HTTPS_PROXY", "value": f"http://u:{SECRET}@p:3128"}]
    },
    "a number": {"env": [{"name": "DB_PASSWORD", "value": 12345678}]},
    "arguments": {"args": ["--api-key", SECRET, "--model", "kept"]},
    "an argument": {"args": [f"--api-key={SECRET}"]},
    "a script": {"command": ["sh", "-c", f"export HF_TOKEN={SECRET}; run"]},
    "an annotation": {"metadata": {"annotations": {"example.com/api-token": SECRET}}},
    "last applied": {"metadata": {"annotations": {LAST_APPLIED: f'{{"x":"{SECRET}"}}'}}},
    "a field": {"spec": {"credentials": {"password": SECRET}}},
    "a list": {"spec": {"tokens": [SECRET, SECRET]}},
    "a message": {"status": {"conditions": [{"message": f"login with password={SECRET} failed"}]}},
    "managed fields": {
        "metadata": {"managedFields": [{"manager": "m", "fieldsV1": {f"v:{SECRET}": {}}}]}
    },
    "a Secret": {"kind": "Secret", "data": {"x": SECRET}, "stringData": {"y": SECRET}},
    "a Secret with data of the wrong type": {
        "kind": "Secret",
        "data": SECRET,
        "stringData": [SECRET],
    },
    "a file": {"kind": "ConfigMap", "data": {"config.yaml": f"db:\n  password: {SECRET}\n"}},
    "a value": {"kind": "ConfigMap", "data": {"authSecret": SECRET, "api-key": SECRET}},
    "registry credentials": {
        "kind": "ConfigMap",
        "data": {".dockerconfigjson": f'{{"x":"{SECRET}"}}'},
    },
    "registry credentials in a file": {
        "kind": "ConfigMap",
        "data": {"c": f'{{"auths":{{"r":{{"auth":"{SECRET}"}}}}}}'},
    },
    "a Secret in a manifest": {
        "kind": "ConfigMap",
        "data": {"all.yaml": f"apiVersion: v1\nkind: Secret\ndata:\n  x: {SECRET}\n"},
    },
    "binary": {"kind": "ConfigMap", "binaryData": {"x": SECRET}},
}


@pytest.mark.parametrize("item", OBJECTS.values(), ids=OBJECTS)
def test_redact_object(item):
    before = json.dumps(item)
    found = json.dumps(redact_object(item))
    assert SECRET not in found
    assert "12345678" not in found
    assert json.dumps(item) == before, "the input is not changed"


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
    """Pathological texts: if a pattern rescanned one, this test would take minutes."""
    started = time.process_time()
    assert len(redact_text(text)) <= 3 * len(text)
    assert time.process_time() - started < MAX_SECONDS


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("kind\n" + "\n" * 60_000, id="empty lines"),
        pytest.param("name: key" + " " * 60_000, id="spaces after a name"),
        pytest.param("-----BEGIN A-----\n" + "A" * 60_000 + " !", id="a line that is not PEM"),
    ],
)
def test_redact_log_time(text: str) -> None:
    """Texts for which an earlier version took minutes; hours for a whole log."""
    started = time.process_time()
    assert redact_text(text).endswith(text[-2:])
    assert redact_config_map("log.txt", text)
    assert time.process_time() - started < MAX_SECONDS


def redact_config_map(name: str, content: str) -> object:
    return redact_object({"kind": "ConfigMap", "data": {name: content}})["data"][name]
