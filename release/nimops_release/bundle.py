# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The OLM bundle and a file-based catalog, generated from the build of config/default."""

from __future__ import annotations

import base64
import copy
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .epoch import format_epoch, read_epoch
from .images import WAIT_IMAGE
from .manifests import (
    CAPABILITY,
    MANAGER,
    NAMESPACE,
    Manifest,
    Project,
    by_key,
    manager_of,
    of_kind,
    read_samples,
    to_yaml,
    to_yaml_stream,
)
from .programs import run_program

PACKAGE = "nimops"
CHANNEL = "stable"
KUBERNETES = "1.30.0"
STATIC = Path(__file__).resolve().parents[1] / "bundle"
SHIPPED = ("Service", "PodDisruptionBudget", "NetworkPolicy")
"""kinds in a bundle, besides CRDs and the users' ClusterRoles"""
_FEATURE = "features.operators.openshift.io/"
FEATURES = {
    # Images are named by tag, and a mirror of OpenShift needs digests.
    "disconnected": False,
    "fips-compliant": False,
    # The operator passes HTTPS_PROXY, which OLM sets, to what connects to registries.
    "proxy-aware": True,
    "tls-profiles": False,
    "token-auth-aws": False,
    "token-auth-azure": False,
    "token-auth-gcp": False,
    "cnf": False,
    "cni": False,
    "csi": False,
}
"""what OpenShift's catalog shows; the validators of OLM require `true` or `false` for each"""
_MEDIA = {
    "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
    "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
    "operators.operatorframework.io.bundle.metadata.v1": "metadata/",
    "operators.operatorframework.io.bundle.package.v1": PACKAGE,
    "operators.operatorframework.io.bundle.channels.v1": CHANNEL,
    "operators.operatorframework.io.bundle.channel.default.v1": CHANNEL,
}


def bundle_files(project: Project) -> dict[str, str]:
    """Return the content of each file, by its path in the bundle."""
    items = project.build("default")
    files = {f"manifests/{PACKAGE}.clusterserviceversion.yaml": to_yaml(make_csv(project, items))}
    for item in _shipped(items):
        files[f"manifests/{item['kind'].lower()}-{item['metadata']['name']}.yaml"] = to_yaml(item)
    files["metadata/annotations.yaml"] = to_yaml({"annotations": _MEDIA})
    labels = "".join(f"LABEL {key}={value}\n" for key, value in _MEDIA.items())
    copies = "COPY manifests /manifests/\nCOPY metadata /metadata/\n"
    files["bundle.Dockerfile"] = f"FROM scratch\n{labels}{copies}"
    return files


def _shipped(items: Sequence[Manifest]) -> list[Manifest]:
    users = [item for item in of_kind(items, "ClusterRole") if item not in _operator_roles(items)]
    found = [*of_kind(items, "CustomResourceDefinition", *SHIPPED), *users]
    return [_localize(item) for item in found]


def _localize(item: Manifest) -> Manifest:
    """Remove the fields that OLM sets: the namespace and the managed-by label."""
    changed = copy.deepcopy(item)
    changed["metadata"].pop("namespace", None)
    changed["metadata"].get("labels", {}).pop("app.kubernetes.io/managed-by", None)
    return changed


def _operator_roles(items: Sequence[Manifest]) -> list[Manifest]:
    """Return the Roles and ClusterRoles that are bound to the operator."""
    bindings = of_kind(items, "RoleBinding", "ClusterRoleBinding")
    found = by_key(items)
    return [
        found[item["roleRef"]["kind"], item["roleRef"]["name"]]
        for item in bindings
        if {"kind": "ServiceAccount", "name": MANAGER, "namespace": NAMESPACE} in item["subjects"]
    ]


def make_csv(project: Project, items: Sequence[Manifest]) -> Manifest:
    """Return the ClusterServiceVersion."""
    galaxy, version = project.galaxy, project.version
    deployment = make_deployment(items)
    image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
    icon = base64.b64encode((STATIC / "icon.svg").read_bytes()).decode()
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": f"{PACKAGE}.v{version}",
            "namespace": "placeholder",
            "annotations": {
                "alm-examples": json.dumps(read_samples(project), indent=2),
                "capabilities": CAPABILITY,
                "categories": "AI/Machine Learning",
                "containerImage": image,
                "createdAt": format_epoch(read_epoch(project.root)),
                "description": galaxy["description"],
                "olm.skipRange": f"<{version}",
                **{f"{_FEATURE}{name}": str(has).lower() for name, has in FEATURES.items()},
                "operatorframework.io/suggested-namespace": NAMESPACE,
                "repository": galaxy["repository"],
                "support": galaxy["issues"],
            },
            "labels": {
                "operatorframework.io/arch.amd64": "supported",
                "operatorframework.io/os.linux": "supported",
            },
        },
        "spec": {
            "displayName": "nimops.nim",
            "description": (STATIC / "description.md").read_text().replace("@VERSION@", version),
            "version": version,
            "minKubeVersion": KUBERNETES,
            "maturity": "alpha",
            "provider": {"name": galaxy["authors"][0], "url": galaxy["homepage"]},
            "maintainers": [{"name": galaxy["authors"][0], "email": project.publisher["contact"]}],
            "keywords": galaxy["tags"],
            "links": [{"name": "Documentation", "url": galaxy["documentation"]}],
            "icon": [{"base64data": icon, "mediatype": "image/svg+xml"}],
            "customresourcedefinitions": {"owned": _owned(items)},
            # WATCH_NAMESPACE is set to the namespaces of the OperatorGroup.
            "installModes": [
                {"type": mode, "supported": True}
                for mode in ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
            ],
            "install": {
                "strategy": "deployment",
                "spec": {
                    "deployments": [
                        {
                            "name": deployment["metadata"]["name"],
                            "label": deployment["metadata"]["labels"],
                            "spec": deployment["spec"],
                        }
                    ],
                    **_permissions(items),
                },
            },
            "relatedImages": [
                {"name": "manager", "image": image},
                {"name": "wait", "image": WAIT_IMAGE},
            ],
        },
    }


def make_deployment(items: Sequence[Manifest]) -> Manifest:
    """Return the Deployment, configured for the namespaces of the OperatorGroup."""
    deployment = _localize(manager_of(items))
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    target = {"fieldRef": {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}}
    container["env"] = [
        {"name": entry["name"], "valueFrom": target}
        if entry["name"] == "WATCH_NAMESPACE"
        else entry
        for entry in container["env"]
    ]
    return deployment


def _permissions(items: Sequence[Manifest]) -> dict[str, Any]:
    """Return the rules of the operator.

    OLM grants `permissions` in the namespaces of the OperatorGroup and in the operator's own. So
    these are the rules bound in all namespaces by default, if no resource is cluster-scoped.
    """
    outside = by_key(items)["ClusterRole", "nimops-node-role"]
    inside = [role for role in _operator_roles(items) if role is not outside]
    rules = [rule for role in inside for rule in role["rules"]]
    return {
        "permissions": [{"serviceAccountName": MANAGER, "rules": rules}],
        "clusterPermissions": [{"serviceAccountName": MANAGER, "rules": outside["rules"]}],
    }


def _owned(items: Sequence[Manifest]) -> list[dict[str, Any]]:
    return [
        {
            "name": item["metadata"]["name"],
            "version": version["name"],
            "kind": item["spec"]["names"]["kind"],
            "displayName": item["spec"]["names"]["kind"],
            "description": version["schema"]["openAPIV3Schema"]["description"],
        }
        for item in of_kind(items, "CustomResourceDefinition")
        for version in item["spec"]["versions"]
    ]


def catalog_text(project: Project, bundle: Path) -> str:
    """Return a file-based catalog that offers one bundle."""
    version = project.version
    entry = {"name": f"{PACKAGE}.v{version}", "skipRange": f"<{version}"}
    icon = base64.b64encode((STATIC / "icon.svg").read_bytes()).decode()
    package = {
        "schema": "olm.package",
        "name": PACKAGE,
        "defaultChannel": CHANNEL,
        "icon": {"base64data": icon, "mediatype": "image/svg+xml"},
        "description": project.galaxy["description"],
    }
    channel = {"schema": "olm.channel", "package": PACKAGE, "name": CHANNEL, "entries": [entry]}
    rendered = json.loads(run_program("opm", "render", str(bundle), "--output=json"))
    manager = manager_of(project.build("default"))["spec"]["template"]["spec"]["containers"][0]
    repository, _colon, tag = manager["image"].rpartition(":")
    rendered["image"] = f"{repository}-bundle:{tag}"
    rendered["relatedImages"].append({"name": "", "image": rendered["image"]})
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "catalog.yaml").write_text(to_yaml_stream([package, channel, rendered]))
        # Metadata instead of complete objects, which are only allowed in a bundle with an image.
        return run_program("opm", "render", folder, "--migrate", "--output=yaml")
