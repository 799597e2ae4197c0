# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What a kind is: three pure functions, and the declaration from which the rest is generated.

A kind is a folder whose `kind.py` has one `KIND = Kind(...)`. Its functions get the context of a
pass, which `app` builds from the custom resource as the API server returns it and what was
observed.

``reads(app) -> list[Read]``
    What to read, given the answers so far; called again until it returns nothing new.
``desired(app) -> Desired``
    The children to have, in order, and the unwanted ones. NimError if none can be built.
``assess(app, outcome) -> Assessment``
    The resulting status, events and wake-ups; also called when `desired` raised, or when the API
    server refused something.
``refuse(app, error) -> Assessment``
    The same for a resource that is too large: nothing was observed, and it may have no spec.

A custom resource that is being deleted wants nothing, and its children are deleted with it. If more
must be done, for example for objects without an owner reference, `finalize(app) -> Desired` returns
it, after the same reads.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from .._base.errors import NimError
from .._base.types import Manifest
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
    """Changes of nodes that trigger a reconcile of all resources of a kind, by nimops-apiproxy.

    A node counts if one of the labels ``devices`` or ``present`` is true, or has one of ``marks``.
    Of such a node, these and ``labels`` and the annotation ``request`` matter, and of all nodes,
    whether any has a label that begins with ``prefix``.
    """

    prefix: str
    devices: tuple[str, ...]
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

    ``finalizer_name``: how the finalizer spells the kind, if not in lower case. ``has_finalizer``:
    false if the reference sets none, and nothing is left to do when a resource goes.
    ``watches_annotations``: whether a changed annotation triggers a reconcile. ``resources``: API
    resources that it needs and `api_resources.py` lacks. ``assumed``: objects that an unknown
    cluster is assumed to have, used where a list is empty. ``assumed_status``: the status that a
    simulation assumes when only a cluster could tell, given the app; None while nothing is pending.
    ``component``: the part of the installation that it belongs to, with watches and permissions of
    its own; empty for the part that is always there. ``node_facts``: what of nodes its resources
    depend on, the same for all kinds that have it.
    """

    name: str
    plural: str
    app: t.Callable[[t.Mapping[str, t.Any], Observed], AppT]
    reads: t.Callable[[AppT], list[Read]]
    desired: t.Callable[[AppT], Desired]
    assess: t.Callable[[AppT, Outcome], Assessment]
    finalize: t.Callable[[AppT], Desired] | None = None
    refuse: t.Callable[[AppT, NimError], Assessment] | None = None
    group: str = GROUP
    version: str = "v1alpha1"
    is_namespaced: bool = True
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
    """A kind in a sentence: NVIDIA begins like envy, and NIM like nimble."""
    return f"{'an' if name.startswith(('NVIDIA', *'AEIO')) else 'a'} {name}"
