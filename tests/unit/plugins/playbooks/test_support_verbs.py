# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""profiles and gather, called like by users: stdout, stderr and the exit code."""

from __future__ import annotations

import importlib
import json
import os
import signal
import stat
import tarfile
import time
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.model_manifest import (
    BEGIN_MARK,
    END_MARK,
    NOT_FOUND,
)

ROOT = Path(__file__).resolve().parents[4]
MANIFESTS = {version: str(ROOT / "sandbox" / f"manifest{version}.yaml") for version in ("", "-v2")}
MANIFEST = Path(MANIFESTS["-v2"]).read_text()
NODE = {
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"nvidia.com/gpu.product": "NVIDIA-L40S"}},
}
POD_LOG = f"{BEGIN_MARK}\n{MANIFEST}\n{END_MARK}\n"
SECRET = "Pl4nt3d"


def fits(out):
    """Whether each profile fits, as the table says it."""
    return [line.split("   ")[-2].strip() for line in out.splitlines()[1:]]


def test_profiles_of_file(call):
    code, out, err = call("profiles", manifest=MANIFESTS["-v2"], gpus="H100", kubeconfig="/no")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split()[:3] == ["ID", "MODEL", "GPU"]
    assert fits(out) == ["yes", "yes", "no", "no", "no"]
    assert "gpus wanted H100, profile has A100" in out


def test_profiles_with_gpus_of_nodes(call, cluster):
    cluster.put("/api/v1/nodes/n", NODE)
    code, out, err = call("profiles", manifest=MANIFESTS["-v2"], output="json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert found["gpu_products"] == ["NVIDIA-L40S"]
    assert len(found["fitting"]) == 3
    given = {"manifest": MANIFESTS["-v2"], "gpu_products": "NVIDIA-L40S"}
    same = call("profiles", output="json", **given)
    assert same == (code, out, err)


def test_profiles_of_version_1_ignore_gpus(call):
    code, out, err = call("profiles", manifest=MANIFESTS[""], precision="fp8")
    assert code == 0
    assert fits(out).count("yes") == 3
    assert err.startswith("GPUs are ignored: the manifest is of version 1")


def test_profiles_none_fits(call):
    given = {"manifest": MANIFESTS["-v2"], "gpu_products": "NVIDIA-H100", "precision": "int4"}
    code, out, err = call("profiles", **given)
    assert (code, err) == (2, "FAILED: none of 5 profiles fits\n")
    assert fits(out) == ["no"] * 5
    wishes = {
        "tensor_parallelism": "8",
        "qos_profile": "latency",
        "lora": "false",
        "engine": "vllm",
    }
    code, out, _err = call(
        "profiles", manifest=MANIFESTS["-v2"], output="json", gpus=["x"], **wishes
    )
    assert code == 2
    assert json.loads(out)["wanted"] == {
        "engine": "vllm",
        "tensorParallelism": "8",
        "qosProfile": "latency",
        "lora": False,
        "gpus": [{"product": "x"}],
    }


def put_cache(cluster, model):
    source = {"ngc": {"modelPuller": "registry.example/llm:1", "model": model}}
    metadata = {"name": "models", "namespace": "nim"}
    cluster.put(
        api_path("NIMCache", "nim", "models"), {"metadata": metadata, "spec": {"source": source}}
    )
    kept = {"metadata": {"name": "models-manifest"}, "data": {"model_manifest.yaml": MANIFEST}}
    cluster.put(api_path("ConfigMap", "nim", "models-manifest"), kept)


def test_profiles_of_cache(call, cluster):
    cluster.put("/api/v1/nodes/n", NODE)
    put_cache(cluster, {"precision": "fp16", "engine": "tensorrt_llm", "profiles": ["all"]})
    code, out, err = call("profiles", nimcache="models", nim_namespace="nim", output="json")
    assert code == 0
    assert json.loads(out)["wanted"] == {"precision": "fp16", "engine": "tensorrt_llm"}
    assert len(json.loads(out)["fitting"]) == 1
    assert err.startswith("the NIMCache lists its profiles (all)")
    code, out, _err = call("profiles", nimcache="models", nim_namespace="nim", precision="fp8")
    assert code == 2
    assert {item.method for item in cluster.server.requests} == {"GET"}


@pytest.fixture
def image(cluster):
    """Pods that run at once, and print this."""
    respond = cluster.server.respond
    made = []

    def play(log, phase="Running"):
        def answer(request):
            response = respond(request)
            if request.method == "PATCH" and "/pods/" in request.path:
                made.append(request.path)
                cluster.texts[f"{request.path}/log"] = log
                cluster.objects[request.path]["status"] = {"phase": phase}
            return response

        cluster.server.respond = answer
        return made

    return play


def test_profiles_of_image(call, cluster, image):
    cluster.put("/api/v1/nodes/n", NODE)
    made = image(POD_LOG)
    code, out, err = call(
        *("profiles", "--check"), image="registry.example/llm:1", nim_namespace="nim"
    )
    assert (code, out, made) == (0, "", [])
    assert err == "would create a pod that prints the model manifest of registry.example/llm:1\n"
    given = {"image": "registry.example/llm:1", "nim_namespace": "nim", "pull_secrets": "a,b"}
    code, out, err = call("profiles", **given)
    assert (code, err) == (0, "")
    assert fits(out) == ["yes"] * 3 + ["no"] * 2
    assert len(made) == 1
    assert list(cluster.objects) == ["/api/v1/nodes/n"]
    (patch,) = cluster.calls("PATCH")
    assert patch.body["spec"]["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]


def test_profiles_of_image_without_manifest(call, cluster, image):
    image(NOT_FOUND)
    code, out, err = call("profiles", image="registry.example/llm:1")
    assert (code, out) == (2, "")
    assert err == "FAILED: registry.example/llm:1 has no model manifest\n"
    assert cluster.objects == {}


def test_profiles_of_image_timeout(call, cluster, image):
    image("", phase="Pending")
    code, out, err = call("profiles", image="registry.example/llm:1", wait_timeout=1)
    assert (code, out) == (2, "")
    assert "FAILED: image: no manifest after 1 s of waiting for Pod nim-profiles-" in err
    assert cluster.objects == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda item: item.name)
def test_profiles_interrupted_deletes_pod(start, cluster, image, number):
    made = image("", phase="Pending")
    with start("profiles", image="registry.example/llm:1") as process:
        try:
            wait_for(lambda: len(cluster.calls("GET")) > 3)
            send(process, number)
            assert process.wait(60)
        finally:
            process.kill()
    wait_for(lambda: cluster.objects == {})
    assert len(made) == 1


def send(process, number):
    """Ctrl-C reaches all processes of a terminal, `kill` only the one."""
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)


def wait_for(is_so):
    for _number in range(600):
        if is_so():
            return
        time.sleep(0.1)
    pytest.fail("nothing came of it")


WRONG = {
    "no source": ({}, "one of the following is required: manifest, nimcache, image"),
    "two sources": ({"manifest": "x", "image": "y"}, "parameters are mutually exclusive"),
    "no such file": ({"manifest": "nowhere.yaml"}, "nowhere.yaml: No such file or directory"),
    "no manifest": ({"manifest": "list.yaml"}, "the model manifest cannot be read: it is no"),
    "no such cache": ({"nimcache": "x"}, "NIMCache default/x does not exist"),
    "a GPU that is none": ({"manifest": "x", "gpus": [1]}, "gpus: 1 is neither a product nor"),
    "no such quality": ({"manifest": "x", "qos_profile": "y"}, "value of qos_profile must be one"),
}


@pytest.mark.parametrize(("given", "message"), WRONG.values(), ids=WRONG)
def test_profiles_invalid_options(call, tmp_path, given, message):
    (tmp_path / "list.yaml").write_text("[]")
    code, out, err = call("profiles", **given)
    assert (code, out) == (2, "")
    assert message in err


def test_profiles_without_permission_on_nodes(call, cluster, refused):
    cluster.refuse["GET", "/api/v1/nodes"] = [refused(403, "nodes is forbidden")]
    code, _out, err = call("profiles", manifest=MANIFESTS["-v2"])
    assert code == 2
    assert "nodes is forbidden (set gpus or gpu_products to avoid reading nodes)" in err


@pytest.mark.parametrize("verb", ["profiles", "gather"])
def test_support_verbs_unreachable(call, verb, tmp_path):
    given = {"manifest": MANIFESTS["-v2"]} if verb == "profiles" else {}
    code, out, err = call(verb, kubeconfig="/nowhere", **given)
    assert (code, out) == (4, "")
    assert err.startswith("ERROR: no usable kubeconfig /nowhere: it does not exist")
    assert [item for item in tmp_path.iterdir() if "gather" in item.name] == []


@pytest.fixture
def service(cluster):
    env = [{"name": "NGC_API_KEY", "value": SECRET}]
    metadata = {"name": "llm", "namespace": "nim", "annotations": {"example.com/token": SECRET}}
    spec = {"env": env, "authSecret": "ngc-api"}
    cluster.put(api_path("NIMService", "nim", "llm"), {"metadata": metadata, "spec": spec})
    owner = {"uid": cluster.objects[api_path("NIMService", "nim", "llm")]["metadata"]["uid"]}
    pod = {
        "metadata": {"name": "llm-1", "namespace": "nim", "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "main", "env": env}]},
        "status": {"containerStatuses": [{"name": "main", "state": {"running": {}}}]},
    }
    cluster.put(api_path("Pod", "nim", "llm-1"), pod)
    log = f"loaded\nkey nvapi-{SECRET}\n"
    cluster.texts[f"{api_path('Pod', 'nim', 'llm-1')}/log"] = log


def unpack(path):
    with tarfile.open(path) as tar:
        names = tar.getnames()
        return {name: tar.extractfile(name).read().decode() for name in names}


def test_gather_to_file(call, cluster, service, tmp_path):
    code, out, err = call("gather", path="seen.tar.gz")
    path = tmp_path / "seen.tar.gz"
    assert (code, out) == (0, f"{path}\n")
    assert "1 custom resources in the cluster" in err
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    files = unpack(path)
    assert "loaded" in files["seen/namespaces/nim/pods/llm-1/main.log"]
    assert not [name for name, text in files.items() if SECRET in text]
    assert SECRET not in err
    index = json.loads(files["seen/index.json"])
    assert index["about"]["namespace"] == "all"
    assert index["versions"]["kubernetes"] == "v1.34.0"
    assert index["versions"]["nimops.nim"].startswith("0.")
    assert {item.method for item in cluster.server.requests} == {"GET"}
    assert [item.name for item in tmp_path.iterdir() if item.name.startswith(".seen")] == []


def test_gather_to_folder_as_data(call, service, tmp_path):
    (tmp_path / "out").mkdir()
    code, out, _err = call(
        "gather", path="out", output="json", resource="nimservice/llm", nim_namespace="nim"
    )
    found = json.loads(out)
    assert code == 0
    (file,) = (tmp_path / "out").iterdir()
    assert file.name.startswith("nim-gather-2")
    assert found["path"] == str(file)
    assert found["bytes"] == file.stat().st_size
    assert "namespaces/nim/nimservices.apps.nvidia.com/llm.yaml" in found["files"]
    assert found["cut"] == []
    assert [item["what"] for item in found["unread"]] == ["the operator in nimops-system"]


def test_gather_in_check_mode(call, cluster, tmp_path):
    code, out, err = call("gather", "--check", path="seen.tar.gz")
    assert (code, out, err) == (0, "", f"would write {tmp_path}/seen.tar.gz\n")
    assert cluster.server.requests == []


MISTAKES = {
    "no such folder": ({"path": "no/such/x.tar.gz"}, "x.tar.gz: No such file or directory"),
    "no such resource": ({"resource": "NIMService/x"}, "NIMService default/x does not exist"),
    "no such kind": ({"resource": "x"}, "'x' is not a kind and name such as NIMService/llm"),
    "no size": ({"max_mib": 0}, "max_mib: is 0; use 1 or more"),
    "no time": ({"wait_timeout": 0}, "wait_timeout: is 0; use 1 or more"),
}


@pytest.mark.parametrize(("given", "message"), MISTAKES.values(), ids=MISTAKES)
def test_gather_failure_leaves_no_file(call, tmp_path, given, message):
    code, out, err = call("gather", **given)
    assert (code, out) == (2, "")
    assert message in err
    assert [item for item in tmp_path.iterdir() if "gather" in item.name] == []


def test_gather_interrupted_leaves_no_file(start, cluster, tmp_path):
    respond = cluster.server.respond

    def answer(request):
        if "/nodes" in request.path:
            time.sleep(30)
        return respond(request)

    cluster.server.respond = answer
    with start("gather") as process:
        try:
            wait_for(lambda: any(".nim-gather" in item.name for item in tmp_path.iterdir()))
            wait_for(lambda: any("/nodes" in item.path for item in cluster.calls("GET")))
            process.send_signal(signal.SIGTERM)
            assert process.wait(60)
        finally:
            process.kill()
    wait_for(lambda: not any("nim-gather" in item.name for item in tmp_path.iterdir()))


@pytest.mark.parametrize("name", ["nim_profiles_info", "nim_gather"])
def test_support_verbs_examples(call, cluster, image, service, tmp_path, name):
    """Examples of the documentation run unchanged."""
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    cluster.put("/api/v1/nodes/n", {"kind": "Node", "metadata": {"name": "n", "labels": labels}})
    put_cache(cluster, {"precision": "int4"})
    image(POD_LOG)
    (tmp_path / "manifest.yaml").write_text(MANIFEST)
    module = importlib.import_module(f"ansible_collections.nimops.nim.plugins.modules.{name}")
    tasks = yaml.safe_load(module.EXAMPLES)
    (tmp_path / "examples.yml").write_text(
        yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}])
    )
    code, out, err = call("examples.yml", callback="ansible.builtin.default")
    assert code == 0, out + err
    assert f"ok={len(tasks)} " in out
