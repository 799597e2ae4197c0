# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The record on a claim is data that anybody with access to the claim may write."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.app import NIMCacheApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.record import (
    CACHED_MODEL,
    record_of,
    write_record,
)

BUILT = {"name": "built", "model": "m", "config": {"input_profile": "aaaa"}}
PLACE = {"cache": "llama", "subPath": ""}


def context(cr, text=None):
    live = {"metadata": {"name": "llama-pvc", "annotations": {CACHED_MODEL: text} if text else {}}}
    return NIMCacheApp(cr, Observed({"PersistentVolumeClaim/nim/llama-pvc": live}))


def ready(cr, *profiles):
    cr["status"] = {"state": "Ready", "profiles": [*profiles]}
    return cr


def test_record_round_trip(cache):
    app = context(ready(cache(), {"name": "aaaa"}, BUILT))
    found = record_of(context(app.resource, write_record(app)))
    assert found is not None
    assert (found.is_complete, found.profiles, found.built) == (True, ["aaaa"], [BUILT])
    assert "secret" not in write_record(app)


@pytest.mark.parametrize(
    ("wanted", "held", "holds"),
    [
        (["aaaa"], ["aaaa", "bbbb"], True),
        (["aaaa", "cccc"], ["aaaa"], False),
        (["aaaa"], ["all"], True),
        (["all"], ["aaaa"], False),
        ([], [], True),
    ],
)
def test_holds_profiles(cache, wanted, held, holds):
    text = json.dumps(PLACE | {"complete": True, "source": {"kind": "ngc"}, "profiles": held})
    found = record_of(context(cache(), text))
    assert found is not None
    assert found.holds({"kind": "ngc"}, wanted) is holds
    assert not found.holds({"kind": "hf"}, wanted)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[" * 100_000,
        "[]",
        json.dumps(PLACE | {"cache": "other"}),
        json.dumps(PLACE | {"subPath": "elsewhere"}),
        json.dumps(PLACE | {"profiles": ["x" * 300_000]}),
    ],
)
def test_record_of_nothing(cache, text):
    assert record_of(context(cache(), text)) is None


@pytest.mark.parametrize(
    "built",
    [
        7,
        [7],
        [BUILT | {"config": {"input_profile": 7}}],
        [BUILT | {"config": None}],
        [BUILT | {"more": "x"}],
        [{"config": BUILT["config"]}],
        [{"name": "no input", "config": {}}],
    ],
)
def test_record_of_invalid_parts(cache, built):
    """Parts that no status could hold are left out."""
    text = json.dumps(
        PLACE | {"complete": "yes", "source": 3, "profiles": [1, "aaaa"], "built": built}
    )
    found = record_of(context(cache(), text))
    assert found is not None
    assert (found.is_complete, found.source) == (False, {})
    assert (found.profiles, found.built) == (["aaaa"], [])


def test_write_record_is_bounded(cache):
    many = [BUILT | {"model": "m" * 1000} for _ in range(500)]
    text = write_record(context(ready(cache(), {"name": "aaaa"}, *many)))
    assert len(text) < 128 << 10
    assert json.loads(text)["profiles"] == ["aaaa"]
    assert json.loads(text)["built"] == []


def test_write_record_keeps_the_earlier_one(cache):
    """A NIMCache that was deleted before it did anything knows less than the record."""
    text = json.dumps(PLACE | {"complete": True, "source": {"kind": "ngc"}, "profiles": ["aaaa"]})
    assert json.loads(write_record(context(cache(), text)))["profiles"] == ["aaaa"]


def test_kept_claim_is_adopted_with_its_folder(hub):
    cluster = hub()
    cluster.renew(revision="v2")
    folder = cluster.served["folder"]
    cluster.users = {"NIMService/nim/*": [cluster.service("a")]}
    cluster.finalize()
    text = cluster.objects["PersistentVolumeClaim/nim/llama-pvc"]["metadata"]["annotations"][
        "nimops.nim/cached-model"
    ]
    assert json.loads(text)["subPath"] == folder
    cluster.recreate(source=cluster.hugging("v2"))
    cluster.users = {}
    cluster.objects.pop("Pod/nim/llama-pod", None)
    cluster.reconcile()
    cluster.print_nothing()
    cluster.reconcile()
    assert cluster.state == "Ready"
    assert cluster.served["folder"] == folder
    assert "Job/nim/llama-job" not in cluster.objects
