# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Fields that the switches of a hardened operator forbid."""

from __future__ import annotations

from nimops_harness.cluster import DEPLOYMENTS, SERVICES, path_of
from nimops_harness.workload import make_nimservice

from .fields import Json
from .harness import Harness, Seen, attack

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
def attack_switches(harness: Harness) -> Seen:
    namespace = harness.namespace("switches")
    harness.cluster.request(
        "POST", path_of(SERVICES, namespace),
        {"metadata": {"name": "db"}, "spec": {"ports": [{"port": 5432}], "selector": {"app": VICTIM}}},
    )  # fmt: skip
    harness.start(**SWITCHES)
    for name, (_, spec) in FORBIDDEN.items():
        resource = make_nimservice(name)
        resource["spec"] |= spec
        harness.create(namespace, resource)
    problems = harness.find_unanswered("NIMService", namespace, FORBIDDEN)
    for name, (switch, _) in FORBIDDEN.items():
        status = harness.read_status("NIMService", namespace, name)
        said = " ".join(str(item.get("message")) for item in status.get("conditions") or [])
        if status.get("state") != "Failed" or switch not in said:
            problems.append(f"{name} is {status.get('state')}, and does not name {switch}")
        if harness.cluster.find(path_of(DEPLOYMENTS, namespace, name)):
            problems.append(f"{name} has a Deployment")
    problems += find_root(harness, namespace)
    problems += harness.find_unserved(namespace)
    problems += harness.find_undeleted("NIMService", namespace, list(FORBIDDEN))
    harness.start()
    return Seen.of(
        problems,
        f"{len(FORBIDDEN)} resources refused, each by the name of the switch; others are served",
    )


def find_root(harness: Harness, namespace: str) -> list[str]:
    """Containers of an allowed resource that may become root."""
    resource, name = make_nimservice("contained"), "contained"
    side = {"name": "side", "image": {"repository": "side", "tag": "1"}}
    resource["spec"] |= {"initContainers": [side | {"name": "init"}], "sidecarContainers": [side]}
    harness.create(namespace, resource)
    place = path_of(DEPLOYMENTS, namespace, name)
    made = harness.wait_for("a Deployment", lambda: harness.cluster.find(place), 60)
    harness.delete_all("NIMService", namespace, [name])
    if not made:
        return ["an allowed NIMService with a sidecar has no Deployment"]
    pod = made["spec"]["template"]["spec"]
    containers = [*pod["initContainers"], *pod["containers"]]
    problems = [] if len(containers) == 3 else [f"{name} has {len(containers)} containers"]
    for container in containers:
        security = container.get("securityContext") or {}
        if {key: security.get(key) for key in NO_ROOT} != NO_ROOT:
            problems.append(f"container {container['name']} may become root: {security}")
    return problems
