# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Pod Security Standards, as the admission plugin of Kubernetes applies them to pods.

https://kubernetes.io/docs/concepts/security/pod-security-standards/
"""

from __future__ import annotations

import typing as t

from ..._base.types import Fields, Json
from ..._builders.tenant_limits import POD_SECURITY_ANNOTATION
from .check import Reporter
from .facts import ClusterFacts
from .pod_resources import containers_of
from .workloads import PodGroup

ENFORCE = "pod-security.kubernetes.io/enforce"
BASELINE, RESTRICTED = "baseline", "restricted"

_CAPABILITIES = {
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
    *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
}
_VOLUMES = {
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim"),
    *("projected", "secret", "image", "name"),
}
_SELINUX = {"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
_SECCOMP = ("RuntimeDefault", "Localhost")
_SYSCTLS = {
    *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"),
    *("net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"),
    *("net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time"),
    *("net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl"),
    *("net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
}


def check_pod_security(groups: t.Iterable[PodGroup], facts: ClusterFacts) -> list[Reporter]:
    """Compare pods with the level that their namespace enforces."""
    reporters = []
    for group in groups:
        namespace = facts.find("Namespace", "", group.namespace)
        level = ((namespace or {}).get("metadata", {}).get("labels") or {}).get(ENFORCE, "")
        if level not in (BASELINE, RESTRICTED):
            continue
        reporter = Reporter(group.parent, "pod security")
        found = violations(group.spec, level)
        workload = f"{group.workload.kind} {group.workload.name}"
        if found:
            reporter.fail(
                f"namespace {group.namespace} enforces {level}, which refuses the pods of"
                f" {workload}: {'; '.join(found)}",
                _remedy(group.spec, level),
            )
        else:
            reporter.ok(f"namespace {group.namespace} enforces {level}, which allows {workload}")
        reporters.append(reporter)
    return reporters


def _remedy(spec: Fields, level: str) -> str:
    """The change to make: hardening suffices unless `baseline` refuses the pods as well."""
    hardened = f"set the annotation {POD_SECURITY_ANNOTATION}: {RESTRICTED}"
    is_enough = level == RESTRICTED and not violations(spec, BASELINE)
    first = hardened if is_enough else "change the spec"
    return f"{first}, or label the namespace {ENFORCE} with a lower level"


def violations(spec: Fields, level: str) -> list[str]:
    """Why a level does not allow a pod."""
    found = list(_baseline(spec))
    return found if level == BASELINE else [*found, *_restricted(spec)]


def _baseline(spec: Fields) -> t.Iterator[str]:
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(field):
            yield f"{field} is true"
    for volume in spec.get("volumes") or []:
        if "hostPath" in volume:
            yield f"volume {volume.get('name')} is a hostPath"
    pod = _security(spec)
    for sysctl in pod.get("sysctls") or []:
        if sysctl.get("name") not in _SYSCTLS:
            yield f"sysctl {sysctl.get('name')} is not allowed"
    yield from _baseline_context("the pod", pod)
    for container in containers_of(spec):
        name = f"container {container.get('name')}"
        if any(port.get("hostPort") for port in container.get("ports") or []):
            yield f"{name} has a hostPort"
        yield from _baseline_context(name, _security(container))


def _baseline_context(name: str, given: Json) -> t.Iterator[str]:
    if given.get("privileged"):
        yield f"{name} is privileged"
    added = set((given.get("capabilities") or {}).get("add") or [])
    if extra := sorted(added - _CAPABILITIES):
        yield f"{name} adds the capabilities {', '.join(map(str, extra))}"
    if given.get("procMount", "Default") != "Default":
        yield f"{name} sets procMount"
    if (given.get("seccompProfile") or {}).get("type") == "Unconfined":
        yield f"{name} has the seccompProfile Unconfined"
    if (given.get("appArmorProfile") or {}).get("type") == "Unconfined":
        yield f"{name} has the appArmorProfile Unconfined"
    selinux = given.get("seLinuxOptions") or {}
    if selinux.get("type", "") not in _SELINUX or selinux.get("user") or selinux.get("role"):
        yield f"{name} sets seLinuxOptions"
    if (given.get("windowsOptions") or {}).get("hostProcess"):
        yield f"{name} is a hostProcess"


def _restricted(spec: Fields) -> t.Iterator[str]:
    for volume in spec.get("volumes") or []:
        if extra := volume.keys() - _VOLUMES - {"hostPath"}:  # baseline reports a hostPath
            yield f"volume {volume.get('name')} is a {', '.join(sorted(extra))}"
    pod = _security(spec)
    if pod.get("runAsUser") == 0:
        yield "the pod has runAsUser 0"
    if pod.get("runAsNonRoot") is False:
        yield "the pod has runAsNonRoot false"
    for container in containers_of(spec):
        yield from _restricted_container(container, pod)


def _restricted_container(container: Fields, pod: Json) -> t.Iterator[str]:
    name, own = f"container {container.get('name')}", _security(container)
    if own.get("allowPrivilegeEscalation") is not False:
        yield f"{name} must set allowPrivilegeEscalation false"
    capabilities = own.get("capabilities") or {}
    if "ALL" not in (capabilities.get("drop") or []):
        yield f"{name} must drop the capability ALL"
    if extra := sorted(set(capabilities.get("add") or []) - {"NET_BIND_SERVICE"}):
        yield f"{name} must not add the capabilities {', '.join(map(str, extra))}"
    if not own.get("runAsNonRoot", pod.get("runAsNonRoot")):
        yield f"{name} must set runAsNonRoot true"
    if own.get("runAsUser") == 0:
        yield f"{name} has runAsUser 0"
    profile = own.get("seccompProfile") or pod.get("seccompProfile") or {}
    if profile.get("type") not in _SECCOMP:
        yield f"{name} must set seccompProfile to RuntimeDefault or Localhost"


def _security(item: Fields) -> Json:
    return dict(item.get("securityContext") or {})
