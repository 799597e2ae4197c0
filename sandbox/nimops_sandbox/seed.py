# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The initial objects of a control plane: resource definitions, GPU nodes, volumes."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from . import stages
from .api import Api
from .errors import SandboxError
from .settings import REPOSITORY, SANDBOX

VOLUMES_PER_CLASS = 200
# "" is the class of a claim that does not name one.
CLASSES = {"": "sandbox", "standard": "sandbox-standard"}
_MARKS = "/api/v1/namespaces/kube-system/configmaps"
_VOLUMES = "/api/v1/persistentvolumes"
_NODES = "/api/v1/nodes"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def foreign_definitions(third_party: Sequence[Path]) -> list[Path]:
    """Return the resource definitions of other projects, and the sandbox's substitutes for some."""
    return [*third_party, *sorted((SANDBOX / "crds").glob("*.yaml"))]


def own_definitions() -> list[Path]:
    """Return the resource definitions of this project."""
    return sorted((REPOSITORY / "config/crd/bases").glob("*.yaml"))


def objects() -> list[Path]:
    return sorted((SANDBOX / "objects").glob("*.yaml"))


def objects_with_node() -> list[Path]:
    """Return the objects for a control plane with a real node, which has its own storage class."""
    simulated = (path for path in objects() if path.name != "storage.yaml")
    return [*simulated, *sorted((SANDBOX / "objects/node").glob("*.yaml"))]


def api_paths(path: Path) -> list[str]:
    """Return the API server's paths of the API versions of the objects in a file."""
    versions = re.findall(r"^apiVersion: (\S+)$", path.read_text(), re.MULTILINE)
    return sorted({f"/apis/{item}" if "/" in item else f"/api/{item}" for item in versions})


def digest(paths: Iterable[Path]) -> str:
    """Return a digest of the names and contents of these files."""
    result = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        result.update(f"{path.name} {len(content)}\n".encode() + content)
    return result.hexdigest()[:16]


def make_volume(name: str, storage_class: str) -> dict[str, Any]:
    """Return a volume for one claim of any usual mode; kwok makes it available again after use."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "2Ti"},
            "accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"],
            "storageClassName": storage_class,
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": f"{stages.NO_PATH}/{name}"},
        },
    }


def apply(kubectl: Path, kubeconfig: Path, paths: Sequence[Path]) -> None:
    """Apply whole files server-side. Raises SandboxError with the API server's message."""
    # With kubectl's own field manager: applying such a file by hand then owns the same fields, so
    # a field that the file no longer has is removed.
    command = [str(kubectl), f"--kubeconfig={kubeconfig}", "apply", "--server-side"]
    command += ["--force-conflicts", "--validate=ignore"]
    for path in paths:
        command += ["-f", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SandboxError(f"kubectl apply failed:\n{done.stderr.strip()}")


def create_volumes(api: Api) -> None:
    """Create the missing volumes."""
    present = {item["metadata"]["name"] for item in (api.get(_VOLUMES) or {"items": []})["items"]}
    for storage_class, prefix in CLASSES.items():
        for number in range(VOLUMES_PER_CLASS):
            name = f"{prefix}-{number:03}"
            if name not in present:
                api.create(_VOLUMES, make_volume(name, storage_class))


def read_mark(api: Api, name: str) -> str:
    found = api.get(f"{_MARKS}/sandbox-{name}")
    return str(found["data"]["digest"]) if found else ""


def write_mark(api: Api, name: str, value: str) -> None:
    """Record in the cluster what was applied, so that the record shares the data's lifetime."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"sandbox-{name}"}}
    path = f"{_MARKS}/sandbox-{name}"
    api.call("DELETE", path)
    api.create(_MARKS, {**body, "data": {"digest": value}})


def unestablished(api: Api) -> list[str]:
    """Return the resource definitions that are not served yet."""
    return _lacking(api, _DEFINITIONS, "Established")


def unready_nodes(api: Api) -> list[str]:
    return _lacking(api, _NODES, "Ready")


def has_default_account(api: Api) -> bool:
    """Return whether the controller manager has created the default ServiceAccount."""
    return api.get("/api/v1/namespaces/default/serviceaccounts/default") is not None


def _lacking(api: Api, path: str, condition: str) -> list[str]:
    """Return the objects of a collection for which the condition is not true, by name."""
    items = (api.get(path) or {"items": []})["items"]
    return [item["metadata"]["name"] for item in items if not _is_true(item, condition)]


def _is_true(item: dict[str, Any], condition: str) -> bool:
    # They are null in a new resource definition.
    conditions = item.get("status", {}).get("conditions") or []
    return any(it["type"] == condition and it["status"] == "True" for it in conditions)
