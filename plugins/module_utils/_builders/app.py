# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""`App`, the context of a pass: the custom resource, the observed answers, and its children.

It is built once per pass and passed to every builder, so labels are assembled in one place. Callers
may modify the values that it returns.
"""

from __future__ import annotations

import typing as t

from .._base.errors import NimError
from .._base.types import Fields, Manifest
from .._engine.api_resources import KINDS, manifest, object_key
from .._engine.conditions import RECONCILING, STALLED, find_condition
from .._engine.metadata import (
    MANAGED_BY,
    MANAGED_BY_LABEL,
    Labels,
    is_controlled_by,
    merge_missing,
    owner_metadata,
)
from .._engine.observed import Observed
from .._engine.reads import list_key
from .._engine.status import status_of
from .nim_metadata import PARENT_HASH_ANNOTATION
from .verdict import READY

OPERATOR_VERSION_LABEL = "app.kubernetes.io/operator-version"
OPERATOR_VERSION_ANNOTATION = "nimops.nim/operator-version"
"""Annotation on a Deployment: the release that last wrote it. A label would change its pods."""
PART_OF_LABEL = "app.kubernetes.io/part-of"

_MAX_SHOWN = 40


def invalid_annotation(name: str, text: str, problem: str) -> NimError:
    """The error for an annotation of the custom resource; ``problem`` completes the sentence."""
    return NimError(
        f"metadata.annotations[{name}]: {text[:_MAX_SHOWN]!r} {problem}", reason="InvalidAnnotation"
    )


class App:
    """The context of a pass over a custom resource.

    Kinds subclass it with a parsed spec and other labels.
    """

    part_of = ""
    """The value of the label `app.kubernetes.io/part-of`; empty for no label."""

    def __init__(self, resource: Fields, observed: Observed | None = None) -> None:
        self.resource = resource
        self.observed = Observed({}) if observed is None else observed

    def at(self, observed: Observed) -> t.Self:
        """The same context with other observed answers."""
        return type(self)(self.resource, observed)

    @property
    def kind(self) -> str:
        """The kind of the custom resource."""
        return str(self.resource["kind"])

    @property
    def name(self) -> str:
        """The name of the custom resource, and of its children by default."""
        return str(self.resource["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The namespace of the children; that of the operator for a cluster-scoped resource."""
        return self.resource["metadata"].get("namespace") or self.observed.operator_namespace

    @property
    def status(self) -> Fields:
        """The current status, empty before the first pass."""
        return status_of(self.resource)

    def annotation(self, name: str) -> str:
        """The text of an annotation of the custom resource, empty without it."""
        return str((self.resource["metadata"].get("annotations") or {}).get(name) or "")

    @property
    def is_settled(self) -> bool:
        """Whether a pass of this release completed exactly this spec."""
        status = self.status
        seen = (status.get("observedGeneration"), status.get("operatorVersion") or "")
        generation = self.resource["metadata"].get("generation")
        is_ready = status.get("state") == READY
        return (
            is_ready
            and seen == (generation, self.observed.operator_version)
            and not any(
                find_condition(status.get("conditions"), kind) for kind in (RECONCILING, STALLED)
            )
        )

    @property
    def may_have_leftovers(self) -> bool:
        """Whether children of an earlier spec may remain.

        False for a new resource, and for one whose first spec was only reconciled by us.
        """
        is_first = self.resource["metadata"].get("generation") == 1
        is_ours = self.status.get("observedGeneration") == 1
        return bool(self.status) and not (is_first and is_ours) and not self.is_settled

    @property
    def standard_labels(self) -> Labels:
        """The labels of every child that users cannot override."""
        part_of = {PART_OF_LABEL: self.part_of} if self.part_of else {}
        return {
            "app.kubernetes.io/name": self.name,
            "app.kubernetes.io/instance": self.name,
            OPERATOR_VERSION_LABEL: self.observed.version_label,
            **part_of,
            MANAGED_BY_LABEL: MANAGED_BY,
        }

    @property
    def labels(self) -> Labels:
        """The labels of every child: the standard ones, and additional ones of the user."""
        return merge_missing(self.standard_labels, self._given("labels"))

    def _given(self, field: t.Literal["labels", "annotations"]) -> t.Mapping[str, str]:
        """The user's labels or annotations for children."""
        return self.resource["spec"].get(field) or {}

    @property
    def security_constraint(self) -> str:
        """The OpenShift SCC that the pods need and are granted; empty if none."""
        return ""

    @property
    def standard_annotations(self) -> Labels:
        """The annotations of every child that users cannot override."""
        needed = self.security_constraint
        return {"openshift.io/required-scc": needed} if needed else {}

    @property
    def overridden(self) -> list[str]:
        """The paths of the user's labels and annotations whose values ours replace."""
        labels, annotations = self._given("labels"), self._given("annotations")
        pairs = [("labels", labels, self.standard_labels)]
        pairs.append(("annotations", annotations, self.standard_annotations))
        return [
            f"spec.{field}[{key}]"
            for field, given, ours in pairs
            for key, value in sorted(given.items())
            if ours.get(key, value) != value
        ]

    @property
    def annotations(self) -> Labels:
        """The annotations of children and pods."""
        return self.annotations_with(None)

    def annotations_with(self, more: t.Mapping[str, str] | None) -> Labels:
        """The annotations of a child with additional ones of the user; ours win.

        They exclude the reference operator's hash of the custom resource: we detect drift by
        comparison, and a hash would rewrite every child at each change of the spec.
        """
        given = merge_missing(self.standard_annotations, self._given("annotations"))
        merged = merge_missing(given, more)
        return {key: value for key, value in merged.items() if key != PARENT_HASH_ANNOTATION}

    def pod_labels(self, selector: Labels, live: Fields) -> Labels:
        """The labels of pods that a Service selects by ``selector``; ``live``: their live template.

        Pods keep the label of the operator version that created them, because an operator upgrade
        must not restart pods that take many minutes to start.
        """
        labels = {**self.labels, **selector}
        made_by = (live.get("metadata") or {}).get("labels", {}).get(OPERATOR_VERSION_LABEL)
        return labels if made_by is None else {**labels, OPERATOR_VERSION_LABEL: made_by}

    def child(
        self,
        kind: str,
        spec: t.Any = None,
        *,
        name: str = "",
        namespace: str = "",
        labels: Labels | None = None,
        annotations: Labels | None = None,
        **fields: t.Any,
    ) -> Manifest:
        """An object that the custom resource controls, by default with its name.

        ``labels`` and ``annotations``: by default those of every child.
        """
        namespace = namespace or self.namespace
        owner = owner_metadata(self.resource, KINDS[kind], namespace)
        given = self.annotations if annotations is None else annotations
        metadata = {
            "labels": self.labels if labels is None else labels,
            "annotations": {**given, **marks} if (marks := owner.get("annotations")) else given,
            "ownerReferences": owner.get("ownerReferences"),
        }
        if spec is not None:
            fields = {"spec": spec, **fields}
        return manifest(kind, name or self.name, namespace, metadata=metadata, **fields)

    def key(self, kind: str, name: str = "") -> str:
        """The key of a child in the observed answers."""
        return object_key(kind, self.namespace, name or self.name)

    def live(self, kind: str, name: str = "") -> Manifest | None:
        """A live child; None if it does not exist or was not read."""
        found: Manifest | None = self.observed.get(self.key(kind, name))
        return found

    def was_read(self, kind: str, name: str = "") -> bool:
        """Whether a child was read; the answer may be None."""
        return self.observed.has(self.key(kind, name))

    def listed(self, kind: str) -> list[Manifest] | None:
        """All objects of a kind in the namespace; None if the API server does not serve it."""
        found: list[Manifest] | None = self.observed.get(list_key(kind, self.namespace))
        return found

    def was_listed(self, kind: str) -> bool:
        """Whether the objects of a kind were read."""
        return self.observed.has(list_key(kind, self.namespace))

    def controls(self, live: Fields | None) -> bool:
        """Whether an object exists and this resource controls it."""
        return live is not None and is_controlled_by(live, self.resource)
