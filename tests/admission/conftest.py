# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures for requests to an API server with our CRDs.

Most custom resources are sent as dry runs; the few real ones go to a namespace of their own.
"""

from __future__ import annotations

import copy
import functools
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.runtime_annotations import PREFIX
from kubernetes import client

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from nimops_account import Account, install_account, is_installed, remove_account
from nimops_harness.api_server import api_server, apply_crds
from nimops_harness.cluster import Api, kubectl

__all__ = ["api_server"]

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = "nimops-admission"
GROUP = "apps.nvidia.com"
PLURALS = {
    "NemoCustomizer": "nemocustomizers",
    "NemoDatastore": "nemodatastores",
    "NemoEntitystore": "nemoentitystores",
    "NemoEvaluator": "nemoevaluators",
    "NemoGuardrail": "nemoguardrails",
    "NIMBuild": "nimbuilds",
    "NIMCache": "nimcaches",
    "NIMPipeline": "nimpipelines",
    "NIMService": "nimservices",
}

CLUSTER_SCOPED = {
    "ClusterPolicy": ("nvidia.com", "v1", "clusterpolicies"),
    "NVIDIADriver": ("nvidia.com", "v1alpha1", "nvidiadrivers"),
}
"""Kinds of the GPU stack, in a group of their own. A cluster may contain some: only ours are deleted."""

Manifest = dict[str, Any]

GPU: dict[str, Manifest] = yaml.safe_load((Path(__file__).parent / "gpu.yaml").read_text())
"""A minimal spec of each kind of the GPU stack."""

NOTHING: Manifest = {}
# Requests that are refused only by one of our policies each.
WATCHED: list[Manifest] = [
    {
        "kind": "NIMBuild",
        "metadata": {"name": "a", "annotations": {f"{PREFIX}verbosity": "8"}},
        "spec": {"image": {"repository": "a", "tag": "b"}, "nimCache": {"name": "a"}},
    },
]


def patched(manifest: Manifest, patch: Manifest) -> Manifest:
    """Return manifest with each dotted path of patch, such as spec.image.tag, set; None removes."""
    result = copy.deepcopy(manifest)
    for path, value in patch.items():
        *parents, last = path.split(".")
        place = result
        for parent in parents:
            place = place.setdefault(parent, {})
        if value is None:
            del place[last]
        else:
            place[last] = copy.deepcopy(value)
    return result


@dataclass(frozen=True)
class Refusal:
    """The answer to a refused request; causes are pairs of field path and text."""

    message: str
    causes: tuple[tuple[str, str], ...]

    def names(self, field: str, text: str) -> bool:
        """Whether a cause is at a field; older releases omit `status` in the paths of a status."""
        paths = {field, field.removeprefix("status.")}
        return any(path in paths and text in reply for path, reply in self.causes)


class Cluster:
    """Custom resources on the API server, in one namespace.

    group: of all resources. Methods that request a change return None, or the refusal.
    """

    def __init__(self, api: client.ApiClient, group: str = GROUP) -> None:
        self._api = api
        self._objects = client.CustomObjectsApi(api)
        self._group = group

    def in_group(self, group: str) -> Cluster:
        return Cluster(self._api, group)

    apply_crds = staticmethod(apply_crds)
    patched = staticmethod(patched)

    def build(self, kustomization: str) -> list[Manifest]:
        """Return the objects built from a folder of config/."""
        return list(yaml.safe_load_all(kubectl("kustomize", str(ROOT / "config" / kustomization))))

    def try_apply(self, items: list[Manifest]) -> None:
        """Fail unless the API server accepts the items, all in our namespace."""
        for item in items:
            if "namespace" in item["metadata"]:
                item["metadata"]["namespace"] = NAMESPACE
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        options = ("--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict")
        kubectl("apply", *options, "-f", "-", stdin=text)

    def policies(self) -> list[Manifest]:
        """Return the policies and bindings of config/default, made for the group."""
        text = json.dumps(self.build("default")).replace(GROUP, self._group)
        items: list[Manifest] = [
            item
            for item in json.loads(text)
            if item["kind"].startswith("ValidatingAdmissionPolicy")
        ]
        for item in items if self._group != GROUP else []:
            item["metadata"]["name"] += f"-{self._group}"
            if "policyName" in item["spec"]:
                item["spec"]["policyName"] += f"-{self._group}"
        return items

    def apply_policies(self) -> None:
        """Apply the policies and wait until each of them works."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": self.policies()})
        kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text)
        deadline = time.monotonic() + 180
        while not all(map(self.create, WATCHED)):
            assert time.monotonic() < deadline, "the policies do not take effect"
            time.sleep(0.2)

    def delete_policies(self) -> None:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": self.policies()})
        kubectl("delete", "--ignore-not-found", "-f", "-", stdin=text)

    def delete_crds(self, *names: str) -> None:
        kubectl("delete", "crd", "--ignore-not-found", "--timeout=30s", *names)

    def _ask(self, verb: str, kind: str, part: str = "") -> Callable[..., Any]:
        """The request function for a kind; its arguments are those after the plural."""
        if kind in CLUSTER_SCOPED:
            call = getattr(self._objects, f"{verb}_cluster_custom_object{part}")
            return functools.partial(call, *CLUSTER_SCOPED[kind])
        call = getattr(self._objects, f"{verb}_namespaced_custom_object{part}")
        return functools.partial(call, self._group, "v1alpha1", NAMESPACE, PLURALS[kind])

    def _body(self, manifest: Manifest) -> Manifest:
        if manifest["kind"] in CLUSTER_SCOPED:
            group, version, _plural = CLUSTER_SCOPED[manifest["kind"]]
            return {**manifest, "apiVersion": f"{group}/{version}"}
        metadata = {**manifest["metadata"], "namespace": NAMESPACE}
        version = {"apiVersion": f"{self._group}/v1alpha1"}
        return {**manifest, **version, "metadata": metadata}

    def create(
        self, manifest: Manifest, patch: Manifest = NOTHING, dry_run: bool = True
    ) -> Refusal | None:
        body = self._body(patched(manifest, patch))
        return attempt(self._ask("create", manifest["kind"]), body, **options(dry_run))

    def read(self, manifest: Manifest) -> Manifest:
        found: Manifest = self._ask("get", manifest["kind"])(manifest["metadata"]["name"])
        return found

    def replace(
        self, manifest: Manifest, patch: Manifest = NOTHING, dry_run: bool = True
    ) -> Refusal | None:
        """Give the existing resource the spec of the patched manifest."""
        body = {**self.read(manifest), "spec": patched(manifest, patch)["spec"]}
        change = self._ask("replace", manifest["kind"])
        return attempt(change, manifest["metadata"]["name"], body, **options(dry_run))

    def patch_metadata(self, manifest: Manifest, metadata: Manifest) -> Refusal | None:
        change = self._ask("patch", manifest["kind"])
        return attempt(change, manifest["metadata"]["name"], {"metadata": metadata})

    def patch_status(self, manifest: Manifest, status: Manifest) -> Refusal | None:
        change = self._ask("patch", manifest["kind"], "_status")
        return attempt(change, manifest["metadata"]["name"], {"status": status})

    def scale(self, manifest: Manifest, replicas: int) -> Refusal | None:
        """Like `kubectl scale`: a patch of the scale subresource."""
        change = self._ask("patch", manifest["kind"], "_scale")
        return attempt(change, manifest["metadata"]["name"], {"spec": {"replicas": replicas}})

    def read_scale(self, manifest: Manifest) -> Manifest:
        found: Manifest = self._ask("get", manifest["kind"], "_scale")(manifest["metadata"]["name"])
        return found

    def is_gone(self, manifest: Manifest) -> bool:
        try:
            self.read(manifest)
        except client.ApiException as error:
            return bool(error.status == 404)
        return False

    def delete(self, manifest: Manifest) -> None:
        self._ask("delete", manifest["kind"])(manifest["metadata"]["name"])

    def remove_all(self) -> None:
        """Delete all resources, even without an operator to run their finalizers."""
        for kind in PLURALS:
            for found in self._ask("list", kind)()["items"]:
                if found["metadata"].get("finalizers"):
                    self.patch_metadata({**found, "kind": kind}, {"finalizers": None})
                if not self.is_gone({**found, "kind": kind}):
                    self.delete({**found, "kind": kind})


def options(dry_run: bool) -> Manifest:
    return {"field_validation": "Strict", **({"dry_run": "All"} if dry_run else {})}


def attempt(change: Callable[..., Any], *arguments: Any, **query: Any) -> Refusal | None:
    try:
        change(*arguments, **query)
    except client.ApiException as error:
        status = json.loads(error.body)
        assert status["code"] in (400, 422), status
        causes = (status.get("details") or {}).get("causes") or []
        found = ((cause.get("field", ""), cause["message"]) for cause in causes)
        return Refusal(status["message"], tuple(found))
    return None


def drop_namespace(cluster: Cluster, core: client.CoreV1Api) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            namespace = core.read_namespace(NAMESPACE)
        except client.ApiException as error:
            if error.status == 404:
                return
            raise
        cluster.remove_all()
        if namespace.metadata.deletion_timestamp is None:
            core.delete_namespace(NAMESPACE)
        time.sleep(0.2)
    raise AssertionError(f"namespace {NAMESPACE} does not go away")


@pytest.fixture(scope="session")
def cluster(api_server: client.ApiClient) -> Iterator[Cluster]:
    found, core = Cluster(api_server), client.CoreV1Api(api_server)
    drop_namespace(found, core)
    core.create_namespace({"metadata": {"name": NAMESPACE}})
    found.apply_policies()
    yield found
    drop_namespace(found, core)


@pytest.fixture(scope="module")
def account(api_server: client.ApiClient) -> Iterator[Account]:
    """The operator's account, with its permissions and policies."""
    was_there = is_installed()
    yield install_account()
    if not was_there:
        remove_account()


@pytest.fixture(scope="module")
def admin(api_server: client.ApiClient) -> Api:
    return Api()
