# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_store import (
    Store,
    Unusable,
    select_store,
)

CLAIM = "persistentVolumeClaim"


SELECT_STORE = {
    "a cache comes first": (
        {"nimCache": {"name": "cache"}, "hostPath": "/m", "pvc": {"name": "x"}},
        {CLAIM: {"claimName": "cache-pvc"}}, "",
    ),
    "a claim to create": (
        {"pvc": {"create": True, "size": "1Gi", "subPath": "a/b"}, "emptyDir": {}},
        {CLAIM: {"claimName": "llm-pvc"}}, "a/b",
    ),
    "a claim by name, read only": (
        {"nimCache": {}, "pvc": {"name": "mine"}, "readOnly": True},
        {CLAIM: {"claimName": "mine", "readOnly": True}}, "",
    ),
    "empty dir": ({"pvc": {}, "emptyDir": {}, "hostPath": "/m"}, {"emptyDir": {}}, ""),
    "empty dir with a limit": (
        {"emptyDir": {"sizeLimit": "1Gi"}, "readOnly": True}, {"emptyDir": {"sizeLimit": "1Gi"}},
        "",
    ),
    "host path": (
        {"hostPath": "/m"}, {"hostPath": {"path": "/m", "type": "DirectoryOrCreate"}}, "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("storage", "source", "sub_path"), SELECT_STORE.values(), ids=SELECT_STORE)
def test_select_store(make, storage, source, sub_path):
    store = select_store(make.app({"storage": storage}, make.cache()))
    assert isinstance(store, Store)
    assert (store.source, store.sub_path) == (source, sub_path)


def test_select_store_none(make):
    with pytest.raises(NimError, match="neither external PVC name, NIMCache volume") as raised:
        select_store(make.app({"storage": {"nimCache": {"name": ""}, "hostPath": ""}}))
    assert raised.value.reason == "Failed"


def test_select_store_cache_with_claim(make):
    cache = make.cache(name="shared", subPath="models")
    cr = make.cr({"storage": {"nimCache": {"name": "cache", "profile": "p"}}})
    store = select_store(make.app(cr, cache))
    assert isinstance(store, Store)
    assert store.source == {CLAIM: {"claimName": "shared"}}
    assert (store.sub_path, store.profile) == ("models", "p")


FAILED_JOB = {"type": "NIM_CACHE_JOB_COMPLETED", "status": "False", "message": "The Job failed"}
FAILED_PASS = {"type": "NIM_CACHE_RECONCILE_FAILED", "status": "True", "message": "no profiles"}

STALLED = {"type": "Stalled", "status": "True", "reason": "PVCNotFound", "message": "no claim"}
UNUSABLE_CACHE = {
    "absent": (None, Unusable("NIMCacheNotFound", "NIMCache cache not found", True)),
    "its job failed": (
        {"status": {"state": "Failed", "conditions": [FAILED_JOB, FAILED_PASS]}},
        Unusable("NIMCacheFailed", "The Job failed", True),
    ),
    "its reconcile failed": (
        {
            "status": {
                "state": "Failed",
                "conditions": [FAILED_JOB | {"status": "True"}, FAILED_PASS],
            }
        },
        Unusable("NIMCacheFailed", "no profiles", True),
    ),
    "failed without a word": (
        {"status": {"state": "Failed"}},
        Unusable("NIMCacheFailed", "NIMCache cache failed", True),
    ),
    "in progress": (
        {"status": {"state": "InProgress"}},
        Unusable("NIMCacheNotReady", "NIMCache cache not ready", False),
    ),
    "stalled": (
        {"status": {"state": "NotReady", "conditions": [STALLED]}},
        Unusable("NIMCacheNotReady", "NIMCache cache not ready: PVCNotFound: no claim", False),
    ),
    "no longer stalled": (
        {"status": {"state": "NotReady", "conditions": [STALLED | {"status": "False"}]}},
        Unusable("NIMCacheNotReady", "NIMCache cache not ready", False),
    ),
    "no status yet": (
        {"status": {}},
        Unusable("NIMCacheNotReady", "NIMCache cache not ready", False),
    ),
}


@pytest.mark.parametrize(
    ("cache", "wanted"),
    UNUSABLE_CACHE.values(),
    ids=UNUSABLE_CACHE,
)
def test_select_store_unusable_cache(make, cache, wanted):
    observed = make.observe(*([make.cache(**cache)] if cache else []))
    assert (
        select_store(NIMServiceApp(make.cr({"storage": {"nimCache": {"name": "cache"}}}), observed))
        == wanted
    )


def test_select_store_dataset(make):
    cache = make.cache({"hf": {"namespace": "n", "datasetName": "d"}})
    store = select_store(make.app({"storage": {"nimCache": {"name": "cache"}}}, cache))
    assert isinstance(store, Unusable)
    assert store.failed
    assert "dataset" in store.message


def test_select_store_cache_without_claim(make):
    cr = make.cr({"storage": {"nimCache": {"name": "cache"}}})
    with pytest.raises(NimError, match="missing PVC for the nimcache instance cache"):
        select_store(make.app(cr, make.cache(status={"state": "Ready"})))


# A cache that was renewed from image 1.0 to image 2.0.
SERVED = {"id": "bb", "folder": ".nimops/bb", "source": {"kind": "ngc", "modelPuller": "nim:2.0"}}
FORMER = {
    "id": "aa",
    "source": {"kind": "ngc", "modelPuller": "nim:1.0"},
    "profiles": [{"name": "old", "config": {"tp": "2"}}],
}
STATUS = {
    "state": "Ready",
    "pvc": "cache-pvc",
    "type": "native",
    "profiles": [{"name": "new", "config": {"tp": "4"}}],
    "served": SERVED,
    "former": [FORMER],
}
TURN, STORE = "nimops.nim/cache-store", "nimops.nim/cache-store"


def renewed_cache(make, **status):
    source = {"ngc": {"modelPuller": "nim:3.0", "authSecret": "key"}}
    return make.cache(source=source, status=STATUS | status, subPath="models")


def mounting(version=""):
    """A live Deployment whose pods mount a version."""
    annotations = {STORE: version} if version else {}
    metadata = {"name": "llm", "namespace": "ns", "uid": "d", "annotations": annotations}
    return {"kind": "Deployment", "metadata": metadata, "spec": {}}


VERSIONS = {
    "new service": (None, {}, {}, {}, "bb"),
    "service of the first version": (mounting(), {}, {}, {}, ""),
    "its turn": (mounting(), {TURN: "cache=bb"}, {}, {}, "bb"),
    "turn of an earlier renewal": (mounting(), {TURN: "cache=99"}, {}, {}, ""),
    "turn of another cache": (mounting(), {TURN: "other=bb"}, {}, {}, ""),
    "has switched": (mounting("bb"), {}, {}, {}, "bb"),
    "version that is gone": (mounting("99"), {}, {}, {}, "bb"),
    "version that is being removed": (mounting(), {}, {}, {"former": [FORMER | {"removed": True}]}, "bb"),
    "image of the renewed model": (
        mounting(), {}, {"image": {"repository": "nim", "tag": "2.0"}}, {}, "bb",
    ),
    "image of the former model": (
        mounting(), {}, {"image": {"repository": "nim", "tag": "1.0"}}, {}, "",
    ),
    "profile of the renewed model": (
        mounting(), {}, {"storage": {"nimCache": {"name": "cache", "profile": "new"}}}, {}, "bb",
    ),
    "profile of the former model": (
        mounting(), {}, {"storage": {"nimCache": {"name": "cache", "profile": "old"}}}, {}, "",
    ),
    "return to the first version": (
        mounting("bb"), {TURN: "cache=aa"}, {},
        {"served": FORMER, "former": [SERVED | {"type": "native"}]}, "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("live", "annotations", "spec", "status", "version"), VERSIONS.values(), ids=VERSIONS
)
def test_select_store_version(make, live, annotations, spec, status, version):
    cr = make.cr({"storage": {"nimCache": {"name": "cache"}}} | spec, annotations=annotations)
    cache = renewed_cache(make, **status)
    store = select_store(make.app(cr, cache, *([live] if live else [])))
    assert isinstance(store, Store)
    assert store.version == version
    assert store.sub_path == ("models/.nimops/bb" if version else "models")
    expected = ("nim:2.0", "native") if version else ("nim:1.0", "")
    shown = (store.cache or {}).get("status", {})
    assert store.cache_source is not None
    assert store.cache_source.auth_secret == "key"
    if not status:
        assert (store.cache_source.puller, shown.get("type") or "") == expected
        assert [item["name"] for item in shown["profiles"]] == (["new"] if version else ["old"])


def test_select_store_unchanged_while_a_renewal_downloads(make):
    """The spec describes a model that is not the served one."""
    cache = renewed_cache(make, former=[], renewal={"id": "cc", "state": "InProgress"})
    cr = make.cr({"storage": {"nimCache": {"name": "cache"}}})
    store = select_store(make.app(cr, cache, mounting("bb")))
    assert isinstance(store, Store)
    assert store.cache_source is not None
    assert (store.version, store.cache_source.puller) == ("bb", "nim:2.0")


def test_select_store_without_record_is_the_cache_itself(make):
    cache = make.cache()
    store = select_store(make.app({"storage": {"nimCache": {"name": "cache"}}}, cache))
    assert isinstance(store, Store)
    assert store.cache is cache
