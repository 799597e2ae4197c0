# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""What `kubectl get` shows: categories, short names, and columns that the API server computes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from nimops_harness.cluster import kubectl

Manifest = dict[str, Any]
NAMESPACE = "nimops-admission"
NAME = "columns"
ROOT = Path(__file__).resolve().parents[2]
IMAGE = {"repository": "nvcr.io/nim/some", "tag": "1"}
GPU: Manifest = yaml.safe_load((Path(__file__).parent / "gpu.yaml").read_text())
SPECS: Manifest = (
    yaml.safe_load((Path(__file__).parent / "nemo.yaml").read_text())
    | GPU
    | {
        "NIMService": {
            "image": IMAGE,
            "authSecret": "ngc-api-secret",
            "storage": {"emptyDir": {}},
            "expose": {"service": {"port": 8000}},
        },
        "NIMCache": {
            "source": {
                "hf": {
                    "endpoint": "https://hub.example.com",
                    "namespace": "acme",
                    "authSecret": "s",
                    "modelPuller": "puller:1",
                    "pullSecret": "s",
                    "modelName": "tiny",
                }
            },
            "storage": {"pvc": {"create": True, "size": "1Gi"}},
        },
        "NIMPipeline": {"services": []},
        "NIMBuild": {"image": IMAGE, "nimCache": {"name": "some"}, "modelName": "tiny"},
    }
)
CONDITIONS = [
    {
        "type": kind,
        "status": "True",
        "reason": "OfAnotherCondition",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    for kind in ("Ready", "Reconciling")
]
STATUS = {"state": "NotReady", "reason": "SomeReason", "conditions": CONDITIONS}
REPLICAS = {"availableReplicas": 2}
MODEL = {"model": {"name": "acme/tiny", "clusterEndpoint": "10.0.0.1:8000", "externalEndpoint": ""}}
WORKLOADS = [kind for kind in SPECS if kind.startswith("Nemo")]
STATUSES = {
    **dict.fromkeys(SPECS, STATUS),
    **dict.fromkeys(WORKLOADS, STATUS | REPLICAS | {"endpoint": "some.ns.svc:8000"}),
    "NIMPipeline": STATUS | {"readyServices": "1/2"},
    "NIMService": STATUS | REPLICAS | MODEL,
    "ClusterPolicy": STATUS | {"state": "notReady", "readyOperands": "11/13"},
    "NVIDIADriver": STATUS | {"state": "notReady", "readyNodes": "3/4"},
    "NIMCache": STATUS
    | {
        "pvc": "tiny-pvc",
        "download": {"percent": 40},
        "renewal": {"id": "0", "folder": ".nimops/f", "download": {"percent": 7}},
    },
}
EXPECTED = {
    **{kind: {"Available": "2", "Endpoint": "some.ns.svc:8000"} for kind in WORKLOADS},
    "NIMService": {"Available": "2", "Model": "acme/tiny", "Endpoint": "10.0.0.1:8000"},
    "NIMCache": {"PVC": "tiny-pvc", "Percent": "40", "Renewal": "7", "Model": "tiny"},
    "NIMPipeline": {"Ready": "1/2"},
    "ClusterPolicy": {"Status": "notReady", "Ready": "11/13"},
    "NVIDIADriver": {"Status": "notReady", "Ready": "3/4", "Default": "false"},
    "NIMBuild": {"Model": "tiny"},
}
"""Kind → the columns besides Name, Reason, Age and a Status of NotReady."""
MEMBERS = {
    **{name: {kind for kind in SPECS if kind.lower().startswith(name)} for name in ("nim", "nemo")},
    "gpu": set(GPU),
    "nimops": set(SPECS),
}
"""Category → its kinds."""

NGC = {"modelPuller": "nvcr.io/nim/some:1", "pullSecret": "s", "authSecret": "s"}
SOURCES = {
    "an image": ({"ngc": NGC}, "nvcr.io/nim/some:1"),
    "an endpoint": ({"ngc": NGC | {"modelEndpoint": "org/team/some:1"}}, "org/team/some:1"),
    "a data set": (
        {
            "hf": {
                key: value
                for key, value in SPECS["NIMCache"]["source"]["hf"].items()
                if key != "modelName"
            }
            | {"datasetName": "corpus"}
        },
        "corpus",
    ),
}


@pytest.fixture(scope="module")
def resources(cluster: Any) -> Iterator[Any]:
    try:
        for kind, spec in SPECS.items():
            manifest = {"kind": kind, "metadata": {"name": NAME}, "spec": spec}
            assert cluster.create(manifest, dry_run=False) is None
            assert cluster.patch_status(manifest, STATUSES[kind]) is None
        yield cluster
    finally:
        cluster.remove_all()
        for kind in GPU:
            cluster.delete({"kind": kind, "metadata": {"name": NAME}})


def read_table(*arguments: str) -> list[dict[str, str]]:
    """The rows of a table of one kind, by its titles, at the width of the titles."""
    head, *lines = kubectl(
        "get", *arguments, "--namespace", NAMESPACE, "--output=wide"
    ).splitlines()
    starts = [
        at for at, char in enumerate(head) if char != " " and (at == 0 or head[at - 1] == " ")
    ]
    ends = [*starts[1:], None]
    return [
        {head[at:end].strip(): line[at:end].strip() for at, end in zip(starts, ends, strict=True)}
        for line in lines
    ]


@pytest.mark.parametrize("kind", SPECS)
def test_columns(resources: Any, kind: str) -> None:
    [row] = [row for row in read_table(kind) if row["NAME"] == NAME]
    assert row.pop("AGE")
    wanted = {"Name": NAME, "Status": "NotReady", "Reason": "SomeReason"} | EXPECTED[kind]
    assert row == {title.upper(): text for title, text in wanted.items()}


@pytest.mark.parametrize("kind", SPECS)
def test_short_names(resources: Any, kind: str) -> None:
    [path] = (ROOT / "config/crd/bases").glob(f"*_{kind.lower().removesuffix('y')}*.yaml")
    short, *_more = yaml.safe_load(path.read_text())["spec"]["names"]["shortNames"]
    found = kubectl("get", short, NAME, "--namespace", NAMESPACE, "--output=name")
    assert found.split("/")[0].startswith(kind.lower())


@pytest.mark.parametrize("category", MEMBERS)
def test_categories(resources: Any, category: str) -> None:
    listed = json.loads(kubectl("get", category, "--namespace", NAMESPACE, "--output=json"))
    kinds = {item["kind"] for item in listed["items"] if item["metadata"]["name"] == NAME}
    assert kinds == MEMBERS[category]


@pytest.mark.parametrize(("source", "model"), SOURCES.values(), ids=SOURCES)
def test_model_of_cache(resources: Any, source: Manifest, model: str) -> None:
    """The column has the first of these fields that any source has."""
    name = "of-" + next(iter(source)) + f"-{len(model)}"
    spec = SPECS["NIMCache"] | {"source": source}
    manifest = {"kind": "NIMCache", "metadata": {"name": name}, "spec": spec}
    assert resources.create(manifest, dry_run=False) is None
    [row] = read_table("nimcache", name)
    assert row["MODEL"] == model
