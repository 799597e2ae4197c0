# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""bundle, unbundle and model_files, called like by users."""

from __future__ import annotations

import importlib
import json

import pytest
import yaml
from oci_registry import Registry, serve

MODULES = "ansible_collections.nimops.nim.plugins.modules"
NIM = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMCache",
    "metadata": {"name": "llama"},
    "spec": {
        "storage": {"pvc": {"create": True, "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"}}
    },
}


@pytest.fixture
def registry():
    servers = []

    def start():
        made = Registry()
        servers.append(serve(made))
        made.host = made.url.removeprefix("http://")
        return made

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_bundle_and_unbundle(call, registry, tmp_path):
    source, mirror = registry(), registry()
    source.add_image("nim/llm", "1", b"layer")
    puller = {"ngc": {"modelPuller": f"{source.host}/nim/llm:1", "pullSecret": "s"}}
    resource = NIM | {"spec": NIM["spec"] | {"source": puller}}
    (tmp_path / "nim.yaml").write_text(yaml.safe_dump(resource))
    (tmp_path / "model").mkdir()
    (tmp_path / "model/weights").write_text("w")
    code, out, err = call(
        "bundle",
        files="nim.yaml",
        path="bundle",
        models={"models/llama:1": "model"},
        plain_http=[source.host],
    )
    assert (code, out) == (0, ""), err
    assert f"packed {source.host}/nim/llm:1: 7 bytes" in err
    code, out, err = call("unbundle", bundle="bundle", to=mirror.host, plain_http=[mirror.host])
    assert code == 0, err
    copy = f"{mirror.host}/{source.host.replace(':', '_')}/nim/llm:1"
    assert out.splitlines() == [
        f"{source.host}/nim/llm:1 {copy}",
        f"models/llama:1 {mirror.host}/models/llama:1",
    ]
    assert ("models/llama", "1") in mirror.manifests
    code, out, err = call("unbundle", bundle="missing", to=mirror.host)
    assert (code, out) == (2, "")
    assert "missing: is not a folder that bundle wrote" in err


def test_bundle_of_nothing(call):
    code, _out, err = call("bundle", path="bundle")
    assert (code, "files: missing" in err) == (2, True)


def test_model_files(call, tmp_path):
    source = {"hf": {"endpoint": "https://hf.example", "namespace": "o", "modelName": "m",
                     "modelPuller": "i:1", "authSecret": "a", "pullSecret": "p"}}  # fmt: skip
    (tmp_path / "nim.yaml").write_text(
        yaml.safe_dump(NIM | {"spec": NIM["spec"] | {"source": source}})
    )
    code, out, err = call("model_files", files="nim.yaml", nim_namespace="nim", output="json")
    assert (code, err) == (0, "")
    assert json.loads(out)[0]["source"] == "hf://o/m"
    code, out, err = call("model_files")
    assert (code, out) == (0, "")
    assert "nothing is downloaded" in err


def test_bundle_examples(call, tmp_path):
    """They run in check mode: the registries in them do not exist."""
    spec = NIM["spec"] | {"source": {"ngc": {"modelPuller": "r.example/a:1", "pullSecret": "s"}}}
    (tmp_path / "nim.yaml").write_text(yaml.safe_dump(NIM | {"spec": spec}))
    (tmp_path / "ca.pem").write_text("")
    (tmp_path / "bundle").mkdir()
    entry = {"mediaType": "t", "digest": f"sha256:{0:064x}", "size": 1}
    entry["annotations"] = {"org.opencontainers.image.ref.name": "r.example/a:1"}
    (tmp_path / "bundle/oci-layout").write_text("{}")
    (tmp_path / "bundle/index.json").write_text(json.dumps({"manifests": [entry]}))
    modules = ("nim_bundle", "nim_unbundle")
    tasks = [
        task
        for module in modules
        for task in yaml.safe_load(importlib.import_module(f"{MODULES}.{module}").EXAMPLES)
    ]
    play = {"hosts": "localhost", "gather_facts": False, "tasks": tasks}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    code, out, err = call("play.yml", "--check")
    assert code == 0, err
    assert "models/llama:1.0, r.example/a:1, registry.example.com/tools/debug:1.4" in err
    assert "r.example/a:1 registry.example.com/mirror/r.example/a:1" in out
