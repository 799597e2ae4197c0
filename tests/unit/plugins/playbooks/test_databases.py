# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""nemo_dependencies without a PostgreSQL server; tests/database has one."""

from __future__ import annotations

import importlib

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path

METADATA = {"name": "e", "namespace": "nemo"}
DATABASE = {
    "host": "db",
    "databaseName": "data",
    "credentials": {"user": "{{ lookup('env', 'HOME') }}", "secretName": "pw"},
}
RESOURCE = {"kind": "NemoEvaluator", "metadata": METADATA, "spec": {"databaseConfig": DATABASE}}


@pytest.fixture
def resource(cluster):
    return cluster.put(api_path("NemoEvaluator", "nemo", "e"), RESOURCE)


def test_databases_example_connects(call, cluster, tmp_path):
    """Runs unchanged, except for options that name a server."""
    module = "ansible_collections.nimops.nim.plugins.modules.nim_databases"
    (task,) = yaml.safe_load(importlib.import_module(module).EXAMPLES)
    given = task["nimops.nim.nim_databases"]
    credentials = {"user": "me", "secretName": "pw"}
    fine = RESOURCE | {"spec": {"databaseConfig": DATABASE | {"credentials": credentials}}}
    cluster.put(api_path("NemoEvaluator", "nemo", "e"), fine)
    del given["files"]
    given |= {"login_host": "127.0.0.1", "login_port": 1}
    play = {"hosts": "localhost", "gather_facts": False, "tasks": [task]}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    code, out, err = call("play.yml", password_of_admin="of-the-admin")
    assert code == 2
    assert "PostgreSQL: " in err
    assert "refused" in err
    assert "of-the-admin" not in out + err
    assert cluster.calls("PATCH") == []


def test_databases_empty_namespace(call):
    code, _out, err = call("nemo_dependencies", nim_namespace="empty")
    assert (code, "namespace empty has no NeMo resource" in err) == (2, True)


def test_databases_files_without_database(call, tmp_path):
    (tmp_path / "secret.yaml").write_text("{apiVersion: v1, kind: Secret, metadata: {name: x}}")
    code, _out, err = call("nemo_dependencies", files="secret.yaml")
    assert (code, "there is no custom resource of apps.nvidia.com" in err) == (2, True)


def test_databases_without_api_server(call):
    code, _out, err = call("nemo_dependencies", kubeconfig="/nowhere")
    assert (code, "no usable kubeconfig /nowhere" in err) == (4, True)


def test_databases_names_are_no_templates(call, cluster, resource):
    code, _out, err = call("nemo_dependencies", nim_namespace="nemo")
    assert code == 2
    assert "credentials.user: \"{{ lookup('env', 'HOME') }}\" has" in err
