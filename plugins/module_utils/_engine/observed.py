# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What a reconcile has read from the cluster, and what else it needs to read.

nim_observe calls `reads` of a kind, stores each answer under its key, and repeats until no read is
new. Pure code gets the answers as one mapping and accesses them through `Observed`.
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import asdict, dataclass, replace

from .._base.errors import NimError
from .._base.types import Manifest
from .api_resources import object_key

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

_WAIT_IMAGE = "busybox"

LATER = "later"
"""The registry's answer while it is still pending: draw no conclusion from it."""

OPERATOR = "operator"
RESOURCE, PLAN = "resource", "plan"
"""The custom resource and the plan, which travel with the answers."""


LOG_LIMIT = 4 << 20
"""Bytes to read of a pod's log; a manifest of a thousand profiles has some hundred KiB."""


@dataclass(frozen=True)
class Read:
    """One thing to read.

    ``how`` is one of: ``object`` (answer: the object or None), ``presence`` (of an object that may
    hold secrets; answer: {"metadata": …} with labels and owners, or None), ``sealed`` (a Secret
    whose values should be those that the placeholders ``sealed`` stand for; answer: see `seal`),
    ``digest`` (of a Secret or ConfigMap; answer: see `_engine/digests.py`), ``list`` (metadata
    only, of all namespaces if ``namespace`` is empty, and of those only that have the label
    ``selector``; answer: a list of {"metadata": …}), ``any`` (metadata of one object that has a
    label named ``selector``; answer: a list of one {"metadata": …}, or of none), ``objects`` (whole
    objects of a namespace; answer: a list, None if the API server does not serve the kind),
    ``pods`` (metadata and status of the pods of a namespace with such a label, of the first
    hundreds if there are more; answer: a list), ``outlines`` (of the objects of a namespace, or of
    all, that have the label ``selector`` and what ``field`` says, as `_engine/outlines.py` makes
    them; answer: a list, None if the API server does not serve the kind), ``unready`` (outlines of
    the first few pods that are not ready, among those of a namespace with such a label, as
    `_engine/pod_rows.py` finds them; answer: a list), ``node_rows`` (of all
    nodes, as `_engine/node_rows.py` makes them; answer: a list), ``time`` (answer: the current one
    in ISO 8601; empty where no time passes), ``log`` (of a pod's container; answer: text, empty
    while there is none), ``http`` (GET of ``url``, where a service of ``namespace`` is,
    behind the Service ``name`` if that is given; answer: {"status": int, "body": str, "error": str,
    "late": bool}), ``protocol`` (model-download protocol of ``image``; answer: "native", "legacy",
    "" if the registry gave no answer, or `LATER`).

    ``is_child``: the object is one that the custom resource makes for itself. There is none of a
    resource that has never been served, and if there is one all the same, its creation is refused.
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
    sealed: str = ""
    keys: tuple[str, ...] = ()
    salt: str = ""
    known: str = ""
    is_child: bool = False
    field: str = ""

    def to_dict(self) -> dict[str, t.Any]:
        """The read as plain data."""
        return asdict(self)


def list_key(kind: str, namespace: str = "", selector: str = "") -> str:
    """The key of a list among the observed answers; no object name contains these characters."""
    where = f"{kind}/{namespace}/*" if namespace else f"{kind}/*"
    return f"{where}?{selector}" if selector else where


_NODES = list_key("Node")


def read_object(kind: str, namespace: str, name: str) -> Read:
    """A read of one object."""
    return Read(object_key(kind, namespace, name), "object", kind, namespace, name)


def read_child(kind: str, namespace: str, name: str) -> Read:
    """A read of a child of the custom resource: see `Read.is_child`."""
    return replace(read_object(kind, namespace, name), is_child=True)


def read_presence(kind: str, namespace: str, name: str) -> Read:
    """A read of whether one object exists, without its contents."""
    return Read(object_key(kind, namespace, name), "presence", kind, namespace, name)


def read_sealed(namespace: str, name: str, wanted: t.Mapping[str, str]) -> Read:
    """A read of a Secret that should have the values that these placeholders stand for, by key."""
    key = object_key("Secret", namespace, name)
    return Read(key, "sealed", "Secret", namespace, name, sealed=json.dumps(wanted))


def read_objects(kind: str, namespace: str) -> Read:
    """A read of all objects of a kind in a namespace."""
    return Read(list_key(kind, namespace), "objects", kind, namespace)


def read_pods(namespace: str, selector: str) -> Read:
    """A read of the state of pods with a label; their specs may hold credentials."""
    key = list_key("Pod", namespace, selector)
    return Read(key, "pods", "Pod", namespace, selector=selector)


def read_outlines(kind: str, namespace: str = "", selector: str = "", field: str = "") -> Read:
    """A read of objects in outline, by a label and by a field such as `spec.nodeName=a`."""
    key = f"{list_key(kind, namespace, selector)}#{field}"
    return Read(key, "outlines", kind, namespace, selector=selector, field=field)


def read_unready(namespace: str, selector: str) -> Read:
    """A read of a few pods that are not ready, by a label: they tell why."""
    key = f"{list_key('Pod', namespace, selector)}#unready"
    return Read(key, "unready", "Pod", namespace, selector=selector)


def read_node_rows() -> Read:
    """A read of all nodes: their labels, annotations, state and container runtime."""
    return Read(_NODES, "node_rows", "Node")


def read_time() -> Read:
    """A read of the current time, for kinds that limit how long they wait."""
    return Read("time", "time")


def read_labelled(kind: str, selector: str) -> Read:
    """A read of the metadata of all objects with a label, in all namespaces."""
    return Read(list_key(kind, selector=selector), "list", kind, selector=selector)


def read_nodes() -> Read:
    """A read of all nodes' metadata."""
    return Read(_NODES, "list", "Node")


def read_tanzu() -> list[Read]:
    """Reads of whether the nodes run TKGS, the only orchestrator that some pods depend on.

    The metadata of all nodes would be megabytes in a large cluster, in each pass.
    """
    labels = [label for label, name in _ORCHESTRATORS if name == TKGS]
    return [Read(_key_of_label(label), "any", "Node", selector=label) for label in labels]


def _key_of_label(label: str) -> str:
    return list_key("Node", selector=label)


def pack(answers: t.Mapping[str, t.Any]) -> str:
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

    def __init__(self, answers: t.Mapping[str, t.Any]) -> None:
        self.answers = answers

    def has(self, key: str) -> bool:
        """Whether this key was read, whatever the answer."""
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
        """Whether a change of a child's status, or of why its pods fail, triggers a pass."""
        return bool((self.answers.get(OPERATOR) or {}).get("child_events"))

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

        With `read_tanzu` instead of `read_nodes`, anything but TKGS is ``Kubernetes``.
        """
        for label, name in _ORCHESTRATORS:
            if self.answers.get(_key_of_label(label)):
                return name
        for labels in self.node_labels:
            for label, name in _ORCHESTRATORS:
                if label in labels:
                    return name
        return "Kubernetes"
