# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Fields that the switches of a hardened operator forbid."""

from __future__ import annotations

from nimops_harness.cluster import Json
from nimops_harness.workload import make_nimservice

from .harness import Scene, attack, messages_of

SWITCHES = {
    "NIMOPS_HOST_PATHS": "/data/models",
    "NIMOPS_ROOT_USER": "forbid",
    "NIMOPS_INGRESS_ANNOTATIONS": "example.com/allowed",
    "NIMOPS_POD_LABELS": "team",
    "NIMOPS_PROBE_HOSTS": "*.example",
    "NIMOPS_EXPOSED_SERVICES": "shared",
}
METADATA = "169.254.169.254"
VICTIM = "postgres"
"""A foreign Service selects pods with this name."""
NO_ROOT: Json = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
}
ROUTER: Json = {"hostDomainName": "apps.example.com", "ingress": {"ingressClass": "nginx"}}
PICKER: Json = {
    "containerSpec": {"name": "epp", "image": {"repository": "epp", "tag": "1"}},
    "configMapRef": {"name": "epp", "key": "config"},
}
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
    VICTIM: ("NIMOPS_POD_LABELS", {}),
    "probe": (
        "NIMOPS_PROBE_HOSTS",
        {"startupProbe": {"probe": {"httpGet": {"host": METADATA, "path": "/", "port": 80}}}},
    ),
    "probe-tcp": ("NIMOPS_PROBE_HOSTS", {"livenessProbe": {"probe": {"tcpSocket": {"host": METADATA, "port": 22}}}}),
    "probe-picker": (
        "NIMOPS_PROBE_HOSTS",
        {"expose": {"router": ROUTER | {"eppConfig": PICKER | {
            "readinessProbe": {"httpGet": {"host": METADATA, "path": "/", "port": 80}},
        }}}},
    ),
    "backend": (
        "NIMOPS_EXPOSED_SERVICES",
        {"expose": {"router": {"hostDomainName": "apps.example.com", "gateway": {
            "name": "a", "namespace": "a", "backendRef": {"name": VICTIM, "port": 5432},
        }}}},
    ),
    "ingress-raw": (
        "NIMOPS_EXPOSED_SERVICES",
        {"expose": {"ingress": {"enabled": True, "spec": {
            "defaultBackend": {"service": {"name": VICTIM, "port": {"number": 5432}}},
        }}}},
    ),
}  # fmt: skip


@attack(
    "switches",
    "host paths, root, Ingress annotations, labels, names that take traffic, hosts of probes and Services of others are refused where a switch forbids them; no container may become root",
    sides=("prefork",),
)
def attack_switches(scene: Scene) -> str:
    scene.plant("Service", "db", {"spec": {"ports": [{"port": 5432}], "selector": {"app": VICTIM}}})
    scene.harness.start(**SWITCHES)
    for name, (_, spec) in FORBIDDEN.items():
        scene.make(make_nimservice(name, **spec))
    scene.expect_answered()
    for name, (switch, _) in FORBIDDEN.items():
        found = scene.read("NIMService", name)
        state = (found.get("status") or {}).get("state")
        is_refused = state == "Failed" and switch in " ".join(messages_of(found))
        scene.expect(is_refused, f"{name} is {state}, and does not name {switch}")
        scene.expect(not scene.find("Deployment", name), f"{name} has a Deployment")
    expect_no_root(scene)
    scene.expect_served()
    scene.expect_deleted()
    scene.harness.start()
    return f"{len(FORBIDDEN)} resources refused, each by the name of the switch; others are served"


def expect_no_root(scene: Scene) -> None:
    """Problems are containers of an allowed resource that may become root."""
    side = {"name": "side", "image": {"repository": "side", "tag": "1"}}
    lists = {"initContainers": [side | {"name": "init"}], "sidecarContainers": [side]}
    scene.make(make_nimservice("contained", **lists))
    made = scene.wait_for(lambda: scene.find("Deployment", "contained")) or {"spec": {}}
    pod = (made["spec"].get("template") or {}).get("spec") or {}
    containers = [*pod.get("initContainers", []), *pod.get("containers", [])]
    scene.expect(len(containers) == 3, f"contained has {len(containers)} containers")
    for container in containers:
        security = container.get("securityContext") or {}
        is_safe = {key: security.get(key) for key in NO_ROOT} == NO_ROOT
        scene.expect(is_safe, f"container {container['name']} may become root: {security}")
