# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import owner_reference
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.expose.service import (
    build_service,
    name_clash,
    selects,
    service_name,
    service_names,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.workload import (
    deployment_of,
    groups_of,
)


def test_build_service(make):
    service = {
        "type": "NodePort",
        "port": 9000,
        "grpcPort": 9001,
        "labels": {"app.kubernetes.io/name": "x", "l": "1"},
        "annotations": {"openshift.io/required-scc": "x", "a": "1"},
    }
    made = build_service(make.app({"expose": {"service": service}}), "llm")
    assert made["spec"] == {
        "type": "NodePort",
        "selector": {"app": "llm"},
        "ports": [
            {"name": "api", "port": 9000, "protocol": "TCP", "targetPort": "api"},
            {"name": "grpc", "port": 9001, "protocol": "TCP", "targetPort": "grpc"},
        ],
    }
    assert made["metadata"]["labels"]["app.kubernetes.io/name"] == "llm"
    assert made["metadata"]["labels"]["l"] == "1"
    assert made["metadata"]["annotations"] == {"openshift.io/required-scc": "nonroot", "a": "1"}


@pytest.mark.parametrize(
    ("stages", "selector"),
    [(1, {"app": "llm"}), (2, {"app": "llm-lws", "nim-llm-role": "leader"})],
)
def test_build_service_selector(make, stages, selector):
    app = make.app({"multiNode": {"parallelism": {"pipeline": stages}}})
    assert build_service(app, "llm")["spec"]["selector"] == selector


@pytest.mark.parametrize("name", ["llm", "front"])
def test_selects(make, name):
    cr = make.cr({"expose": {"service": {"name": name}}})
    live = build_service(
        make.app({"multiNode": {"parallelism": {"pipeline": 2}}}),
        name,
    )
    assert selects(make.app(cr, live), groups_of(make.app(cr)))
    assert not selects(make.app(cr, live), deployment_of(make.app(cr)))
    assert not selects(make.app(cr), groups_of(make.app(cr)))
    live["metadata"]["ownerReferences"] = []
    assert not selects(make.app(cr, live), groups_of(make.app(cr)))


@pytest.mark.parametrize(
    ("given", "former", "wanted"),
    [
        pytest.param("", None, ["llm"], id="unnamed"),
        pytest.param("llm", "ours", ["llm"], id="named as always"),
        pytest.param("front", None, ["front"], id="named"),
        pytest.param("front", "ours", ["front", "llm"], id="the former one is kept"),
        pytest.param("front", "theirs", ["front"], id="a stranger of the former name"),
    ],
)
def test_service_names(make, given, former, wanted):
    cr = make.cr({"expose": {"service": {"name": given}}})
    live = make.with_address(make.cr())
    owner = owner_reference(cr) | ({} if former == "ours" else {"uid": "other"})
    live["metadata"]["ownerReferences"] = [owner]
    observed = make.observe(*([live] if former else []))
    assert service_names(NIMServiceApp(cr, observed)) == wanted


FRONT = {"expose": {"service": {"name": "front"}}}
MARK = {"app.kubernetes.io/managed-by": "k8s-nim-operator"}


def front(owner="", **metadata):
    """A live Service with the given name."""
    if owner:
        reference = {"kind": "NIMService", "name": owner, "uid": f"of {owner}", "controller": True}
        metadata["ownerReferences"] = [reference]
    return {"kind": "Service", "metadata": {"name": "front", **metadata}}


@pytest.mark.parametrize(
    ("live", "why"),
    [
        pytest.param(front("other"), "is controlled by NIMService other", id="another's"),
        pytest.param(front(), "was not created for this NIMService", id="no owner"),
        pytest.param(front(labels=MARK), "", id="of a restored backup"),
        pytest.param(front("other", deletionTimestamp="now"), "", id="being deleted"),
        pytest.param(None, "", id="absent"),
    ],
)
def test_name_clash(make, live, why):
    app = make.app(FRONT, *([live] if live else []))
    assert (why in name_clash(app)) if why else name_clash(app) == ""
    assert service_name(app) == ("llm" if why else "front")
    assert service_names(app) == [service_name(app)]


def test_name_clash_default_name(make):
    live = {"kind": "Service", "metadata": {"name": "llm"}}
    app = make.app(None, live)
    assert (name_clash(app), service_name(app)) == ("", "llm")
