# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Refusals of NIMCaches by the API server, and the fields that they name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

Manifest = dict[str, Any]
REQUIRED = "Required value"
EMPTY = "at least 1 chars"


def at(path: str, value: Any, text: str) -> tuple[Manifest, str, str]:
    """A refused value: patch, field and text of the refusal."""
    return {path: value}, path, text


CACHE: Manifest = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMCache",
    "metadata": {"name": "llm"},
    "spec": {
        "source": {
            "ngc": {
                "modelPuller": "nvcr.io/nim/meta/llama-3.2-1b-instruct:1.12.0",
                "pullSecret": "ngc-secret",
                "authSecret": "ngc-api-secret",
                "model": {"engine": "tensorrt_llm", "tensorParallelism": "1"},
            }
        },
        "storage": {
            "pvc": {
                "create": True,
                "storageClass": "",
                "size": "50Gi",
                "volumeAccessMode": "ReadWriteOnce",
            }
        },
    },
}
NGC = "spec.source.ngc"
MODEL = f"{NGC}.model"
HF: Manifest = {
    "endpoint": "https://huggingface.co",
    "namespace": "meta-llama",
    "authSecret": "hf-secret",
    "modelPuller": "nvcr.io/nim/nvidia/llm-nim:1.12",
    "pullSecret": "ngc-secret",
    "modelName": "Llama-3.2-1B-Instruct",
}
STORE: Manifest = {**HF, "endpoint": "http://datastore.nemo:8000/v1/hf", "namespace": "default"}
ONE_SOURCE = "Exactly one of ngc, dataStore, or hf must be defined"
ONE_NAME = "Exactly one of modelName or datasetName must be defined"
PVC = "spec.storage.pvc"


def model(**fields: Any) -> Manifest:
    return {MODEL: fields}


def hugging_face(source: str = "hf", **fields: Any) -> Manifest:
    whole = {**(HF if source == "hf" else STORE), **fields}
    return {
        "spec.source": {source: {key: value for key, value in whole.items() if value is not None}}
    }


def proxy(**fields: Any) -> Manifest:
    return {"spec.proxy": fields}


# Name: patch of CACHE, field that the refusal must name, part of its text.
BAD: dict[str, tuple[Manifest, str, str]] = {
    "no spec": at("spec", None, REQUIRED),
    # Source
    "no source": at("spec.source", None, REQUIRED),
    "empty source": at("spec.source", {}, ONE_SOURCE),
    "two sources": ({"spec.source.hf": HF}, "spec.source", ONE_SOURCE),
    "ngc without puller": at(f"{NGC}.modelPuller", None, REQUIRED),
    "ngc with an empty puller": at(f"{NGC}.modelPuller", "", EMPTY),
    "model and endpoint": (
        {f"{NGC}.modelEndpoint": "ngc://org/model"},
        NGC,
        "Only one of 'model' or 'modelEndpoint' can be specified",
    ),
    "parallelism as a number": (
        model(tensorParallelism=1),
        f"{MODEL}.tensorParallelism",
        "must be of type string",
    ),
    **{
        f"{source} without {field}": (
            hugging_face(source, **{field: None}),
            f"spec.source.{source}.{field}",
            REQUIRED,
        )
        for source in ("hf", "dataStore")
        for field in ("endpoint", "authSecret", "modelPuller", "pullSecret")
    },
    **{
        f"{source} with an empty {field}": (
            hugging_face(source, **{field: ""}),
            f"spec.source.{source}.{field}",
            EMPTY,
        )
        for source in ("hf", "dataStore")
        for field in ("authSecret", "modelPuller", "pullSecret", "revision", "modelName")
    },
    "hf without namespace": (hugging_face(namespace=None), "spec.source.hf.namespace", REQUIRED),
    "hf with an empty namespace": (hugging_face(namespace=""), "spec.source.hf.namespace", EMPTY),
    "hf endpoint without scheme": (
        hugging_face(endpoint="huggingface.co"),
        "spec.source.hf.endpoint",
        "should match",
    ),
    "store endpoint without its path": (
        hugging_face("dataStore", endpoint="http://datastore"),
        "spec.source.dataStore.endpoint",
        "should match",
    ),
    "hf without model": (hugging_face(modelName=None), "spec.source.hf", ONE_NAME),
    "hf with model and data set": (hugging_face(datasetName="squad"), "spec.source.hf", ONE_NAME),
    "store without model": (
        hugging_face("dataStore", modelName=None),
        "spec.source.dataStore",
        ONE_NAME,
    ),
    "store with model and data set": (
        hugging_face("dataStore", datasetName="squad"),
        "spec.source.dataStore",
        ONE_NAME,
    ),
    "empty data set": (
        hugging_face(modelName=None, datasetName=""),
        "spec.source.hf.datasetName",
        EMPTY,
    ),
    # Storage
    "no storage": at("spec.storage", None, REQUIRED),
    "access mode": at(f"{PVC}.volumeAccessMode", "RWO", "must be ReadWriteOnce, ReadOnlyMany"),
    "size in words": at(f"{PVC}.size", "fifty", '"fifty" must be a quantity'),
    "size in an unknown unit": at(f"{PVC}.size", "50GB", '"50GB" must be a quantity'),
    "size 0": at(f"{PVC}.size", "0Gi", "must be a quantity greater than 0"),
    # Proxy
    "endless no proxy": (proxy(noProxy="a" * 32769), "spec.proxy.noProxy", "Too long"),
    # Other fields
    "cpu in words": ({"spec.resources": {"cpu": "two"}}, "spec.resources.cpu", "should match"),
    "memory in words": (
        {"spec.resources": {"memory": "big"}},
        "spec.resources.memory",
        "should match",
    ),
    "certificates without name": (
        {"spec.certConfig": {"mountPath": "/certs"}},
        "spec.certConfig.name",
        REQUIRED,
    ),
    "certificates without path": (
        {"spec.certConfig": {"name": "c"}},
        "spec.certConfig.mountPath",
        REQUIRED,
    ),
    "env without name": ({"spec.env": [{"value": "a"}]}, "spec.env[0].name", REQUIRED),
    "init container without name": (
        {"spec.initContainers": [{"image": {"repository": "a", "tag": "1"}}]},
        "spec.initContainers[0].name",
        REQUIRED,
    ),
    "init container without tag": (
        {"spec.initContainers": [{"name": "a", "image": {"repository": "a"}}]},
        "spec.initContainers[0].image.tag",
        REQUIRED,
    ),
    "init container with an empty tag": (
        {"spec.initContainers": [{"name": "a", "image": {"repository": "a", "tag": ""}}]},
        "spec.initContainers[0].image.tag",
        EMPTY,
    ),
}

GOOD: dict[str, Manifest] = {
    "ngc without secret": {f"{NGC}.authSecret": None},
    "ngc with an empty secret": {f"{NGC}.authSecret": ""},
    "as it is": {},
    "any model": {MODEL: None},
    "empty model": model(),
    "all profiles": model(profiles=["all"]),
    "some profiles": model(profiles=["a", "b"], precision="", gpus=[]),
    "no profiles": model(
        profiles=[], qosProfile="throughput", lora=False, gpus=[{"ids": ["2330"]}]
    ),
    "empty quality of service": model(qosProfile=""),
    "endpoint": {MODEL: None, f"{NGC}.modelEndpoint": "ngc://org/model"},
    "no pull secret": {f"{NGC}.pullSecret": None},
    "hf": hugging_face(),
    "hf data set": hugging_face(modelName=None, datasetName="squad", revision="main"),
    "store": hugging_face("dataStore"),
    "store in the default namespace": hugging_face("dataStore", namespace=None),
    "store endpoint with a slash": hugging_face("dataStore", endpoint="https://ds/v1/hf/"),
    "existing claim": {PVC: {"name": "models", "subPath": "llm"}},
    "existing claim, create false": {PVC: {"name": "models", "create": False, "storageClass": ""}},
    "claim to create if need be": {PVC: {"name": "models", "create": True}},
    "access mode of an existing claim": {PVC: {"name": "models", "volumeAccessMode": "RWO"}},
    "empty access mode": {f"{PVC}.volumeAccessMode": ""},
    "no resources": {"spec.resources": {}},
    "resources": {"spec.resources": {"cpu": 2, "memory": "4Gi"}},
    "any node": {"spec.nodeSelector": {}},
    "deprecated certificates, which the role refuses": {
        "spec.certConfig": {"name": "c", "mountPath": "/certs"}
    },
    "empty proxy": proxy(),
    "proxies": proxy(
        httpProxy="http://p:3128", httpsProxy="https://u:p@p:3129", certConfigMap="ca"
    ),
    "empty proxies": proxy(httpProxy="", httpsProxy="", noProxy=""),
    **{
        f"no proxy for {token}": proxy(noProxy=token)
        for token in (
            *(
                "*",
                "*.example.com",
                "host:8080",
                "under_score",
                "::1",
                "localhost",
                ".svc",
                "svc.cluster.local",
                "10.0.0.1",
                "10.0.0.1:8080",
                "10.0.0.0/8",
                "[::1]",
            ),
            *(
                "[::1]:8080",
                "[fd00::]/8",
                " a , b ",
                "a,,b,",
                "127.0.0.1, localhost,.svc,10.0.0.0/8\n",
            ),
        )
    },
    "a thousand hosts": proxy(noProxy=",".join(f"host-{number}.example" for number in range(1000))),
    # Rejected only by the optional webhook of the reference.
    "all and another profile": model(profiles=["all", "a"]),
    "all twice": model(profiles=["all", "all"]),
    "quality of service": model(qosProfile="fast"),
    "quality of service in capitals": model(qosProfile="Latency"),
    "empty storage": {"spec.storage": {}},
    "empty claim": {PVC: {}},
    "claim of empty values": {PVC: {"name": "", "size": "", "annotations": {}}},
    "claim without name": {PVC: {"size": "50Gi"}},
    "claim without name, create false": {f"{PVC}.create": False},
    "hostPath": {"spec.storage": {"hostPath": "/models"}},
    "hostPath beside a claim": {"spec.storage.hostPath": "/models"},
    "http proxy without scheme": proxy(httpProxy="proxy:3128"),
    "https proxy with another scheme": proxy(httpsProxy="socks5://proxy:1080"),
}

CLAIM_EXISTS = "is immutable once the claim exists, create another NIMCache for another claim"
STARTED = "is immutable while the first download runs, create another NIMCache for another source"
FULL: Manifest = {
    **CACHE,
    "metadata": {"name": "full", "finalizers": ["nimops.example/test"]},
    "spec": {
        **CACHE["spec"],
        "resources": {"cpu": "1000m", "memory": "1024Mi"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "nodeSelector": {"a": "b"},
        "userID": 1001,
        "env": [{"name": "A", "value": "1"}],
        "runtimeClassName": "nvidia",
        "proxy": {"httpProxy": "http://p:1"},
        "initContainers": [{"name": "i", "image": {"repository": "a", "tag": "1"}}],
    },
}
BARE: Manifest = {**CACHE, "metadata": {"name": "bare"}}
HUGGING: Manifest = {
    **CACHE,
    "metadata": {"name": "hugging"},
    "spec": {**CACHE["spec"], "source": {"hf": HF}},
}

# The states of a cache, by what exists.
NEW: Manifest = {"state": "NotReady"}
WITH_CLAIM: Manifest = {"state": "PVC-Created"}
DOWNLOADING: Manifest = {"state": "InProgress", "download": {"started": True}}
READY: Manifest = {"state": "Ready", "pvc": "full-pvc"}

CLAIM_UPDATES: dict[str, Manifest] = {
    "creation": {f"{PVC}.create": None, f"{PVC}.name": "full-pvc"},
    "name": {f"{PVC}.name": "other"},
    "class": {f"{PVC}.storageClass": "fast"},
    "size": {f"{PVC}.size": "60Gi"},
    "mode": {f"{PVC}.volumeAccessMode": "ReadWriteMany"},
    "folder": {f"{PVC}.subPath": "a"},
    "annotations": {f"{PVC}.annotations": {"a": "b"}},
}
SOURCE_UPDATES: dict[str, tuple[Manifest, Manifest]] = {
    "other kind": (FULL, {"spec.source": {"hf": HF}}),
    "no model": (FULL, {MODEL: None, f"{NGC}.modelEndpoint": "ngc://org/model"}),
    **{
        f"{field} of hf": (HUGGING, {f"spec.source.hf.{field}": value})
        for field, value in (
            *(("modelName", "other"), ("namespace", "other"), ("revision", "main")),
            *(("endpoint", "https://other"), ("modelPuller", "other:1")),
        )
    },
}
CHOICE_UPDATES: dict[str, Manifest] = {
    "profiles": {f"{MODEL}.profiles": ["a"]},
    "precision": {f"{MODEL}.precision": "fp8"},
    "engine": {f"{MODEL}.engine": "vllm"},
    "parallelism": {f"{MODEL}.tensorParallelism": None},
    "quality of service": {f"{MODEL}.qosProfile": "latency"},
    "gpus": {f"{MODEL}.gpus": [{"product": "h100"}]},
    "lora": {f"{MODEL}.lora": False},
    "buildable": {f"{MODEL}.buildable": True},
    "all": {MODEL: None},
}
FREE_UPDATES: dict[str, tuple[Manifest, Manifest]] = {
    "secret": (FULL, {f"{NGC}.authSecret": "other"}),
    "pull secret": (FULL, {f"{NGC}.pullSecret": None}),
    "secrets of hf": (
        HUGGING,
        {"spec.source.hf.authSecret": "other", "spec.source.hf.pullSecret": "other"},
    ),
    "cpu": (FULL, {"spec.resources.cpu": 2}),
    "no memory": (FULL, {"spec.resources.memory": None}),
    "resources where there were none": (BARE, {"spec.resources": {"cpu": "1"}}),
    "no tolerations": (FULL, {"spec.tolerations": []}),
    "placement": (BARE, {"spec.tolerations": [{"operator": "Exists"}], "spec.nodeSelector": {"a": "b"}}),
    "no node selector": (FULL, {"spec.nodeSelector": None}),
    "user and group": (FULL, {"spec.userID": 1002, "spec.groupID": 2000}),
    "certificates": (FULL, {"spec.certConfig": {"name": "c", "mountPath": "/c"}}),
    "env": (FULL, {"spec.env": [{"name": "A", "value": "2"}]}),
    "runtime class": (FULL, {"spec.runtimeClassName": None}),
    "no proxy": (FULL, {"spec.proxy": None}),
    "proxy": (BARE, {"spec.proxy": {"httpProxy": "http://p:1", "certConfigMap": "ca"}}),
    "init containers": (FULL, {"spec.initContainers": []}),
}  # fmt: skip
GOOD_UPDATES: dict[str, tuple[Manifest, Manifest]] = {
    "nothing": (FULL, {}),
    "quantities as the reference writes them": (
        FULL,
        {"spec.resources": {"cpu": "1", "memory": "1Gi"}},
    ),
    "quantity as a number": (FULL, {"spec.resources.cpu": 1}),
    "zero values that the reference drops": (BARE, {f"{PVC}.storageClass": None}),
    "zero values that the reference adds": (BARE, {"spec.resources": {"cpu": "0", "memory": "0"}}),
    "zero values of a manifest": (
        BARE,
        {
            "spec.resources": {},
            "spec.nodeSelector": {},
            "spec.tolerations": [],
            "spec.env": [],
            "spec.runtimeClassName": "",
            "spec.storage.hostPath": "",
            f"{PVC}.annotations": {},
            f"{PVC}.name": "",
            f"{MODEL}.profiles": [],
            f"{MODEL}.precision": "",
        },
    ),
    "hf": (HUGGING, {}),
}


@pytest.mark.parametrize(("patch", "field", "text"), BAD.values(), ids=BAD.keys())
def test_nimcache_invalid(cluster: Any, patch: Manifest, field: str, text: str) -> None:
    refusal = cluster.create(CACHE, patch)
    assert refusal, "accepted"
    assert refusal.names(field, text), refusal
    assert field in refusal.message


@pytest.mark.parametrize("patch", GOOD.values(), ids=GOOD.keys())
def test_nimcache_valid(cluster: Any, patch: Manifest) -> None:
    assert cluster.create(CACHE, patch) is None


@pytest.fixture(scope="module")
def caches(cluster: Any) -> Iterator[Any]:
    for manifest in (FULL, BARE, HUGGING):
        assert cluster.create(manifest, dry_run=False) is None
    yield cluster
    cluster.remove_all()


@pytest.fixture
def caches_with(caches: Any) -> Callable[[Manifest], Any]:
    """The caches, after their status was replaced."""

    def with_status(status: Manifest) -> Any:
        for manifest in (FULL, BARE, HUGGING):
            fields = {"state": None, "pvc": None, "download": None, **status}
            assert caches.patch_status(manifest, fields) is None
        return caches

    return with_status


@pytest.mark.parametrize("status", [WITH_CLAIM, DOWNLOADING, READY], ids=str)
def test_nimcache_update_existing_claim(caches_with: Any, status: Manifest) -> None:
    found = caches_with(status)
    for patch in CLAIM_UPDATES.values():
        refusal = found.replace(FULL, patch)
        assert refusal, patch
        assert refusal.names(next(iter(patch)), CLAIM_EXISTS), refusal


@pytest.mark.parametrize("status", [{}, NEW], ids=str)
def test_nimcache_update_absent_claim(caches_with: Any, status: Manifest) -> None:
    found = caches_with(status)
    assert [found.replace(FULL, patch) for patch in CLAIM_UPDATES.values()] == [None] * 7


def test_nimcache_update_started_source(caches_with: Any) -> None:
    found = caches_with(DOWNLOADING)
    for manifest, patch in SOURCE_UPDATES.values():
        refusal = found.replace(manifest, patch)
        assert refusal, patch
        assert STARTED in refusal.message
    refusal = found.replace(FULL, {"spec.source": {"hf": HF}})
    assert refusal.names("spec.source.ngc", STARTED)
    assert refusal.names("spec.source.hf", STARTED)


@pytest.mark.parametrize("status", [{}, NEW, WITH_CLAIM, {"state": "InProgress"}, READY], ids=str)
def test_nimcache_update_source(caches_with: Any, status: Manifest) -> None:
    """Before the first download starts, and after it, when a change is a renewal."""
    found = caches_with(status)
    for manifest, patch in SOURCE_UPDATES.values():
        assert found.replace(manifest, patch) is None, patch


@pytest.mark.parametrize("status", [DOWNLOADING, READY], ids=str)
def test_nimcache_update_profiles(caches_with: Any, status: Manifest) -> None:
    found = caches_with(status)
    assert [found.replace(FULL, patch) for patch in CHOICE_UPDATES.values()] == [None] * 9


@pytest.mark.parametrize("status", [{}, WITH_CLAIM, DOWNLOADING, READY], ids=str)
def test_nimcache_update_other_fields(caches_with: Any, status: Manifest) -> None:
    """R01: placement, credentials, proxy, environment, resources and users change at any time."""
    found = caches_with(status)
    for manifest, patch in FREE_UPDATES.values():
        assert found.replace(manifest, patch) is None, patch


def test_nimcache_update_puller_message(caches_with: Any) -> None:
    """The message of the reference, which refuses a change even before anything is downloaded."""
    patch = {f"{NGC}.modelPuller": "nvcr.io/nim/other:1"}
    assert caches_with(WITH_CLAIM).replace(FULL, patch) is None
    refusal = caches_with(DOWNLOADING).replace(FULL, patch)
    assert refusal.names(
        f"{NGC}.modelPuller",
        "modelPuller is an immutable field. Please create a new NIMCache resource instead when you want to "
        "change this container.",
    )


@pytest.mark.parametrize(("manifest", "patch"), GOOD_UPDATES.values(), ids=GOOD_UPDATES.keys())
def test_nimcache_update_valid(caches_with: Any, manifest: Manifest, patch: Manifest) -> None:
    """Changes that the reference makes, and the manifest that its user applies again."""
    assert caches_with(READY).replace(manifest, patch) is None


def test_nimcache_deletion_when_immutable(caches: Any) -> None:
    manifest = {**FULL, "metadata": {"name": "going", "finalizers": ["nimops.example/test"]}}
    assert caches.create(manifest, dry_run=False) is None
    caches.delete(manifest)
    assert caches.read(manifest)["metadata"]["deletionTimestamp"]
    assert caches.patch_metadata(manifest, {"finalizers": None}) is None
    assert caches.is_gone(manifest)


@pytest.mark.parametrize("folder", ["", "..", "models", ".nimops", ".nimops/../a", ".nimops/a/b"])
@pytest.mark.parametrize("field", ["served", "renewal"])
def test_nimcache_status_of_another_folder(caches: Any, field: str, folder: str) -> None:
    """A Job deletes the folder of a former version: a status contains only our own."""
    refusal = caches.patch_status(FULL, {field: {"id": "0a", "folder": folder}})
    assert refusal, "accepted"
    assert f"{field}.folder: Invalid value" in refusal.message


def test_nimcache_status_of_a_former_folder(caches: Any) -> None:
    def entries(folder: str) -> Manifest:
        return {"former": [{"id": "0a", "folder": folder}]}

    assert caches.patch_status(FULL, entries(".nimops/0a")) is None
    assert "former[0].folder: Invalid value" in caches.patch_status(FULL, entries("..")).message
