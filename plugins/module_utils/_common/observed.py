# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What a reconcile has seen of the cluster, and what else it wants to see.

The observe action runs `reads` of a kind, stores each answer under its key, and asks again until
no read is new. All pure code gets the answers as one mapping and reaches them through `Observed`.
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import asdict, dataclass

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import object_key

Manifest = dict[str, t.Any]

TKGS = "TKGS"
_ORCHESTRATORS = (
    ("node.vmware.com/tkg", TKGS),
    ("vsphere-tanzu", TKGS),
    ("node.openshift.io/os_id", "OpenShift"),
    ("cloud.google.com/gke-nodepool", "GKE"),
    ("eks.amazonaws.com/nodegroup", "EKS"),
    ("kubernetes.azure.com/cluster", "AKS"),
    ("oke.oraclecloud.com/cluster", "OKE"),
    ("ezmeral.hpe.com/cluster", "Ezmeral"),
    ("rke.cattle.io/version", "RKE"),
)

LATER = "later"
"""What the registry's answer is while it was not waited for: nothing may be concluded from it."""

NODES = "Node"
OPERATOR = "operator"
RESOURCE, PLAN = "resource", "plan"
"""The custom resource itself and what `plan_for` made of it, which travel with the answers."""


@dataclass(frozen=True)
class Read:
    """One thing to read.

    ``how`` is one of: ``object`` (answer: the object or None), ``presence`` (of an object that may
    hold secrets; answer: {"metadata": …} with labels and owners, or None), ``list`` (metadata only,
    of all namespaces if ``namespace`` is empty, and of those only that have the label ``selector``;
    answer: a list of {"metadata": …}), ``any`` (metadata of one object that has a label named
    ``selector``; answer: a list of one {"metadata": …}, or of none), ``objects`` (whole objects of
    a namespace, with such a label if one is given; answer: a list, None if the API server does not
    serve the kind), ``log`` (of a pod's container; answer: text, empty while there is none),
    ``http`` (GET of ``url``, where a service of ``namespace`` is, behind the Service ``name`` if
    that is given; answer: {"status": int, "body": str, "error": str, "late": bool}), ``protocol``
    (model-download protocol of ``image``; answer: "native", "legacy", "" if the registry gave no
    answer, or `LATER`).
    """

    key: str
    how: str
    kind: str = ""
    namespace: str = ""
    name: str = ""
    container: str = ""
    selector: str = ""
    url: str = ""
    image: str = ""
    pull_secrets: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, t.Any]:
        """The read as plain data."""
        return asdict(self)


def read_object(kind: str, namespace: str, name: str) -> Read:
    """A read of one object."""
    return Read(object_key(kind, name), "object", kind, namespace, name)


def read_presence(kind: str, namespace: str, name: str) -> Read:
    """A read of whether one object is there, without what it holds."""
    return Read(object_key(kind, name), "presence", kind, namespace, name)


def read_objects(kind: str, namespace: str, selector: str = "") -> Read:
    """A read of all objects of a kind in a namespace, or of those with a label."""
    key = f"{kind}?{selector}" if selector else kind
    return Read(key, "objects", kind, namespace, selector=selector)


def read_elsewhere(kind: str, namespace: str, name: str) -> Read:
    """A read of one object of another namespace than the custom resource's."""
    return Read(f"{kind}/{namespace}/{name}", "object", kind, namespace, name)


def read_labelled(kind: str, selector: str) -> Read:
    """A read of the metadata of all objects with a label, in all namespaces."""
    return Read(f"{kind}?{selector}", "list", kind, selector=selector)


def read_nodes() -> Read:
    """A read of all nodes' metadata."""
    return Read(NODES, "list", "Node")


def read_tanzu() -> list[Read]:
    """Reads of whether the nodes are TKGS's, the only orchestrator that some pods have to know of.

    All nodes' metadata would be megabytes in a large cluster, at each pass.
    """
    labels = [label for label, name in _ORCHESTRATORS if name == TKGS]
    return [Read(_key_of_label(label), "any", "Node", selector=label) for label in labels]


def _key_of_label(label: str) -> str:
    return f"{NODES}?{label}"


def pack(answers: t.Mapping[str, t.Any]) -> str:
    """The answers as one text, for Ansible to carry: it would walk through a tree at each use.

    JSON after a space: of what begins as a dictionary does, a template of ansible-core 2.18 makes
    one.
    """
    return f" {json.dumps(answers)}"


def unpack(value: t.Any) -> Manifest:
    """The answers as a dictionary, from one or from what `pack` made of it; NimError otherwise."""
    answers = value or {}
    if isinstance(answers, str):
        try:
            answers = json.loads(answers)
        except ValueError:
            answers = None
    if not isinstance(answers, dict):
        raise NimError("observed: give what nimops.nim.observe returned under this name")
    return answers


class Observed:
    """Access to the answers, by what they are."""

    def __init__(self, answers: t.Mapping[str, t.Any]) -> None:
        self.answers = answers

    def has(self, key: str) -> bool:
        """Whether this key was read, whatever the answer."""
        return key in self.answers

    def get(self, key: str) -> t.Any:
        """The answer under a key, None if it was not read."""
        return self.answers.get(key)

    def object(self, kind: str, name: str) -> Manifest | None:
        """A live object, or None if it does not exist (or was not read)."""
        return self.answers.get(object_key(kind, name))

    @property
    def operator_version(self) -> str:
        """The value of the operator-version label."""
        return str((self.answers.get(OPERATOR) or {}).get("version") or "")

    @property
    def kserve_namespace(self) -> str:
        """Where KServe is, if the operator was told."""
        return str((self.answers.get(OPERATOR) or {}).get("kserve") or "")

    @property
    def node_labels(self) -> list[dict[str, str]]:
        """The labels of each node, in list order."""
        nodes = self.answers.get(NODES) or []
        return [node["metadata"].get("labels") or {} for node in nodes]

    @property
    def orchestrator(self) -> str:
        """Which Kubernetes this is: the first telling label of the first node that has one.

        With `read_tanzu` in the place of `read_nodes`, any other than TKGS is ``Kubernetes``.
        """
        for label, name in _ORCHESTRATORS:
            if self.answers.get(_key_of_label(label)):
                return name
        for labels in self.node_labels:
            for label, name in _ORCHESTRATORS:
                if label in labels:
                    return name
        return "Kubernetes"
