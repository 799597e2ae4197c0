# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""render, apply and plan agree with each other, on a real API server, without an operator."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._commands.apply.apply import (
    reconcile_once,
    submit,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.loader import (
    Text,
    custom_resources,
    stored,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.plan.diff import (
    publish,
    to_yaml,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.plan.preview import (
    list_resources,
    preview,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.render.simulation import (
    simulate,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    KINDS,
    api_path,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.drift import has_wanted
from ansible_collections.nimops.nim.plugins.module_utils._engine.field_ownership import (
    own_entry,
    unwanted_fields,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.record import CACHED_MODEL
from nimops_harness.cluster import kubectl
from nimops_sandbox import podlog

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
CONFORMANCE = ROOT.parent / "shared/conformance"
CASES = CONFORMANCE / "cases"
SAMPLES = ROOT / "config/samples"
PREREQUISITES = SAMPLES / "nemo-prerequisites.yaml"
PASSES = 120


def is_namespaced(file: Path) -> bool:
    return "apiVersion: nvidia.com/" not in file.read_text()


def files() -> list[Any]:
    """The samples without the cluster-scoped GPU stack: see tests of ClusterPolicy, and molecule/gpu."""
    samples = [item for item in sorted(SAMPLES.glob("*_*.yaml")) if is_namespaced(item)]
    cases = sorted(CASES.glob("*.yaml"))
    return [pytest.param(item, id=item.stem) for item in [*samples, *cases]]


@pytest.fixture(scope="module")
def kserve(api_server: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A KServe, which some of the shared cases need; the last process of xdist removes it."""
    if not CASES.is_dir():
        yield
        return
    objects = str(CONFORMANCE / "environment/kserve.yaml")
    folder = tmp_path_factory.getbasetemp()
    users = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "kserve"
    users.mkdir(exist_ok=True)
    user = users / str(os.getpid())
    user.touch()
    kubectl("apply", "-f", objects)
    yield
    user.unlink()
    if not any(users.iterdir()):
        kubectl("delete", "--ignore-not-found", "-f", objects)


@pytest.fixture(scope="module")
def namespaces(api_server: Any) -> Iterator[list[str]]:
    """All created namespaces; each is deleted while the next one is used."""
    made: list[str] = []
    yield made
    kubectl("wait", "namespace", "--for=delete", "--timeout=90s", *made)


@pytest.fixture
def namespace(file: Path, namespaces: list[str]) -> Iterator[str]:
    """An empty namespace for a file."""
    name = f"commands-{file.stem.replace('_', '-')}"[:63].rstrip("-")
    kubectl("create", "namespace", name)
    namespaces.append(name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def client(kserve: None, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Only local registries are used."""
    monkeypatch.setenv("NIMOPS_REGISTRIES", "")
    return Client()


@pytest.fixture
def given(file: Path, namespace: str, tmp_path: Path) -> list[Json]:
    """The custom resources of a file. The shared ones are about another manifest."""
    if file.stem.startswith("nemo_"):
        kubectl("-n", namespace, "create", "-f", str(PREREQUISITES))
    texts = [item for item in yaml.safe_load_all(file.read_text()) if item]
    for claim in (item for item in texts if item["kind"] == "PersistentVolumeClaim"):
        kubectl("-n", namespace, "create", "-f", "-", stdin=json.dumps(claim))
    resources = custom_resources([Text(file.name, file.read_text())], "default")
    for resource in resources:
        resource["metadata"]["namespace"] = namespace
    if file.parent == CASES:
        log = tmp_path / "manifest.log"
        podlog.write_log((CONFORMANCE / "environment/manifest.yaml").read_text(), log)
        for cache in (item for item in resources if item["kind"] == "NIMCache"):
            kubectl("create", "-f", "-", stdin=json.dumps(logs(cache, log)))
    return resources


def logs(cache: Json, file: Path) -> Json:
    """The Logs object that makes the sandbox's kwok return the file as the log of a probe pod."""
    metadata = {**cache["metadata"], "name": f"{cache['metadata']['name']}-pod"}
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Logs",
        "metadata": {key: metadata[key] for key in ("namespace", "name")},
        "spec": {"logs": [{"logsFile": str(file)}]},
    }


def everything(client: Client, namespace: str) -> list[Json]:
    """All objects of the namespace, and the nodes."""
    kinds = [kind for kind, item in KINDS.items() if item.is_namespaced and kind != "Event"]
    return [
        {"apiVersion": KINDS[kind].version, "kind": kind, **item}
        for kind in [*kinds, "Node"]
        for item in client.list_objects(api_path(kind, namespace)) or []
    ]


def versions(client: Client, namespace: str) -> dict[str, str]:
    return {
        item["metadata"]["uid"]: item["metadata"]["resourceVersion"]
        for item in everything(client, namespace)
        if item["kind"] not in ("Node", "Pod", "Job")
    }


@pytest.mark.parametrize("file", files())
def test_render_apply_and_plan_agree(client: Client, given: list[Json], namespace: str) -> None:
    reconcile(client, given)
    before, planned = look_and_plan(client, given, namespace)
    assert planned == []
    assert versions(client, namespace) == before, "plan wrote something"

    live = {
        (item["kind"], item["metadata"]["name"]): item for item in everything(client, namespace)
    }
    known = [live[item["kind"], item["metadata"]["name"]] for item in given]
    facts = Facts([item for item in live.values() if is_fact(item)])
    rendered = render(known, facts)
    assert to_yaml_stream(rendered) == to_yaml_stream(render(known, facts))
    for item in rendered:
        name = (item["kind"], item["metadata"]["name"])
        if name in live:
            assert is_as_applied(live[name], item), name
        else:  # left from filling the cache
            assert item["kind"] in ("Job", "Pod"), name
    again = preview(client, list_resources(client, namespace), is_given=False)
    assert again.changes == []


def reconcile(client: Client, given: list[Json]) -> None:
    """Reconcile until each cache is Ready or Failed, and nothing is left to write."""
    rollout = submit(client, given)
    for _number in range(PASSES):
        wrote = rollout.wrote
        reconcile_once(client, rollout, lambda _text: None)
        caches = [item for key, item in rollout.progress.items() if key[0] == "NIMCache"]
        is_over = not any(item.is_awaited for item in caches if item.state != "Ready")
        if wrote == rollout.wrote and is_over:
            return
        time.sleep(0.5)
    pytest.fail("; ".join(rollout.unready()))


def look_and_plan(
    client: Client, given: list[Json], namespace: str
) -> tuple[dict[str, str], list[Json]]:
    """Versions and plan of a moment without concurrent writes of controllers."""
    for _number in range(20):
        before = versions(client, namespace)
        found = preview(client, given)
        if versions(client, namespace) == before:
            break
        time.sleep(0.5)
    return before, [change.to_dict() for change in found.changes]


def render(resources: list[Json], facts: Facts) -> list[Json]:
    simulated = simulate([stored(item) for item in resources], facts.ask)
    return [publish(wanted.child.manifest) for wanted in simulated.wanted.values()]


def to_yaml_stream(objects: list[Json]) -> str:
    return "".join(f"---\n{to_yaml(item)}" for item in objects)


def is_fact(item: Json) -> bool:
    """Objects that are not children, but determine the children."""
    is_manifest = item["kind"] == "ConfigMap" and item["metadata"]["name"].endswith("-manifest")
    is_given = item["kind"] in ("ConfigMap", "Secret") and "ownerReferences" not in item["metadata"]
    return is_manifest or is_given or item["kind"] in ("Node", "NIMCache", "NIMService")


def is_as_applied(live: Json, rendered: Json) -> bool:
    """Whether exactly these objects were applied."""
    entry = own_entry(live)
    assert entry is not None
    if rendered["kind"] == "Secret":  # a key is generated when it is written
        rendered = {**rendered, "data": live["data"]}
    if CACHED_MODEL in live["metadata"].get("annotations", {}):  # left to stay, after the download
        assert "ownerReferences" not in rendered["metadata"]
        return has_wanted(live, rendered)
    return has_wanted(live, rendered) and not unwanted_fields(entry["fieldsV1"], rendered)
