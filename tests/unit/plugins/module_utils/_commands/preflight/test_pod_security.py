# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Pod Security Standards."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.pod_security import (
    check_pod_security,
    violations,
)

GOOD = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def pod(container=None, volumes=(), **spec):
    containers = [{"name": "c", "securityContext": GOOD | (container or {})}]
    return {"containers": containers, "volumes": list(volumes), **spec}


BASELINE = {
    "nothing": (pod(), ""),
    "host network": (pod(hostNetwork=True), "hostNetwork is true"),
    "host path": (pod(volumes=[{"name": "v", "hostPath": {}}]), "volume v is a hostPath"),
    "privileged": (pod({"privileged": True}), "is privileged"),
    "capability": (pod({"capabilities": {"add": ["SYS_ADMIN", "CHOWN"]}}), "SYS_ADMIN"),
    "proc mount": (pod({"procMount": "Unmasked"}), "sets procMount"),
    "seccomp": (pod({"seccompProfile": {"type": "Unconfined"}}), "seccompProfile Unconfined"),
    "AppArmor": (pod({"appArmorProfile": {"type": "Unconfined"}}), "appArmorProfile"),
    "SELinux": (pod({"seLinuxOptions": {"type": "spc_t"}}), "sets seLinuxOptions"),
    "Windows": (pod({"windowsOptions": {"hostProcess": True}}), "hostProcess"),
    "sysctl": (pod(securityContext={"sysctls": [{"name": "kernel.msgmax"}]}), "kernel.msgmax"),
    "safe sysctl": (
        pod(securityContext={"sysctls": [{"name": "net.ipv4.tcp_syncookies"}]}),
        "",
    ),
    "host port": ({"containers": [{"name": "c", "ports": [{"hostPort": 80}]}]}, "a hostPort"),
    "initial container": (
        {"initContainers": [{"name": "i", "securityContext": {"privileged": True}}]},
        "container i is privileged",
    ),
}


@pytest.mark.parametrize("case", BASELINE)
def test_violations_of_baseline(case):
    spec, wanted = BASELINE[case]
    found = violations(spec, "baseline")
    assert len(found) == bool(wanted)
    assert wanted in "".join(found)


RESTRICTED = {
    "nothing": (pod(), ""),
    "empty directory": (pod(volumes=[{"name": "v", "emptyDir": {}}]), ""),
    "NFS": (pod(volumes=[{"name": "v", "nfs": {}}]), "volume v is a nfs"),
    "escalation": (pod({"allowPrivilegeEscalation": None}), "allowPrivilegeEscalation false"),
    "capabilities": (pod({"capabilities": {}}), "drop the capability ALL"),
    "added capability": (
        pod({"capabilities": {"drop": ["ALL"], "add": ["CHOWN"]}}),
        "must not add the capabilities CHOWN",
    ),
    "allowed capability": (
        pod({"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}),
        "",
    ),
    "root": (pod({"runAsUser": 0}), "runAsUser 0"),
    "root of the pod": (pod(securityContext={"runAsUser": 0}), "the pod has runAsUser 0"),
    "may be root, but no container is": (
        pod(securityContext={"runAsNonRoot": False}),
        "the pod has runAsNonRoot false",
    ),
    "may be root": (pod({"runAsNonRoot": False}), "must set runAsNonRoot true"),
    "seccomp": (pod({"seccompProfile": None}), "must set seccompProfile"),
    "seccomp of the pod": (
        pod(
            {"seccompProfile": None},
            securityContext={"seccompProfile": {"type": "RuntimeDefault"}},
        ),
        "",
    ),
}


@pytest.mark.parametrize("case", RESTRICTED)
def test_violations_of_restricted(case):
    spec, wanted = RESTRICTED[case]
    found = violations(spec, "restricted")
    assert len(found) == bool(wanted)
    assert wanted in "".join(found)


@pytest.mark.parametrize(
    ("level", "wanted"),
    [("restricted", ["error"]), ("baseline", ["ok"]), ("privileged", []), (None, [])],
)
def test_check_pod_security(make_group, make_facts, levels, level, wanted):
    labels = {"pod-security.kubernetes.io/enforce": level} if level else {}
    namespace = {"kind": "Namespace", "metadata": {"name": "nim", "labels": labels}}
    found = levels(check_pod_security([make_group()], make_facts(namespace)))
    assert [it for it, _text in found] == wanted


@pytest.mark.parametrize(
    ("level", "spec", "advice"),
    [
        ("restricted", {}, "set the annotation nimops.nim/pod-security: restricted, or label"),
        ("restricted", {"hostNetwork": True}, "change the spec, or label"),
        ("baseline", {"hostNetwork": True}, "change the spec, or label"),
    ],
)
def test_check_pod_security_remedy(make_group, make_facts, level, spec, advice):
    labels = {"pod-security.kubernetes.io/enforce": level}
    namespace = {"kind": "Namespace", "metadata": {"name": "nim", "labels": labels}}
    group = make_group()
    group = replace(group, spec={**group.spec, **spec})
    (reporter,) = check_pod_security([group], make_facts(namespace))
    assert reporter.found[0].remedy.startswith(advice)
