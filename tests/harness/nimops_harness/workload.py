# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Custom resources that become Ready on the sandbox, and their state."""

from __future__ import annotations

import contextlib
import copy
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import yaml

from .cluster import ROOT_OF, Api, Json, path_of, version_of
from .progress import wait_until
from .runtime import ROOT

MODELS = ROOT / "sandbox" / "model_server.py"
END_WITH_US = ("setpriv", "--pdeathsig", "TERM")
"""The start of a command that also ends when this program is killed."""

SECRETS = {
    "ngc-secret": ("kubernetes.io/dockerconfigjson", ".dockerconfigjson", '{"auths": {}}'),
    "ngc-api-secret": ("Opaque", "NGC_API_KEY", "not-a-real-key"),
}
NODE_LABELS = {
    "feature.node.kubernetes.io/system-os_release.ID": "ubuntu",
    "feature.node.kubernetes.io/system-os_release.VERSION_ID": "24.04",
    "feature.node.kubernetes.io/kernel-version.full": "6.8.0-60-generic",
}
"""Labels of Node Feature Discovery that drivers need."""


def label_nodes(api: Api) -> None:
    """Give the nodes of the sandbox the labels that drivers need."""
    for node in api.items("Node", ""):
        path = path_of("Node", "", node["metadata"]["name"])
        api.patch(path, {"metadata": {"labels": NODE_LABELS}})


SPECS: dict[str, Json] = yaml.safe_load(Path(__file__).with_name("specs.yaml").read_text())


def make(kind: str, name: str, spec: Json) -> Json:
    """A custom resource."""
    metadata = {"name": name}
    return {"apiVersion": version_of(kind), "kind": kind, "metadata": metadata, "spec": spec}


def make_nimservice(name: str, **spec: t.Any) -> Json:
    """A NIMService without dependencies: its model is in an emptyDir. `spec`: other fields."""
    return make("NIMService", name, copy.deepcopy(SPECS["NIMService"]) | spec)


def make_nimcache(name: str, **spec: t.Any) -> Json:
    """A NIMCache that downloads all profiles onto its own volume. `spec`: other fields."""
    return make("NIMCache", name, copy.deepcopy(SPECS["NIMCache"]) | spec)


def make_nimbuild(name: str, **spec: t.Any) -> Json:
    """A NIMBuild on a missing NIMCache, for which it waits. `spec`: other fields."""
    return make("NIMBuild", name, copy.deepcopy(SPECS["NIMBuild"]) | spec)


def state_of(resource: Json) -> str:
    return str((resource.get("status") or {}).get("state") or "new")


def conditions_of(resource: Json) -> list[Json]:
    return (resource.get("status") or {}).get("conditions") or []


def is_settled(resource: Json) -> bool:
    """Whether it is Ready for its current spec."""
    status = resource.get("status") or {}
    observed = status.get("observedGeneration")
    return state_of(resource) == "Ready" and observed in (None, resource["metadata"]["generation"])


def describe_unready(resources: t.Iterable[Json], most: int = 3) -> str:
    """The first few that are not Ready, with the messages of their conditions."""
    lines = []
    for resource in resources:
        if not is_settled(resource):
            said = [
                condition["message"]
                for condition in conditions_of(resource)
                if condition["status"] == "True" and condition.get("message")
            ]
            name = resource["metadata"]["name"]
            lines.append(f"{name} is {state_of(resource)}: {'; '.join(said)}"[:300])
    more = [f"and {len(lines) - most} more"] if len(lines) > most else []
    return ", ".join(lines[:most] + more)


def create_namespace(api: Api, name: str) -> None:
    """Create a namespace with the Secrets of our resources."""
    api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    for secret, (kind, key, value) in SECRETS.items():
        body = {"metadata": {"name": secret}, "type": kind, "stringData": {key: value}}
        api.request("POST", path_of("Secret", name), body)


def remove_namespace(api: Api, name: str, limit: float = 600.0) -> None:
    """Remove a namespace, and the finalizers of its resources; no operator is needed."""
    discard_resources(api, name)
    place = path_of("Namespace", "", name)
    if api.find(place):
        api.request("DELETE", place)
    what = f"deletion of the namespace {name}"
    wait_until(lambda: not api.find(place), what, limit, pause=0.5)


def discard_resources(api: Api, namespace: str) -> None:
    """Delete all custom resources without their finalizers."""
    group = ROOT_OF["NIMService"]
    served = {item["name"] for item in api.get(f"/{group}")["resources"]}
    places = {
        path_of((group, plural), namespace, item["metadata"]["name"]): item
        for plural in served
        if "/" not in plural
        for item in api.items((group, plural), namespace)
    }
    for place, resource in places.items():
        if resource["metadata"].get("finalizers"):
            api.patch(place, {"metadata": {"finalizers": None}})
        if not resource["metadata"].get("deletionTimestamp"):
            api.request("DELETE", place)


def remove_runs(namespace: str) -> None:
    """Remove the work folders of runs."""
    runs = Path("/tmp/ansible-operator/runner/apps.nvidia.com/v1alpha1")
    for kind in ("NIMService", "NIMCache"):
        shutil.rmtree(runs / kind / namespace, ignore_errors=True)


@contextlib.contextmanager
def play_models(log: Path, network_of: int = 0, options: t.Sequence[str] = ()) -> t.Iterator[None]:
    """Run the sandbox's model server during the block, without which no NIMService becomes Ready.

    `network_of`: the process whose network it uses instead of ours. `options`: of the model server.
    """
    enter = ["nsenter", f"--net=/proc/{network_of}/ns/net"] if network_of else []
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*enter, *END_WITH_US, sys.executable, str(MODELS), *options],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
    try:
        yield
    finally:
        process.terminate()
        process.wait()
