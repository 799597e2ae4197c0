# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Pods do not restart because of texts that are ours to write."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.preserve_live import (
    DIGEST,
    keep_texts,
    set_digest,
)

OURS = "while sleep 5; do :; done"
THEIRS = "until false; do sleep 5; done"


def daemon_set(text=OURS, image="r.test/a:1", **meta):
    container = {
        "name": "main",
        "image": image,
        "command": ["sh", "-c"],
        "args": [text],
        "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", text]}}},
        "env": [{"name": "A", "value": ""}],
    }
    pod = {"containers": [container], "volumes": [{"name": "v", "hostPath": {"path": "/v"}}]}
    return {"metadata": meta, "spec": {"template": {"metadata": {}, "spec": pod}}}


def stored(manifest):
    """The manifest with defaults of the API server."""
    live = copy.deepcopy(manifest)
    live["spec"]["template"]["spec"] |= {"dnsPolicy": "ClusterFirst"}
    live["spec"]["template"]["spec"]["volumes"][0]["hostPath"]["type"] = ""
    for container in live["spec"]["template"]["spec"]["containers"]:
        container["terminationMessagePath"] = "/dev/termination-log"
        container["env"] = [{"name": "A"}]
    return live


def text_of(manifest):
    return manifest["spec"]["template"]["spec"]["containers"][0]["args"][0]


def entry(*, owns_args):
    fields = {"f:args": {}} if owns_args else {"f:image": {}}
    stop = {"f:lifecycle": {"f:preStop": {"f:exec": {"f:command": {}}}}}
    pod = {"f:containers": {'k:{"name":"main"}': {**fields, **stop}}}
    owned = {"f:spec": {"f:selector": {}, "f:template": {"f:spec": pod}}}
    return {"manager": "nimops.nim", "operation": "Apply", "fieldsV1": owned}


def test_keep_texts_new():
    assert keep_texts(daemon_set(), None, {OURS}) == daemon_set()


def test_keep_texts_takeover():
    kept = keep_texts(daemon_set(), stored(daemon_set(THEIRS)), {OURS})
    assert text_of(kept) == THEIRS
    stop = kept["spec"]["template"]["spec"]["containers"][0]["lifecycle"]["preStop"]
    assert stop["exec"]["command"] == ["sh", "-c", THEIRS]
    assert "dnsPolicy" not in kept["spec"]["template"]["spec"], "a default of the API server"


@pytest.mark.parametrize(
    "change",
    [
        {"image": "r.test/a:2"},
        {"env": [{"name": "A", "value": "1"}]},
        {"args": [OURS, "more"]},
        {"stdin": True},
    ],
)
def test_keep_texts_other_change(change):
    wanted = daemon_set()
    wanted["spec"]["template"]["spec"]["containers"][0] |= change
    assert keep_texts(wanted, stored(daemon_set(THEIRS)), {OURS}) == wanted


def test_keep_texts_older_own():
    live = stored(daemon_set(THEIRS, managedFields=[entry(owns_args=True)]))
    assert text_of(keep_texts(daemon_set(), live, {OURS})) == THEIRS


def test_keep_texts_changed_by_other():
    live = stored(daemon_set(THEIRS, managedFields=[entry(owns_args=False)]))
    assert keep_texts(daemon_set(), live, {OURS}) == daemon_set()


def test_keep_texts_interrupted_takeover():
    """Fields to remove were adopted, but nothing was applied yet."""
    adopted = entry(owns_args=False)
    adopted["fieldsV1"] = {"f:spec": {"f:template": {"f:spec": {"f:dnsPolicy": {}}}}}
    live = stored(daemon_set(THEIRS, managedFields=[adopted]))
    assert text_of(keep_texts(daemon_set(), live, {OURS})) == THEIRS


def driver_pod(image="r.test/d:1", **more):
    main = {"name": "main", "image": image, "env": [{"name": "A", "value": "1"}], **more}
    init = {"name": "init", "image": "r.test/m:1", "args": [OURS]}
    volumes = [{"name": "host-root", "hostPath": {"path": "/"}}]
    return {"initContainers": [init], "containers": [main], "volumes": volumes}


def digest_of(pod, live=None):
    pod = copy.deepcopy(pod)
    set_digest(pod, live, ("init", "main"), {OURS})
    values = [
        item["value"]
        for container in (*pod["initContainers"], *pod["containers"])
        for item in container.get("env", [])
        if item["name"] == DIGEST
    ]
    assert len(values) == 2
    assert values[0] == values[1]
    return values[0]


def live_of(pod, digest="theirs", text=THEIRS):
    pod = copy.deepcopy(pod)
    set_digest(pod, None, ("main",), ())
    pod["containers"][0]["env"][-1]["value"] = digest
    pod["initContainers"][0]["args"] = [text]
    pod["containers"][0]["resources"] = {"limits": {"cpu": "1"}}
    return {"spec": {"template": {"spec": pod}}}


def test_set_digest_configuration():
    assert digest_of(driver_pod()) == digest_of(driver_pod())
    assert digest_of(driver_pod()) != digest_of(driver_pod(image="r.test/d:2"))


def test_set_digest_unrelated_change():
    assert digest_of(driver_pod(resources={"limits": {"cpu": "2"}})) == digest_of(driver_pod())


def test_set_digest_other_operator():
    assert digest_of(driver_pod(), live_of(driver_pod())) == "theirs"


@pytest.mark.parametrize(
    "pod",
    [
        driver_pod(image="r.test/d:2"),
        driver_pod(args=["init"]),
        driver_pod(command=["x"]),
        driver_pod(envFrom=[{"secretRef": {"name": "s"}}]),
        driver_pod(volumeMounts=[{"name": "host-root", "mountPath": "/h"}]),
        {**driver_pod(), "volumes": [{"name": "host-root", "hostPath": {"path": "/r"}}]},
        {**driver_pod(), "containers": [*driver_pod()["containers"], {"name": "b", "image": "b"}]},
    ],
)
def test_set_digest_driver_change(pod):
    assert digest_of(pod, live_of(driver_pod())) not in ("theirs", digest_of(driver_pod()))


def test_set_digest_container_removed():
    more = driver_pod()
    more["containers"].append({"name": "b", "image": "b"})
    assert digest_of(driver_pod(), live_of(more)) == digest_of(driver_pod())
