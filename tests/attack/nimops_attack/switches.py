# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What a hardened operator forbids."""

from __future__ import annotations

from nimops_live.cluster import path_of
from nimops_live.workload import make_nimservice

from .fields import Json
from .scene import Attack, Scene, Seen
from .tenants import DEPLOYMENTS

SWITCHES = {
    "NIMOPS_HOST_PATHS": "/data/models",
    "NIMOPS_ROOT_USER": "forbid",
    "NIMOPS_INGRESS_ANNOTATIONS": "example.com/allowed",
    "NIMOPS_POD_LABELS": "team",
}
ROUTER: Json = {"hostDomainName": "apps.example.com", "ingress": {"ingressClass": "nginx"}}
FORBIDDEN: dict[str, tuple[str, Json]] = {
    "path": ("NIMOPS_HOST_PATHS", {"storage": {"hostPath": "/etc"}}),
    "path-up": ("NIMOPS_HOST_PATHS", {"storage": {"hostPath": "/data/models/../../etc"}}),
    "path-beside": ("NIMOPS_HOST_PATHS", {"storage": {"hostPath": "/data/models-of-others"}}),
    "path-double": ("NIMOPS_HOST_PATHS", {"storage": {"hostPath": "//etc"}}),
    "root": ("NIMOPS_ROOT_USER", {"userID": 0}),
    "ingress": (
        "NIMOPS_INGRESS_ANNOTATIONS",
        {"expose": {"router": ROUTER | {"annotations": {"nginx.ingress.kubernetes.io/server-snippet": "a"}}}},
    ),
    "ingress-all": (
        "NIMOPS_INGRESS_ANNOTATIONS",
        {"annotations": {"nginx.ingress.kubernetes.io/server-snippet": "a"}, "expose": {"router": ROUTER}},
    ),
    "labels": ("NIMOPS_POD_LABELS", {"labels": {"app": "somebody-else"}}),
}  # fmt: skip


def attack_switches(scene: Scene) -> Seen:
    namespace = scene.namespace("switches")
    scene.start(**SWITCHES)
    for name, (_, spec) in FORBIDDEN.items():
        resource = make_nimservice(name)
        resource["spec"] |= spec
        scene.create(namespace, resource)
    problems = [
        f"{left} got no status" for left in scene.wait_answered("NIMService", namespace, FORBIDDEN)
    ]
    for name, (switch, _) in FORBIDDEN.items():
        status = (scene.read("NIMService", namespace, name) or {}).get("status") or {}
        said = " ".join(str(item.get("message")) for item in status.get("conditions") or [])
        if status.get("state") != "Failed" or switch not in said:
            problems.append(f"{name} is {status.get('state')}, and does not name {switch}")
        if scene.cluster.find(path_of(DEPLOYMENTS, namespace, name)):
            problems.append(f"{name} has a Deployment")
    if wrong := scene.serves(namespace):
        problems.append(wrong)
    problems += [
        f"{left} could not be deleted"
        for left in scene.delete_all("NIMService", namespace, list(FORBIDDEN))
    ]
    scene.start()
    return Seen.of(
        problems,
        f"{len(FORBIDDEN)} resources refused, each by the name of the switch; others are served",
    )


def list_attacks() -> list[Attack]:
    return [
        Attack(
            "switches", "host paths, root, Ingress annotations and labels are refused where a switch forbids them",
            attack_switches, sides=("prefork",),
        )
    ]  # fmt: skip
