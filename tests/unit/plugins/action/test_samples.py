# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A role, the operator's task, a plan and `render` make the same objects of each sample."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.filter.plan_resource import plan_resource
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError, NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._cluster.live import LiveCluster
from ansible_collections.nimops.nim.plugins.module_utils._commands.loader import stored
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    api_path,
    identity,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.reconcile import reconcile
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names, kind_of

ROOT = Path(__file__).resolve().parents[4]
SAMPLES = sorted((ROOT / "config/samples").glob("*_*.yaml"))
GOLDEN = ROOT / "tests/golden"
PLACE = ("name", "namespace")
MORE = ("deepseek-r1", "llama-kserve")
"""Services that have other objects than the first one: of LeaderWorkerSet, and of KServe."""
CHANGING = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")


def documents(file):
    for item in yaml.safe_load_all(file.read_text()):
        yield from (item or {}).get("items", [item]) if item else ()


def resources():
    found = [item for file in SAMPLES for item in documents(file)]
    return [stored(place(item)) for item in found if item["kind"] in kind_names()]


def representatives():
    """The first sample of each kind, and some more."""
    first = {}
    for item in resources():
        first.setdefault(item["kind"], item["metadata"]["name"])
    return [
        item for item in resources() if item["metadata"]["name"] in (first[item["kind"]], *MORE)
    ]


PARTS = {"of each kind": (representatives, 30), "all": (resources, 60)}
"""Samples, and the least number of objects that they have."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(part, marks=pytest.mark.nightly if part == "all" else ()) for part in PARTS
    ],
)
def chosen(request):
    list_samples, least = PARTS[request.param]
    return list_samples(), least


def place(item):
    is_placed = item["kind"] not in ("Node", "ClusterPolicy", "NVIDIADriver", "StorageClass")
    namespace = {"namespace": item["metadata"].get("namespace", "nim")} if is_placed else {}
    return {**item, "metadata": {**item["metadata"], **namespace}}


def filled(new_cluster):
    """A cluster with the samples and their dependencies."""
    cluster = new_cluster()
    facts = [GOLDEN / "facts.yaml", ROOT / "config/samples/nemo-prerequisites.yaml"]
    for item in [place(item) for file in facts for item in documents(file)] + resources():
        if item["kind"] in cluster.kinds:
            cluster.put(api_path(*identity(item)), copy.deepcopy(item))
    return cluster


def without_versions(objects):
    """The written objects in a comparable form."""

    def plain(item):
        metadata = {key: value for key, value in item["metadata"].items() if key not in CHANGING}
        for owner in metadata.get("ownerReferences") or []:
            owner.pop("uid", None)
        if item["kind"] == "Secret":  # Each generated key is another one.
            item["data"] = sorted(item.get("data") or {})
        return {**item, "metadata": metadata, "status": None}

    return {
        path: plain(copy.deepcopy(item)) for path, item in objects.items() if "/events/" not in path
    }


@pytest.fixture(scope="module")
def by_role(chosen, play, new_cluster, tmp_path_factory):
    cluster = filled(new_cluster)
    before = set(cluster.objects)
    try:
        folder = tmp_path_factory.mktemp("samples")
        named = [
            {
                **item,
                "metadata": {
                    key: item["metadata"][key] for key in PLACE if key in item["metadata"]
                },
            }
            for item in chosen[0]
        ]
        for item in named:
            del item["spec"]
        process, _results = play("samples", cluster, folder, seconds=900, samples=named)
        yield cluster.objects, before, process.stdout
    finally:
        cluster.server.close()


@pytest.fixture(scope="module")
def by_task(chosen, new_cluster, tmp_path_factory):
    """(objects, the plan before each pass) of the operator's one task."""
    environment = pytest.MonkeyPatch()
    environment.setenv("NIMOPS_REGISTRIES", "")
    environment.setenv("OPERATOR_VERSION", "1.2.3")
    cluster, planned = filled(new_cluster), {}
    client = Client(cluster.kubeconfig(tmp_path_factory.mktemp("task")))
    try:
        for item in chosen[0]:
            resource = cluster.objects[api_path(*identity(item))]
            live = LiveCluster(client, is_shared=False)
            answers = steps.observe(kind_of(resource), resource, live)
            for wanted in plan_resource(resource, answers)["apply"]:
                planned[api_path(*identity(wanted))] = wanted
            try:
                reconcile(kind_of(resource), resource, live)
            except (ApiError, NimError) as error:
                pytest.fail(f"{item['kind']}: {error}")
        yield cluster.objects, planned
    finally:
        cluster.server.close()
        environment.undo()


def test_representatives():
    kinds = {item["kind"] for item in representatives()}
    names = {item["metadata"]["name"] for item in representatives()}
    assert kinds == {item["kind"] for item in resources()}
    assert names >= set(MORE)


def test_role_writes_same_as_task(chosen, by_role, by_task):
    objects, before, _text = by_role
    found, wanted = without_versions(objects), without_versions(by_task[0])
    assert len(found) > len(before) + chosen[1]
    assert sorted(found) == sorted(wanted)
    assert {
        path: (item, wanted[path]) for path, item in found.items() if item != wanted[path]
    } == {}


def test_role_reports_same_as_task(by_role, by_task):
    def states(objects):
        return {
            path: (item["status"].get("state"), [
                (condition["type"], condition["status"], condition["reason"])
                for condition in item["status"].get("conditions", [])
            ])
            for path, item in objects.items()
            if item["kind"] in kind_names() and "status" in item
        }  # fmt: skip

    assert states(by_role[0]) == states(by_task[0])


def test_plan_equals_writes(by_role, by_task):
    objects, before, _text = by_role
    written = {path for path in objects if path not in before and "/events/" not in path}
    assert written <= set(by_task[1])
    for path in written:
        spec = by_task[1][path].get("spec")
        assert spec is None or objects[path]["spec"] == spec, path


def test_render_equals_writes(chosen, by_role):
    objects, before, _text = by_role
    rendered = {}
    for file in (GOLDEN / "samples").rglob("*.yaml"):
        item = yaml.safe_load(file.read_text())
        rendered[api_path(*identity(item))] = item
    written = {path for path in objects if path not in before and "/events/" not in path}
    known = written & rendered.keys()
    assert len(known) > chosen[1]
    for path in known:
        spec = rendered[path].get("spec")
        assert spec is None or objects[path]["spec"] == spec, path


def test_role_prints_no_secret(by_role):
    assert "PRIVATE KEY" not in by_role[2]
    assert "postgresql://" not in by_role[2]
