# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Declaration of a kind: pure functions, and the data from which the rest is generated.

A kind is a folder whose `kind.py` has one `KIND = Kind(...)`. `app` builds the context of a pass
from the custom resource, as the API server returns it, and the observed answers. The other
functions get this context.

``reads(app) -> list[Read]``
    The reads, given the answers so far; called again until it returns nothing new.
``desired(app) -> Desired``
    The children to have, in order, and the unwanted ones. NimError if none can be built.
``assess(app, outcome) -> Assessment``
    The resulting status, events and triggers; also called when `desired` raised, or when the API
    server refused something.
``refuse(app, error) -> Assessment``
    The same for a resource that is too large: nothing was observed, and it may have no spec.

The garbage collector deletes the children of a deleted custom resource. `finalize(app) -> Desired`
returns any further work, for example for objects without an owner reference, after the same reads.
`assess_deletion(app, outcome) -> Assessment` returns the last events; its error repeats all that.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from .._base.errors import NimError
from .._base.types import Fields, Manifest
from .api_resources import GROUP, ApiResource
from .desired import Assessment, Desired, Outcome
from .observed import Observed
from .reads import Read

AppT = t.TypeVar("AppT")
USES = ("read", "list", "write", "patch", "delete")
"""``read``: one object, by name. ``list``: all objects, or those with a label. ``write``: create
and update, by server-side apply. ``patch``: update an existing object. ``delete``."""


@dataclass(frozen=True)
class Access:
    """How a kind uses objects of another kind (words of `USES`), and why."""

    kind: str
    uses: str
    why: str


@dataclass(frozen=True)
class NodeFacts:
    """Node metadata whose changes make nimops-apiproxy trigger all resources of a kind.

    A node counts if a label that matches ``device`` or the label ``present`` is true, or if it has
    one of ``marks``. Changes of these labels, of ``labels`` and of the annotation ``request`` on
    such a node trigger, and whether any node has a label that begins with ``prefix``.
    """

    prefix: str
    device: str
    present: str
    marks: tuple[str, ...]
    labels: tuple[str, ...]
    request: str


@dataclass(frozen=True)
class Rule:
    """An RBAC rule beyond those derived from `Access`; lists are space-separated words.

    ``is_local``: only in the operator's namespace; for kinds with a `component`.
    """

    group: str
    resources: str
    verbs: str
    why: str
    names: str = ""
    is_local: bool = False


@dataclass(frozen=True)
class Kind(t.Generic[AppT]):
    """The declaration of a kind; `make generate` derives everything else from it.

    ``finalizer_name``: the kind in the name of the finalizer, by default in lower case.
    ``has_finalizer``: false if the reference sets none and a deletion needs no work.
    ``watches_annotations``: whether a changed annotation triggers a reconcile. ``resources``: API
    resources that it needs and `api_resources.py` lacks. ``assumed``: objects that an unknown
    cluster is assumed to have, used where a list is empty. ``assumed_status``: the status that a
    simulation assumes where only a cluster could decide; None while nothing is pending.
    ``component``: the optional part of the installation that contains the kind, with its own
    watches and permissions; empty for the part that is always installed. ``node_facts``: the node
    metadata that its resources depend on, the same for all kinds that have it. ``checks_crd``:
    whether fields that the served CRD drops are reported; needs permission to read CRDs.
    ``first_state``: the state of a resource without a status, if its schema requires one.
    ``is_scalable``: whether it runs replicas of one pod, whose number is `spec.replicas`; its CRD
    then has the scale subresource.
    """

    name: str
    plural: str
    app: t.Callable[[Fields, Observed], AppT]
    reads: t.Callable[[AppT], list[Read]]
    desired: t.Callable[[AppT], Desired]
    assess: t.Callable[[AppT, Outcome], Assessment]
    finalize: t.Callable[[AppT], Desired] | None = None
    assess_deletion: t.Callable[[AppT, Outcome], Assessment] | None = None
    refuse: t.Callable[[AppT, NimError], Assessment] | None = None
    group: str = GROUP
    version: str = "v1alpha1"
    is_namespaced: bool = True
    short_names: tuple[str, ...] = ()
    finalizer_name: str = ""
    has_finalizer: bool = True
    reconcile_period: str = "10m"
    watches_annotations: bool = False
    access: tuple[Access, ...] = ()
    rules: tuple[Rule, ...] = ()
    resources: t.Mapping[str, ApiResource] = field(default_factory=dict)
    assumed: tuple[tuple[Read, Manifest], ...] = ()
    assumed_status: t.Callable[[AppT], Manifest | None] | None = None
    component: str = ""
    node_facts: NodeFacts | None = None
    checks_crd: bool = False
    first_state: str = ""
    is_scalable: bool = False

    @property
    def api_version(self) -> str:
        """Group and version, as in `apiVersion`."""
        return f"{self.group}/{self.version}"

    @property
    def singular(self) -> str:
        """The kind in lower case, used for its role, playbook and finalizer."""
        return self.name.lower()

    @property
    def finalizer(self) -> str:
        """The finalizer that the runtime adds to the custom resources."""
        return f"finalizer.{self.finalizer_name or self.singular}.{self.group}"


AnyKind = Kind[t.Any]


def with_article(name: str) -> str:
    """A kind with its article: NVIDIA begins with a vowel sound, NIM does not."""
    return f"{'an' if name.startswith(('NVIDIA', *'AEIO')) else 'a'} {name}"
