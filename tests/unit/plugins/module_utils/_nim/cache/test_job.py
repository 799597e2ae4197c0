# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Job: command, environment and mounts of each type of download."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.app import NIMCacheApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.job import (
    build_job,
    downloads_otherwise,
    profiles_of,
)

NGC = {"modelPuller": "nvcr.io/nim/x:1", "pullSecret": "ngc-secret", "authSecret": "ngc-api-secret"}
HF = {
    "endpoint": "https://hf.co", "namespace": "org", "authSecret": "hf-secret",
    "modelPuller": "nvcr.io/nim/llm:1", "pullSecret": "ngc-secret",
}  # fmt: skip
MODEL, DATASET = {"modelName": "m"}, {"datasetName": "d"}
HF_ENV = {
    "HF_ENDPOINT": "https://hf.co", "HF_HUB_OFFLINE": "0", "NIM_CACHE_PATH": "/model-store",
    "HF_HOME": "/model-store/huggingface/hub",
}  # fmt: skip
PROXY_NAMES = [
    "NIM_SDK_USE_NATIVE_TLS", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy",
]  # fmt: skip
SELF_PULL = "download-to-cache --model-uri {} --manifest-file /model-store/model_manifest.json"
HF_PULL = "huggingface-cli download {} --local-dir /model-store --repo-type {}"


def pod_of(cr, cache_type="", profiles=("a",), orchestrator="Kubernetes"):
    return build_job(NIMCacheApp(cr), cache_type, profiles, orchestrator)["spec"]["template"][
        "spec"
    ]


def main_of(cr, cache_type="", profiles=("a",)):
    return pod_of(cr, cache_type, profiles)["containers"][0]


def names(container):
    return [item["name"] for item in container["env"]]


JOB_COMMAND = {
    "ids": ({"ngc": NGC}, "", ["a", "b"], "download-to-cache", "--profiles a b"),
    "all": ({"ngc": NGC}, "", ["all"], "download-to-cache", "--all"),
    "free-all": ({"ngc": NGC}, "model-free", ["all"], "download-to-cache", "--all"),
    "native": ({"ngc": NGC}, "native", [], "", ""),
    "endpoint": (
        {"ngc": NGC | {"modelEndpoint": "ngc://m"}}, "", [], "create-model-store",
        "--model-repo ngc://m --model-store /model-store",
    ),
    "hf": ({"hf": HF | MODEL}, "", [], HF_PULL.format("org/m", "model"), ""),
    "hf-revision": (
        {"hf": HF | MODEL | {"revision": "r1"}}, "", [],
        HF_PULL.format("org/m", "model") + " --revision r1", "",
    ),
    "hf-dataset": ({"hf": HF | DATASET}, "", [], HF_PULL.format("org/d", "dataset"), ""),
    "model-free": ({"hf": HF | MODEL}, "model-free", [], SELF_PULL.format("hf://org/m"), ""),
    "model-free-revision": (
        {"hf": HF | MODEL | {"revision": "r1"}}, "model-free", [],
        SELF_PULL.format("hf://org/m:r1"), "",
    ),
    "model-free-dataset": (
        {"hf": HF | DATASET}, "model-free", [], HF_PULL.format("org/d", "dataset"), "",
    ),
    "dataStore": ({"dataStore": HF | MODEL}, "", [], HF_PULL.format("org/m", "model"), ""),
    "dataStore-model-free": (
        {"dataStore": HF | MODEL}, "model-free", [], SELF_PULL.format("hf://org/m"), "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("source", "cache_type", "profiles", "command", "args"),
    JOB_COMMAND.values(),
    ids=JOB_COMMAND,
)
def test_build_job_command(cache, source, cache_type, profiles, command, args):
    container = main_of(cache(source=source), cache_type, profiles)
    assert " ".join(container.get("command", [])) == command
    assert " ".join(container.get("args", [])) == args


@pytest.mark.parametrize(
    ("source", "cache_type", "env", "paths", "logs"),
    [
        pytest.param({"ngc": NGC}, "", {"NIM_CACHE_PATH": "/model-store"}, ["/model-store"], True, id="ngc"),
        pytest.param(
            {"ngc": NGC | {"modelEndpoint": "x"}}, "", {"NIM_CACHE_PATH": "/model-store"},
            ["/model-store"], True, id="endpoint",
        ),
        pytest.param({"hf": HF | MODEL}, "", HF_ENV, ["/model-store"], False, id="hf"),
        pytest.param({"hf": HF | MODEL}, "model-free", HF_ENV, ["/model-store"], False, id="free"),
        pytest.param(
            {"ngc": NGC}, "native",
            {"NIM_ENGINE_MODEL_DOWNLOAD_ONLY": "1", "NIM_ENGINE_MODEL_PATH": "/model/llama"},
            ["/model", "/opt/cache"], True, id="native",
        ),
    ],
)  # fmt: skip
def test_build_job_env_and_mounts(cache, source, cache_type, env, paths, logs):
    container = main_of(cache(source=source), cache_type)
    assert {item["name"]: item["value"] for item in container["env"]} == env
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == [*paths, "/scratch"]
    assert ("terminationMessagePolicy" in container) is logs


def test_build_job_sub_path(cache):
    cr = cache(source={"ngc": NGC}, pvc={"name": "shared", "subPath": "007"})
    mounts = main_of(cr, "native")["volumeMounts"]
    assert [mount.get("subPath") for mount in mounts] == ["007", "007", None]
    assert pod_of(cr)["volumes"][0]["persistentVolumeClaim"] == {"claimName": "shared"}


def test_build_job_user_env_first(cache):
    cr = cache(env=[{"name": "X", "value": "1"}, {"name": "NIM_CACHE_PATH", "value": "/mine"}])
    assert main_of(cr)["env"] == cr["spec"]["env"]


def test_build_job_unique_env(cache):
    """Server-side apply refuses a second variable of a name; a container uses the last."""
    own = [{"name": "A", "value": "1"}, {"name": "B", "value": ""}, {"name": "A", "value": "2"}]
    image = {"repository": "r", "tag": "1"}
    init = {"name": "i", "image": image, "env": [{"name": "C"}, {"name": "C", "value": "3"}]}
    proxy = {"certConfigMap": "ca"}
    pod = pod_of(cache(source={"ngc": NGC}, env=own, initContainers=[init], proxy=proxy))
    main, ca, user = [*pod["containers"], *pod["initContainers"]]
    merged = [{"name": "B"}, {"name": "A", "value": "2"}]
    cache_path = [{"name": "NIM_CACHE_PATH", "value": "/model-store"}]
    assert main["env"][7:] == ca["env"] == merged + cache_path
    assert user["env"] == [*merged, *cache_path, {"name": "C", "value": "3"}]
    assert [item for item in main["env"] if item.get("value") == ""] == []


def test_build_job_native_env_user_override(cache):
    cr = cache(
        env=[{"name": "X", "value": "1"}, {"name": "NIM_ENGINE_MODEL_PATH", "value": "/mine"}]
    )
    container = main_of(cr, "native")
    assert names(container) == ["NIM_ENGINE_MODEL_DOWNLOAD_ONLY", "X", "NIM_ENGINE_MODEL_PATH"]
    assert container["env"][2]["value"] == "/mine"


def test_build_job_proxy_env_user_override(cache):
    cr = cache(
        env=[{"name": "HTTPS_PROXY", "value": "mine"}],
        proxy={"httpsProxy": "https://p:1"},
        initContainers=[
            {"name": "init", "image": {"repository": "busybox", "tag": "1"},
             "env": [{"name": "Y", "value": "2"}, {"name": "HTTPS_PROXY", "value": "own"}]},
        ],
    )  # fmt: skip
    pod = pod_of(cr)
    proxied = [name for name in PROXY_NAMES if name != "HTTPS_PROXY"]
    assert names(pod["containers"][0]) == [*proxied, "HTTPS_PROXY", "NIM_CACHE_PATH"]
    assert pod["containers"][0]["env"][len(proxied)]["value"] == "mine"
    assert [(item["name"], item["value"]) for item in pod["initContainers"][0]["env"]] == [
        ("NIM_CACHE_PATH", "/model-store"), ("Y", "2"), ("HTTPS_PROXY", "own"),
    ]  # fmt: skip


def test_build_job_init_containers(cache):
    cr = cache(
        initContainers=[
            {"name": "init", "image": {"repository": "busybox", "tag": "1", "pullPolicy": "Always"},
             "command": ["sh"], "args": ["-c", "true"], "workingDir": "/w"},
        ],
    )  # fmt: skip
    assert pod_of(cr)["initContainers"] == [
        {
            "name": "init",
            "image": "busybox:1",
            "imagePullPolicy": "Always",
            "command": ["sh"],
            "args": ["-c", "true"],
            "workingDir": "/w",
            "env": [{"name": "NIM_CACHE_PATH", "value": "/model-store"}],
            "volumeMounts": [
                {"name": "nim-cache-volume", "mountPath": "/model-store"},
                {"name": "scratch", "mountPath": "/scratch"},
            ],
        }
    ]


def test_build_job_custom_ca(cache):
    user = {"name": "init", "image": {"repository": "busybox", "tag": "1"}}
    pod = pod_of(cache(proxy={"certConfigMap": "certs"}, initContainers=[user]))
    first, second = pod["initContainers"]
    assert (first["name"], first["image"]) == (
        "update-ca-certificates",
        "nvcr.io/nim/meta/llama:1.12.0",
    )
    assert [mount["mountPath"] for mount in first["volumeMounts"]] == [
        "/ca-certs", "/custom", "/model-store", "/scratch",
    ]  # fmt: skip
    assert names(first) == ["NIM_CACHE_PATH"]
    assert first["securityContext"] == {"runAsUser": 0, "runAsNonRoot": False}
    assert [mount["mountPath"] for mount in second["volumeMounts"]] == ["/model-store", "/scratch"]
    assert pod["containers"][0]["volumeMounts"][-1]["mountPath"] == "/etc/ssl"
    assert [volume["name"] for volume in pod["volumes"]] == [
        "nim-cache-volume", "scratch", "ca-cert-volume", "custom-ca",
    ]  # fmt: skip


def test_build_job_proxy_without_ca(cache):
    assert "initContainers" not in pod_of(cache(proxy={"httpProxy": "http://p:1"}))


def test_build_job_placement_and_security(cache):
    toleration = {
        "key": "gpu",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 30,
    }
    cr = cache(
        tolerations=[toleration], runtimeClassName="nvidia", userID=0, groupID=7,
        resources={"cpu": 2, "memory": "4Gi"},
    )  # fmt: skip
    pod = pod_of(cr)
    assert pod["tolerations"] == [toleration]
    assert pod["runtimeClassName"] == "nvidia"
    assert pod["restartPolicy"] == "Never"
    assert pod["securityContext"] == {"runAsUser": 0, "fsGroup": 7, "runAsNonRoot": True}
    container = pod["containers"][0]
    assert container["securityContext"]["runAsGroup"] == 7
    amounts = {"cpu": "2", "memory": "4Gi"}
    assert container["resources"] == {"limits": amounts, "requests": amounts}


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        pytest.param(
            {"ngc": {"modelPuller": "p", "authSecret": "s"}},
            [{"secretRef": {"name": "s", "optional": True}}],
            id="NGC",
        ),
        pytest.param({"ngc": {"modelPuller": "p"}}, None, id="no Secret"),
        pytest.param({"ngc": {"modelPuller": "p", "authSecret": ""}}, None, id="empty"),
        pytest.param(
            {
                "hf": {
                    "endpoint": "https://hf",
                    "namespace": "n",
                    "modelName": "m",
                    "modelPuller": "p",
                    "pullSecret": "q",
                    "authSecret": "s",
                }
            },
            [{"secretRef": {"name": "s"}}],
            id="Hugging Face",
        ),
    ],
)
def test_build_job_secret(cache, source, wanted):
    assert pod_of(cache(source=source))["containers"][0].get("envFrom") == wanted


@pytest.mark.parametrize(
    ("orchestrator", "spec", "scc", "seccomp"),
    [
        ("Kubernetes", {}, None, None),
        ("OpenShift", {}, "nonroot", None),
        ("OpenShift", {"proxy": {}}, "anyuid", None),
        ("TKGS", {}, None, {"type": "RuntimeDefault"}),
    ],
)
def test_build_job_orchestrators(cache, orchestrator, spec, scc, seccomp):
    template = build_job(NIMCacheApp(cache(**spec)), "", ["a"], orchestrator)["spec"]["template"]
    annotations = template["metadata"]["annotations"]
    assert annotations.pop("sidecar.istio.io/inject") == "false"
    assert annotations == ({"openshift.io/scc": scc} if scc else {})
    assert template["spec"]["securityContext"].get("seccompProfile") == seccomp


def test_build_job_refuses_cert_config(cache):
    with pytest.raises(NimError) as raised:
        build_job(
            NIMCacheApp(cache(certConfig={"name": "c", "mountPath": "/c"})), "", ["a"], "Kubernetes"
        )
    assert str(raised.value) == (
        "Deprecated field 'CertConfig' is used. Please migrate to 'Proxy' field on NIMCache.\""
    )


@pytest.mark.parametrize(
    ("profiles", "found"), [(["a", "b"], ["a", "b"]), (["all"], ["all"])], ids=["ids", "all"]
)
def test_profiles_of_built_job(cache, profiles, found):
    assert profiles_of(build_job(NIMCacheApp(cache()), "", profiles, "Kubernetes")) == found


def test_build_job_queue(cache):
    queue = {"kueue.x-k8s.io/queue-name": "team-a"}
    cr = cache()
    plain = build_job(NIMCacheApp(cr), "", ["a"], "Kubernetes")
    assert "labels" not in plain["metadata"]
    cr["metadata"]["labels"] = queue | {"team": "a"}
    queued = build_job(NIMCacheApp(cr), "", ["a"], "Kubernetes")
    assert queued["metadata"]["labels"] == queue
    assert queued["spec"] == plain["spec"]
    plain["metadata"]["managedFields"] = [{"manager": "nimops.nim", "operation": "Apply"}]
    assert not downloads_otherwise(plain, queued), "a label restarts no download"


def test_renewal_makes_its_folder_as_the_user_of_the_puller(hub):
    cluster = hub(
        storage={
            "pvc": {
                "create": True,
                "size": "5Gi",
                "volumeAccessMode": "ReadWriteOnce",
                "subPath": "a/b",
            }
        },
    )
    cluster.start_download("v2")
    version = cluster.cr["status"]["renewal"]["id"]
    pod = cluster.objects["Job/nim/llama-renewal"]["spec"]["template"]["spec"]
    first = pod["initContainers"][0]
    assert first["command"] == ["mkdir", "-p", f"/nim-cache/.nimops/{version}"]
    assert first["volumeMounts"] == [
        {"name": "nim-cache-volume", "mountPath": "/nim-cache", "subPath": "a/b"}
    ]
    assert first["securityContext"]["runAsUser"] == 1000
    assert cluster.mount_paths(cluster.objects["Job/nim/llama-renewal"]) == {
        f"a/b/.nimops/{version}"
    }
