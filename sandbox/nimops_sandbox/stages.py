# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""How simulated nodes, pods and volumes change state: the configuration of kwok.

A stage selects objects by jq queries and patches them with the output of a Go template. The README
describes the available behaviors of pods.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import metering

# The directory of simulated volumes on the nodes; it does not exist.
NONEXISTENT_PATH = "/nonexistent"
BEHAVIOURS = ("run", "stay", "hold", "fail", "unready", "nopull")

Match = dict[str, Any]


def _match(query: str, operator: str, *values: str) -> Match:
    return {"jq": {"key": query, "operator": operator, **({"values": values} if values else {})}}


def _ask(word: str) -> str:
    """Query for the pod's annotation, or else a variable of its containers."""
    return (
        f'.metadata.annotations["sandbox.nimops/{word}"] // '
        f'([.spec.containers[].env[]? | select(.name == "SANDBOX_{word.upper()}").value][0])'
    )


_NAME = '(.metadata.labels["app.kubernetes.io/name"] // .metadata.labels.app // "")'
_PREFIX = f'({_NAME} | capture("^(?<word>{"|".join(BEHAVIOURS)})-").word)'
# A failing pod of a Job ends, one of a workload restarts forever. A standalone pod only reads
# something from its image: "fail" does not apply to it.
_BEHAVIOUR = (
    '(.metadata.ownerReferences[0].kind // "") as $owner | .spec.nodeName as $node'
    f' | ({_ask("behave")} // {_PREFIX} // "run") / "@"'
    ' | if (.[1] // $node) == $node then .[0] else "run" end'
    ' | if . != "fail" then . elif $owner == "Job" then "exit"'
    ' elif ["ReplicaSet", "StatefulSet", "DaemonSet"] | index($owner) then "crash" else "run" end'
)

_READY = '.status.conditions[]? | select(.type == "Ready").status'
_CONTAINER = ".status.containerStatuses[0]"
_EXISTS = _match(".metadata.deletionTimestamp", "DoesNotExist")
_PENDING = _match(".status.phase", "In", "Pending")
_RUNNING = _match(".status.phase", "In", "Running")
_ALIVE = _match(".status.phase", "In", "Pending", "Running")
_IS_READY = _match(_READY, "In", "True")
_NOT_READY = _match(_READY, "NotIn", "True")
_OF_JOB = _match(".metadata.ownerReferences[]?.kind", "In", "Job")

_UP = "running: {startedAt: {{ $now | Quote }}}, waiting: null, terminated: null"
_ENDED = (
    "running: null, waiting: null, terminated: {exitCode: %d, reason: %s, "
    "startedAt: {{ $.status.startTime | Quote }}, finishedAt: {{ $now | Quote }}}"
)
_CRASHING = (
    "running: null, terminated: null, "
    "waiting: {reason: CrashLoopBackOff, message: back-off restarting failed container}"
)
_NO_IMAGE = (
    "waiting: {reason: ImagePullBackOff, "
    'message: {{ printf "Back-off pulling image %s" .image | Quote }}}'
)

_POD_STATUS = """\
{{ $now := Now }}
phase: @phase@
startTime: {{ or .status.startTime $now | Quote }}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
{{ with .metadata }}
podIP: {{ or $.status.podIP (PodIPWith $.spec.nodeName false .uid .name .namespace) | Quote }}
{{ end }}
conditions:
- {type: Initialized, status: "True", lastTransitionTime: {{ $now | Quote }}}
{{ range $type := list "ContainersReady" "Ready" }}
- {type: {{ $type }}, status: "@ready@", reason: @reason@, lastTransitionTime: {{ $now | Quote }}}
{{ end }}
{{ range .spec.readinessGates }}
- {type: {{ .conditionType }}, status: "@ready@", lastTransitionTime: {{ $now | Quote }}}
{{ end }}
initContainerStatuses:
{{ range .spec.initContainers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  restartCount: 0
  {{ if eq (or .restartPolicy "") "Always" }}
  started: true
  state: {running: {startedAt: {{ $now | Quote }}}}
  {{ else }}
  started: false
  state:
    terminated:
      exitCode: 0
      reason: Completed
      startedAt: {{ $now | Quote }}
      finishedAt: {{ $now | Quote }}
  {{ end }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: @container_ready@
  started: @started@
  restartCount: @restarts@
  state: {@state@}
{{ end }}
"""

_NODE_STATUS = """\
{{ $now := Now }}
phase: Running
addresses:
- {type: InternalIP, address: {{ NodeIP | Quote }}}
- {type: Hostname, address: {{ .metadata.name | Quote }}}
daemonEndpoints: {kubeletEndpoint: {Port: {{ NodePort }}}}
nodeInfo:
  architecture: amd64
  operatingSystem: linux
  osImage: simulated
  kernelVersion: simulated
  containerRuntimeVersion: simulated://1
  kubeletVersion: @kubelet@
  kubeProxyVersion: ""
  bootID: ""
  machineID: ""
  systemUUID: ""
conditions:
{{ range NodeConditions }}
- type: {{ .type | Quote }}
  status: {{ .status | Quote }}
  reason: {{ .reason | Quote }}
  message: {{ .message | Quote }}
  lastHeartbeatTime: {{ $now | Quote }}
  lastTransitionTime: {{ or $.metadata.creationTimestamp $now | Quote }}
{{ end }}
"""


@dataclass(frozen=True)
class PodStage:
    """A state change of pods with one of these behaviors that match all conditions.

    It sets `phase`, `ready` and the containers' `state`, in YAML's flow style, after `delay`
    milliseconds or the pod's own value of `ask`.
    """

    name: str
    behaviours: tuple[str, ...]
    matches: tuple[Match, ...]
    phase: str
    state: str
    ready: bool = False
    reason: str = "ContainersNotReady"
    delay: int = 0
    ask: str = ""

    def render(self) -> dict[str, Any]:
        behaves = _match(_BEHAVIOUR, "In", *self.behaviours)
        words = {
            "phase": self.phase,
            "ready": str(self.ready),
            "reason": "null" if self.ready else self.reason,
            "container_ready": str(self.ready).lower(),
            "started": str(self.state == _UP).lower(),
            "restarts": "11" if self.state == _CRASHING else "0",
            "state": self.state,
        }
        template = _POD_STATUS
        for word, value in words.items():
            template = template.replace(f"@{word}@", value)
        delay: dict[str, Any] = {"durationMilliseconds": self.delay}
        if self.ask:
            delay["durationFrom"] = {"jq": {"expression": f"{_ask(self.ask)} // empty"}}
        steps = [{"patch": {"subresource": "status", "root": "status", "template": template}}]
        return _stage(self.name, "Pod", [_EXISTS, *self.matches, behaves], steps, delay=delay)


# Each leaves the state that it selects, so none applies twice.
POD_STAGES = (
    PodStage(
        "pod-start",
        ("run", "stay", "exit"),
        (_ALIVE, _NOT_READY),
        "Running",
        _UP,
        ready=True,
        ask="delay",
    ),
    PodStage(
        "pod-complete",
        ("run",),
        (_OF_JOB, _RUNNING, _IS_READY),
        "Succeeded",
        _ENDED % (0, "Completed"),
        reason="PodCompleted",
        delay=1000,
        ask="duration",
    ),
    PodStage(
        "pod-exit",
        ("exit",),
        (_RUNNING, _IS_READY),
        "Failed",
        _ENDED % (1, "Error"),
        reason="PodFailed",
        delay=1000,
        ask="duration",
    ),
    PodStage(
        "pod-crash",
        ("crash",),
        (_ALIVE, _match(f"{_CONTAINER}.state.waiting.reason", "NotIn", "CrashLoopBackOff")),
        "Running",
        _CRASHING,
    ),
    PodStage(
        "pod-unready",
        ("unready",),
        (_ALIVE, _match(f"{_CONTAINER} | .started and (.ready | not)", "NotIn", "true")),
        "Running",
        _UP,
    ),
    PodStage(
        "pod-nopull",
        ("nopull",),
        (_PENDING, _match(f"{_CONTAINER}.state.waiting.reason", "NotIn", "ImagePullBackOff")),
        "Pending",
        _NO_IMAGE,
    ),
)


def render_config(pod_logs: Path, kubelet: str, with_metrics: bool = False) -> str:
    """Return the whole configuration as JSON documents, which are also YAML.

    kubelet: the version that nodes report, such as v1.2.3. with_metrics: with those of pods.
    """
    node = _NODE_STATUS.replace("@kubelet@", kubelet)
    documents = [
        _stage(
            "node-start",
            "Node",
            [_match(_READY, "NotIn", "True")],
            [{"patch": {"subresource": "status", "root": "status", "template": node}}],
        ),
        *(stage.render() for stage in POD_STAGES),
        _stage(
            "pod-delete",
            "Pod",
            [_match(".metadata.deletionTimestamp", "Exists")],
            [{"delete": True}],
        ),
        # Volumes never contain data: one whose claim is gone can be claimed again.
        _stage(
            "volume-reclaim",
            "PersistentVolume",
            [
                _match(".status.phase", "In", "Released", "Failed"),
                _match(".spec.claimRef", "Exists"),
                _match(
                    f'.spec.hostPath.path // "" | startswith("{NONEXISTENT_PATH}/")', "In", "true"
                ),
            ],
            [{"patch": {"root": "spec", "type": "merge", "template": "claimRef: null"}}],
        ),
        _document(
            "ClusterLogs", "every-pod", {"logs": [{"logsFile": str(pod_logs / "manifest.log")}]}
        ),
        *(_document(*it) for it in metering.DOCUMENTS if with_metrics),
    ]
    return "\n---\n".join(json.dumps(document) for document in documents) + "\n"


def _stage(
    name: str, kind: str, matches: list[Match], steps: list[dict[str, Any]], **more: Any
) -> dict[str, Any]:
    spec = {
        "resourceRef": {"apiGroup": "v1", "kind": kind},
        "selector": {"matchExpressions": matches},
        "steps": steps,
        **more,
    }
    return _document("Stage", name, spec)


def _document(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }
