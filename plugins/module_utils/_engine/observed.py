# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The answers to the reads of a pass.

`observe` calls `reads` of a kind, stores each answer under its key, and repeats until no read is
new. Pure code gets the answers as one mapping and accesses them through `Observed`.
"""

from __future__ import annotations

import json
import typing as t

from .._base.errors import NimError
from .._base.types import Fields, Manifest
from .api_resources import object_key
from .reads import ReadAny, list_key

TKGS, OPENSHIFT = "TKGS", "OpenShift"
_ORCHESTRATORS = (
    ("node.vmware.com/tkg", TKGS),
    ("vsphere-tanzu", TKGS),
    ("node.openshift.io/os_id", OPENSHIFT),
    ("cloud.google.com/gke-nodepool", "GKE"),
    ("eks.amazonaws.com/nodegroup", "EKS"),
    ("kubernetes.azure.com/cluster", "AKS"),
    ("oke.oraclecloud.com/cluster", "OKE"),
    ("ezmeral.hpe.com/cluster", "Ezmeral"),
    ("rke.cattle.io/version", "RKE"),
)

_WAIT_IMAGE = "busybox"

OPERATOR = "operator"
RESOURCE, PLAN = "resource", "plan"
"""Keys of the custom resource and the plan among the answers."""

_NODES = list_key("Node")


def tanzu_reads() -> list[ReadAny]:
    """The reads that detect TKGS, the only orchestrator that some pods depend on.

    In a large cluster, the metadata of all nodes would be megabytes in each pass.
    """
    return [ReadAny("Node", label) for label, name in _ORCHESTRATORS if name == TKGS]


def _key_of_label(label: str) -> str:
    return list_key("Node", selector=label)


def pack(answers: Fields) -> str:
    """The answers as one string for Ansible to carry: it would traverse a tree at each use.

    JSON after a space: ansible-core 2.18 turns a template result that looks like a dictionary into
    one.
    """
    return f" {json.dumps(answers)}"


def unpack(value: t.Any) -> Manifest:
    """The answers as a dictionary, from one or from the output of `pack`; NimError otherwise."""
    answers = value or {}
    if isinstance(answers, str):
        try:
            answers = json.loads(answers)
        except ValueError:
            answers = None
    if not isinstance(answers, dict):
        raise NimError("observed: pass what nimops.nim.nim_observe returned as observed")
    return answers


class Observed:
    """Typed access to the answers."""

    def __init__(self, answers: Fields) -> None:
        self.answers = answers

    def has(self, key: str) -> bool:
        """Whether this key was read; the answer may be None."""
        return key in self.answers

    def get(self, key: str) -> t.Any:
        """The answer under a key, None if it was not read."""
        return self.answers.get(key)

    def object(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """A live object, or None if it does not exist (or was not read)."""
        return self.answers.get(object_key(kind, namespace, name))

    @property
    def operator_version(self) -> str:
        """The operator's release, if configured."""
        return str((self.answers.get(OPERATOR) or {}).get("version") or "")

    @property
    def version_label(self) -> str:
        """The value of the operator-version label; empty by default, as in the reference."""
        return str((self.answers.get(OPERATOR) or {}).get("version_label") or "")

    @property
    def operator_namespace(self) -> str:
        """The operator's namespace, if configured; children of cluster-scoped objects go there."""
        return str((self.answers.get(OPERATOR) or {}).get("namespace") or "")

    @property
    def kserve_namespace(self) -> str:
        """The namespace of KServe, if configured."""
        return str((self.answers.get(OPERATOR) or {}).get("kserve") or "")

    @property
    def has_child_events(self) -> bool:
        """Whether a change of a child's status, or of its pods' problems, triggers a pass."""
        return bool((self.answers.get(OPERATOR) or {}).get("child_events"))

    @property
    def operator_pod(self) -> str:
        """The name of the operator's pod, in its namespace; the host's name outside of pods."""
        return str((self.answers.get(OPERATOR) or {}).get("pod") or "")

    @property
    def puller_image(self) -> str:
        """The configured image that downloads models from registries; empty if unset."""
        return str((self.answers.get(OPERATOR) or {}).get("puller_image") or "")

    def refuse_invalid_mirrors(self) -> None:
        """NimError if the mirrors of registries are invalid, so that no registry is queried."""
        if problem := str((self.answers.get(OPERATOR) or {}).get("mirrors_problem") or ""):
            raise NimError(problem, reason="InvalidSetting")

    @property
    def wait_image(self) -> str:
        """The image of init containers that wait for a server; it has a shell and `nc`."""
        return str((self.answers.get(OPERATOR) or {}).get("wait_image") or _WAIT_IMAGE)

    @property
    def nodes(self) -> list[Manifest]:
        """The metadata of each node, in list order."""
        return self.answers.get(_NODES) or []

    @property
    def node_labels(self) -> list[dict[str, str]]:
        """The labels of each node, in list order."""
        return [node["metadata"].get("labels") or {} for node in self.nodes]

    @property
    def orchestrator(self) -> str:
        """The Kubernetes distribution: the first known label of the first node that has one.

        With `tanzu_reads` instead of `ReadNodes`, anything but TKGS is ``Kubernetes``.
        """
        for label, name in _ORCHESTRATORS:
            if self.answers.get(_key_of_label(label)):
                return name
        for labels in self.node_labels:
            for label, name in _ORCHESTRATORS:
                if label in labels:
                    return name
        return "Kubernetes"
