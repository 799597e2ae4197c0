# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The models that custom resources download."""

from __future__ import annotations

import json
import types

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.model_files.command import (
    ModelFilesCommand,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.model_files.model_files import (
    list_model_files,
    write_model_files,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    api_path,
    identity,
)

NGC = {"modelPuller": "nvcr.io/nim/llama:1", "pullSecret": "s"}
HF = {"endpoint": "https://hf.example", "namespace": "org", "modelPuller": "i:1", "authSecret": "a"}
PVC = {"create": True, "size": "50Gi", "subPath": "models"}
IMAGE = {"repository": "nvcr.io/nim/llm", "tag": "1"}


def resource(kind, name="llama", status=None, annotations=None, **spec):
    made = {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "nim", "annotations": annotations or {}},
        "spec": spec,
    }
    return made | ({"status": status} if status else {})


def cache(source, pvc=None, **fields):
    return resource("NIMCache", source=source, storage={"pvc": pvc or PVC}, **fields)


def service(name="llm", storage=None, **spec):
    return resource("NIMService", name, image=IMAGE, authSecret="a", storage=storage or {}, **spec)


def manifest_map(sizes):
    profiles = {
        name: {"model": "m", "tags": {"tp": "1"}, "workspace": {"files": {"w": {"size": size}}}}
        for name, size in sizes.items()
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "llama-manifest", "namespace": "nim"},
        "data": {"model_manifest.yaml": yaml.safe_dump(profiles)},
    }


def one(item, *known):
    return list_model_files([item], {identity(other): other for other in known})[0].to_dict()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"ngc": NGC}, {"source": "image nvcr.io/nim/llama:1", "image": "nvcr.io/nim/llama:1"}),
        ({"ngc": NGC | {"modelEndpoint": "ngc://o/m:1"}}, {"source": "ngc://o/m:1"}),
        ({"ngc": NGC | {"model": {"profiles": ["a", "b"]}}}, {"profiles": ["a", "b"], "criteria": {}}),
        ({"ngc": NGC | {"model": {"engine": "vllm", "lora": True}}},
         {"criteria": {"engine": "vllm", "lora": "True"}, "profiles": []}),
        ({"hf": HF | {"modelName": "m"}},
         {"source": "hf://org/m", "revision": "main", "endpoint": "https://hf.example"}),
        ({"hf": HF | {"datasetName": "d", "revision": "r"}}, {"source": "hf://org/d", "revision": "r"}),
        ({"dataStore": HF | {"modelName": "m"}}, {"source": "hf://org/m"}),
    ],
)  # fmt: skip
def test_list_model_files_of_cache(source, expected):
    found = one(cache(source))
    assert expected.items() <= found.items()
    assert (found["claim"], found["path"], found["is_prepared"]) == ("llama-pvc", "models", False)


def test_list_model_files_profiles_of_status():
    status = {"state": "Ready", "profiles": [{"name": "x"}]}
    found = one(cache({"ngc": NGC | {"model": {"engine": "vllm"}}}, status=status))
    assert (found["profiles"], found["criteria"]) == (["x"], {})


def test_list_model_files_size():
    source = {"ngc": NGC | {"model": {"profiles": ["a", "b"]}}}
    assert one(cache(source))["size"] is None
    known = manifest_map({"a": 5 << 30, "b": 7 << 30, "c": 9 << 30})
    found = one(cache(source), known)
    assert found["size"] == 7 << 30
    for text, size in (("1Gi", 1 << 30), ("0", None), ("x", None)):
        annotations = {"nimops.nim/model-size": text}
        assert one(cache(source, annotations=annotations), known)["size"] == size


def test_list_model_files_prepared():
    annotations = {"nimops.nim/prepared": "true"}
    found = list_model_files([cache({"ngc": NGC}, annotations=annotations)], {})
    assert found[0].is_prepared
    assert "prepared, image nvcr.io/nim/llama:1" in write_model_files(found)


def test_list_model_files_of_registry():
    """The model in the registry is what is downloaded."""
    annotations = {"nimops.nim/source": "oci://r.example/models/llama:1"}
    found = one(cache({"hf": HF | {"modelName": "m", "revision": "r"}}, annotations=annotations))
    assert (found["source"], found["revision"]) == ("oci://r.example/models/llama:1", "")


@pytest.mark.parametrize(
    ("storage", "claim", "path"),
    [
        ({"emptyDir": {}}, "", ""),
        ({"pvc": {"name": "c", "subPath": "p"}}, "c", "p"),
        ({"pvc": {"create": True, "size": "1Gi"}}, "llm-pvc", ""),
        ({"hostPath": "/models"}, "", "/models"),
    ],
)
def test_list_model_files_of_service(storage, claim, path):
    found = one(service(storage=storage))
    assert (found["source"], found["claim"], found["path"]) == (
        "image nvcr.io/nim/llm:1",
        claim,
        path,
    )


def test_list_model_files_of_service_with_uri():
    env = [{"name": "NIM_MODEL_NAME", "value": "hf://org/m"}]
    assert one(service(storage={"emptyDir": {}}, env=env))["source"] == "hf://org/m"
    env[0]["value"] = "/model-store"
    assert one(service(storage={"emptyDir": {}}, env=env))["source"] == "image nvcr.io/nim/llm:1"


def test_list_model_files_of_others():
    """A service with a NIMCache downloads nothing, nor does a NIMBuild."""
    spec = service(storage={"emptyDir": {}})["spec"]
    services = [
        {"name": "on", "enabled": True, "spec": spec},
        {"name": "off", "enabled": False, "spec": spec},
    ]
    found = list_model_files(
        [
            service(storage={"nimCache": {"name": "llama"}}),
            resource("NIMBuild", nimCache={"name": "llama"}),
            resource("NIMPipeline", services=services),
        ],
        {},
    )
    assert [(item.kind, item.name) for item in found] == [("NIMService", "on")]


def test_write_model_files():
    source = {"ngc": NGC | {"model": {"profiles": [f"{n}" * 64 for n in range(5)]}}}
    lines = write_model_files(list_model_files([cache(source)], {})).splitlines()
    assert lines[0].split() == [
        *("NAMESPACE", "KIND", "NAME", "SOURCE", "REVISION", "PROFILES", "SIZE", "CLAIM", "PATH"),
    ]  # fmt: skip
    assert "and 2 more" in lines[1]
    assert lines[1].split()[-3:] == ["?", "llama-pvc", "models"]


@pytest.fixture
def run(tmp_path):
    def run_command(client=None, output="json", **options):
        out, err = [], []
        console = types.SimpleNamespace(
            is_dry=False, wants_diff=False, variables={}, print_data=out.append,
            print_message=err.append, connect=lambda _given: client, find_filters=lambda: None,
            read_stdin=None,
        )  # fmt: skip
        spec = ModelFilesCommand.spec
        given = {key: option.get("default") for key, option in spec.items()}
        ModelFilesCommand(console).act(given | {"output": output} | options)
        return "\n".join(out), "\n".join(err)

    return run_command


def test_command_of_files(run, tmp_path):
    """Contacts no cluster; facts have what a cluster knows."""
    given, facts = tmp_path / "nim.yaml", tmp_path / "facts.yaml"
    items = [cache({"ngc": NGC | {"model": {"engine": "vllm"}}}), service(storage={"emptyDir": {}})]
    given.write_text(yaml.safe_dump_all(items))
    ready = cache({"ngc": NGC}, status={"state": "Ready", "profiles": [{"name": "a"}]})
    facts.write_text(yaml.safe_dump_all([ready, manifest_map({"a": 1 << 30})]))
    out, err = run(files=[str(given)], facts=[str(facts)])
    first, second = json.loads(out)
    assert (first["profiles"], first["size"]) == (["a"], 1 << 30)
    assert second["kind"] == "NIMService"
    assert "NIMService nim/llm downloads its model when its pods start" in err
    out, _err = run(files=[str(given)], output="text")
    assert out.splitlines()[1].startswith("nim         NIMCache")


def test_command_of_cluster(run, cluster, tmp_path):
    item = cache({"ngc": NGC | {"model": {"profiles": ["a"]}}})
    cluster.put(api_path("NIMCache", "nim", "llama"), item)
    known = manifest_map({"a": 1 << 30})
    cluster.put(api_path("ConfigMap", "nim", "llama-manifest"), known)
    out, _err = run(Client(cluster.kubeconfig(tmp_path)))
    assert [item["size"] for item in json.loads(out)] == [1 << 30]
    out, err = run(Client(cluster.kubeconfig(tmp_path)), output="text", namespace="other")
    assert (out, err) == ("", "nothing is downloaded")
