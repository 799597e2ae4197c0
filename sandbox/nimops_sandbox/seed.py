# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The initial objects of a control plane: CRDs, GPU nodes and volumes."""

from __future__ import annotations

import hashlib
import itertools
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
# StorageClass → name prefix of its volumes. "" is for PersistentVolumeClaims without a class.
VOLUME_PREFIXES = {"": "sandbox", "standard": "sandbox-standard"}
_CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
_VOLUMES = "/api/v1/persistentvolumes"
_NODES = "/api/v1/nodes"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def third_party_crds(downloaded: Sequence[Path]) -> list[Path]:
    """Return the manifests of third-party CRDs: downloaded ones, and those of sandbox/crds."""
    return [*downloaded, *sorted((SANDBOX / "crds").glob("*.yaml"))]


def own_crds() -> list[Path]:
    """Return the kustomizations of the CRDs of this project."""
    return [REPOSITORY / "config/crd", REPOSITORY / "config/crd/bases"]


def objects() -> list[Path]:
    """Return the manifests of the objects for a control plane with simulated nodes."""
    return sorted((SANDBOX / "objects").glob("*.yaml"))


def objects_with_node() -> list[Path]:
    """Return the manifests for a control plane with a real node, which has its own StorageClass."""
    simulated = (path for path in objects() if path.name != "storage.yaml")
    return [*simulated, *sorted((SANDBOX / "objects/node").glob("*.yaml"))]


def api_paths(path: Path) -> list[str]:
    """Return the discovery paths of the API versions in a manifest, such as `/apis/apps/v1`."""
    versions = re.findall(r"^apiVersion: (\S+)$", path.read_text(), re.MULTILINE)
    return sorted({f"/apis/{item}" if "/" in item else f"/api/{item}" for item in versions})


def digest(paths: Iterable[Path]) -> str:
    """Return a digest of the names and contents of these files, also of those in folders.

    16 hexadecimal digits.
    """
    result = hashlib.sha256()
    for file in itertools.chain.from_iterable(map(_files, paths)):
        content = file.read_bytes()
        result.update(f"{file.name} {len(content)}\n".encode() + content)
    return result.hexdigest()[:16]


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]


def make_volume(name: str, storage_class: str) -> dict[str, Any]:
    """Return a PersistentVolume that suits any claim up to 2Ti, but no block device.

    Its path does not exist: simulated pods mount nothing. Once its claim is deleted, kwok makes it
    available again.
    """
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "2Ti"},
            "accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"],
            "storageClassName": storage_class,
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": f"{stages.NONEXISTENT_PATH}/{name}"},
        },
    }


def apply(kubectl: Path, kubeconfig: Path, paths: Sequence[Path]) -> None:
    """Apply manifests by server-side apply, folders as kustomizations.

    Raises SandboxError with the API server's message.
    """
    # The field manager is kubectl's default. If a user applies an edited manifest by kubectl, the
    # API server therefore removes the fields that the manifest no longer has.
    command = [str(kubectl), f"--kubeconfig={kubeconfig}", "apply", "--server-side"]
    command += ["--force-conflicts", "--validate=ignore"]
    files = [option for path in paths if path.is_file() for option in ("-f", str(path))]
    folders = [["-k", str(path)] for path in paths if path.is_dir()]
    for options in filter(None, (files, *folders)):
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SandboxError(f"kubectl apply failed:\n{done.stderr.strip()}")


def make_volumes() -> list[dict[str, Any]]:
    """Return `VOLUMES_PER_CLASS` volumes for each StorageClass."""
    return [
        make_volume(f"{prefix}-{number:03}", storage_class)
        for storage_class, prefix in VOLUME_PREFIXES.items()
        for number in range(VOLUMES_PER_CLASS)
    ]


def create_volumes(api: Api, volumes: list[dict[str, Any]]) -> None:
    """Create those that do not exist."""
    present = {item["metadata"]["name"] for item in (api.get(_VOLUMES) or {"items": []})["items"]}
    for volume in volumes:
        if volume["metadata"]["name"] not in present:
            api.create(_VOLUMES, volume)


def read_applied_digest(api: Api, name: str) -> str:
    """Return the digest of the manifests that were applied under this name; empty if none were."""
    config_map = api.get(f"{_CONFIG_MAPS}/sandbox-{name}")
    return str(config_map["data"]["digest"]) if config_map else ""


def write_applied_digest(api: Api, name: str, value: str) -> None:
    """Record the digest of applied manifests in a ConfigMap of the cluster.

    Like the objects themselves, the record disappears with the data of etcd.
    """
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"sandbox-{name}"}}
    path = f"{_CONFIG_MAPS}/sandbox-{name}"
    api.call("DELETE", path)
    api.create(_CONFIG_MAPS, {**body, "data": {"digest": value}})


def unestablished_crds(api: Api) -> list[str]:
    """Return the names of the CRDs that the API server does not serve yet."""
    return _without_condition(api, _DEFINITIONS, "Established")


def unready_nodes(api: Api) -> list[str]:
    """Return the names of the nodes that are not Ready."""
    return _without_condition(api, _NODES, "Ready")


def has_default_account(api: Api) -> bool:
    """Return whether the controller manager has created the default ServiceAccount."""
    return api.get("/api/v1/namespaces/default/serviceaccounts/default") is not None


def _without_condition(api: Api, path: str, condition: str) -> list[str]:
    """Return the names of the objects of a collection whose condition is not True."""
    items = (api.get(path) or {"items": []})["items"]
    return [item["metadata"]["name"] for item in items if not _is_true(item, condition)]


def _is_true(item: dict[str, Any], condition: str) -> bool:
    # The conditions of a new CRD are null.
    conditions = item.get("status", {}).get("conditions") or []
    return any(it["type"] == condition and it["status"] == "True" for it in conditions)
