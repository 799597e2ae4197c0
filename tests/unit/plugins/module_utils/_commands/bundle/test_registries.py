# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Credentials and authorities of a user."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.bundle.registries import (
    Registries,
)

NAMES = ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


def config(user):
    return json.dumps({"auths": {"r.example": {"username": user, "password": "pw"}}})


def credentials(**options):
    given = {"auth_file": None, "ca_file": None, "plain_http": []} | options
    registries = Registries(given)
    return registries.client_of("r.example")._access.find_credentials("r.example")


def test_client_of_without_files():
    assert credentials() == ""


@pytest.mark.parametrize(
    ("file", "variable", "value"),
    [
        ("home/.docker/config.json", "", ""),
        ("docker/config.json", "DOCKER_CONFIG", "docker"),
        ("podman.json", "REGISTRY_AUTH_FILE", "podman.json"),
        ("run/containers/auth.json", "XDG_RUNTIME_DIR", "run"),
    ],
)
def test_client_of_found_file(tmp_path, monkeypatch, file, variable, value):
    place = tmp_path / file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(config("found"))
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / value))
    assert credentials() == "found:pw"
    given = tmp_path / "given.json"
    given.write_text(config("given"))
    assert credentials(auth_file=str(given)) == "given:pw"


@pytest.mark.parametrize("option", ["auth_file", "ca_file"])
@pytest.mark.parametrize("content", [None, b"\xff", b" " * (5 << 20)])
def test_client_of_unusable_file(tmp_path, option, content):
    file = tmp_path / "file"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(NimError, match=f"^{option}: .*file: "):
        credentials(**{option: str(file)})


def test_client_of_invalid_authority(tmp_path):
    (tmp_path / "ca.pem").write_text("text")
    with pytest.raises(NimError, match=r"^ca_file: a certificate authority is not valid PEM"):
        credentials(ca_file=str(tmp_path / "ca.pem"))


def test_client_of_is_shared():
    registries = Registries({"auth_file": None, "ca_file": None, "plain_http": ["a"]})
    assert registries.client_of("a") is registries.client_of("a")
    assert registries.client_of("a")._base == "http://a/v2/"
    assert registries.client_of("b")._base == "https://b/v2/"
