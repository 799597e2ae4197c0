# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Handling of bad input, with the messages for users (docs/develop/contract.md)."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._cluster.simulated import SimulatedCluster
from ansible_collections.nimops.nim.plugins.module_utils._engine.reconcile import reconcile
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of
from ansible_collections.nimops.nim.plugins.module_utils._nemo.children import (
    find_missing,
)

Json = dict[str, t.Any]

NO_DOMAIN = "spec.expose.router.hostDomainName is required with an ingress or a gateway"
GATEWAY = {"gateway": {"name": "gw", "namespace": "infra"}}
INGRESS = {"ingress": {"ingressClass": "nginx"}}
LEGACY = {"enabled": True, "spec": {"ingressClassName": "nginx"}}
STORE = "spec.configStore: name a configMap or a pvc with the configuration of the rails"
HOST = (
    "spec.databaseConfig.host: 'pg;id' is neither the name nor the address of a host (its port is"
    " spec.databaseConfig.port)"
)


def size(claim: str, why: str, field: str) -> str:
    return (
        f"failed to parse size for pvc creation {claim}, err {why} (set {field}.size to a quantity"
        ' such as "50Gi")'
    )


EMPTY = "'' is not a quantity"
WORDS = "'ten' is not a quantity"


def conditions(status: Json) -> dict[str, tuple[str, str, str]]:
    return {
        item["type"]: (item["status"], item["reason"], item["message"])
        for item in status["conditions"]
    }


@pytest.mark.parametrize(
    ("kind", "spec", "reason", "message"),
    [
        pytest.param(
            "NemoEntitystore", {"expose": {"router": GATEWAY}}, "HTTPRouteFailed", NO_DOMAIN,
            id="gateway without domain",
        ),
        pytest.param(
            "NemoEntitystore", {"expose": {"router": INGRESS}}, "IngressFailed", NO_DOMAIN,
            id="ingress without domain",
        ),
        pytest.param(
            "NemoEntitystore", {"expose": {"router": GATEWAY, "ingress": LEGACY}},
            "HTTPRouteFailed", NO_DOMAIN, id="gateway without domain beside a legacy ingress",
        ),
        pytest.param(
            "NemoDatastore", {"pvc": {"create": True}}, "Failed", size("x-pvc", EMPTY, "spec.pvc"),
            id="no size",
        ),
        pytest.param(
            "NemoGuardrail", {"configStore": {"pvc": {"create": True, "name": "c", "size": "ten"}}},
            "Failed", size("c", WORDS, "spec.configStore.pvc"), id="size in words",
        ),
        pytest.param(
            "NemoGuardrail", {"configStore": {}}, "DeploymentFailed", STORE, id="no config store",
        ),
        pytest.param(
            "NemoGuardrail",
            {"databaseConfig": {"host": "pg;id", "databaseName": "d",
                                "credentials": {"user": "u", "secretName": "pg"}}},
            "Failed", HOST, id="database host",
        ),
    ],
)  # fmt: skip
def test_desired_invalid_spec(
    nemo: t.Any, kind: str, spec: Json, reason: str, message: str
) -> None:
    cr = nemo.cr(kind, spec)
    found = reconcile(kind_of(cr), cr, SimulatedCluster(Facts([cr]).ask))
    assert found.outcome.written == {}
    assert found.report.status["state"] == "Failed"
    assert conditions(found.report.status) == {
        "Ready": ("False", "Failed", ""),
        "Failed": ("True", reason, message),
        "Stalled": ("True", reason, message),
    }


@pytest.mark.parametrize(
    ("kind", "spec", "name", "field"),
    [
        ("NemoDatastore", {"pvc": {}}, "x-pvc", "spec.pvc"),
        ("NemoDatastore", {"pvc": {"create": False, "name": "c"}}, "c", "spec.pvc"),
        ("NemoGuardrail", {"configStore": {"pvc": {"name": "c"}}}, "c", "spec.configStore.pvc"),
    ],
)
def test_find_missing_claim(nemo: t.Any, kind: str, spec: Json, name: str, field: str) -> None:
    observed = nemo.observe(**{f"PersistentVolumeClaim/ns/{name}": None})
    found = find_missing(nemo.app(kind, spec, observed))
    assert found
    assert found.reason == "PersistentVolumeClaimNotFound"
    assert found.message == (
        f'Waiting for PersistentVolumeClaim "{name}", which does not exist: create it, or set'
        f" {field}.create"
    )


ODD = "{{ 1 }} $(id) `x` 'q' \"q\" #: \n- &a *a %s \\"


def test_desired_odd_text(nemo: t.Any) -> None:
    """Texts are data: no shell, template or YAML interprets them."""
    spec = {
        "annotations": {"a": ODD},
        "env": [{"name": "A", "value": ODD}],
        "datastore": {"endpoint": f"http{ODD}"},
        "databaseConfig": nemo.database
        | {"databaseName": ODD, "credentials": nemo.database["credentials"] | {"user": ODD}},
    }
    made = nemo.made("NemoEntitystore", spec)["Deployment"]
    assert made["metadata"]["annotations"]["a"] == ODD
    (container,) = made["spec"]["template"]["spec"]["containers"]
    values = {item["name"]: item.get("value") for item in container["env"]}
    names = ("A", "POSTGRES_DB", "POSTGRES_USER")
    assert [values[name] for name in names] == [ODD] * 3
    assert values["BASE_URL_DATASTORE"] == f"http{ODD}"


def test_desired_duplicate_variable(nemo: t.Any) -> None:
    """The last one wins, like in a container; two would break server-side apply."""
    mine = [{"name": "A", "value": "1"}, {"name": "POSTGRES_DB", "value": "x"}]
    found = nemo.rows(nemo.container("NemoEntitystore", {"env": [*mine, {"name": "A"}]})["env"])
    assert found[:2] == ["POSTGRES_DB=x", "A"]
    assert len(found) == len({row.partition("=")[0].partition("<")[0] for row in found})
