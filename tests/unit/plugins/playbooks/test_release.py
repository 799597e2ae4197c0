# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""release, called like by users."""

from __future__ import annotations

import importlib
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    api_path,
    collection_path,
)

ROOT = Path(__file__).resolve().parents[4]
NIM = json.loads((ROOT / "tests/nimservice.json").read_text())
FINALIZER = "finalizer.nimservice.apps.nvidia.com"
PATH = api_path("NIMService", "nim", "llm")
LISTED = f"- {FINALIZER} of NIMService nim/llm\n"


@pytest.fixture
def held(cluster):
    """A NIMService with our finalizer and a foreign one."""
    metadata = NIM["metadata"] | {"finalizers": [FINALIZER, "example.com/x"]}
    return cluster.put(PATH, NIM | {"metadata": metadata})


def finalizers(cluster):
    return cluster.objects[PATH]["metadata"].get("finalizers")


def test_release(call, cluster, held):
    code, out, err = call("release")
    assert (code, out) == (0, LISTED), err
    assert "nothing was written: run it again with -e yes=true" in err
    assert call("release", "--check", yes=True)[0] == 0
    assert {item.method for item in cluster.server.requests} == {"GET"}
    code, out, err = call("release", yes=True)
    assert (code, out) == (0, LISTED), err
    assert "finalizers removed: 1" in err
    assert finalizers(cluster) == ["example.com/x"]
    code, out, err = call("release", yes=True)
    assert (code, out) == (0, "")
    assert "no custom resource has a finalizer of nimops.nim" in err


def test_release_other_namespace(call, cluster, held):
    code, _out, err = call("release", yes=True, nim_namespace="other")
    assert (code, "no custom resource has" in err) == (0, True)
    assert finalizers(cluster) == [FINALIZER, "example.com/x"]


def test_release_running_operator(call, cluster, held):
    renewed = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    spec = {"holderIdentity": "me_1", "leaseDurationSeconds": 600, "renewTime": renewed}
    cluster.kinds["Lease"] = ("coordination.k8s.io/v1", "leases")
    path = collection_path("coordination.k8s.io/v1", "leases", "ops", "a0715c6e.nvidia.com")
    metadata = {"name": "a0715c6e.nvidia.com", "namespace": "ops"}
    cluster.put(path, {"metadata": metadata, "spec": spec})
    for yes in (False, True):
        code, out, err = call("release", yes=yes)
        assert (code, out) == (2, LISTED)
        assert "me_1 holds the Lease ops/a0715c6e.nvidia.com: stop this operator first" in err
    assert finalizers(cluster) == [FINALIZER, "example.com/x"]


def test_release_examples(call, cluster, held, tmp_path):
    module = importlib.import_module("ansible_collections.nimops.nim.plugins.modules.nim_release")
    play = {"hosts": "localhost", "gather_facts": False, "tasks": yaml.safe_load(module.EXAMPLES)}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    code, out, err = call("play.yml", callback="ansible.builtin.default")
    assert code == 0, out + err
    assert "ok=3 changed=2 " in " ".join(out.split())
