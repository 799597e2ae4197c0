# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Pauses, resumes and reconciles custom resources of all kinds."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

from ..._base.errors import ApiError, NimError
from ..._base.types import Json
from ..apply.without_operator import reconcile_here
from ..command import CONNECTION_SPEC, WAIT_SPEC, Command
from ..plan.preview import path_of, refused
from ..references import read_resources
from . import changes
from .changes import Change

MANAGER = "nimops.nim.pause"
"""Our field manager for these annotations."""


class _AnnotateCommand(Command):
    """Sets annotations of the given resources; of all, or of none if one is refused."""

    spec = (
        CONNECTION_SPEC
        | WAIT_SPEC
        | {
            "resources": {"type": "list", "elements": "str", "required": True},
            "namespace": {"type": "str", "default": ""},
        }
    )

    def change(self, resource: Json) -> Change:
        """The change of one resource; NimError if it makes no sense."""
        raise NotImplementedError

    def act(self, arguments: Json) -> Json:
        """Print a line for each resource."""
        client = self.connect(arguments)
        namespace = arguments.get("namespace") or ""
        resources = read_resources(client, arguments["resources"] or [], namespace)
        found = _find_changes(resources, self.change)
        for resource, change in zip(resources, found, strict=True):
            if change.annotations:
                body = {"metadata": {"annotations": change.annotations}}
                try:
                    client.patch(path_of(resource), body, MANAGER, dry=self.is_dry)
                except ApiError as error:
                    raise refused(resource, error) from error
            self.print_data(change.text)
        changed = [
            resource
            for resource, change in zip(resources, found, strict=True)
            if change.annotations
        ]
        if changed and not self.is_dry:
            reconcile_here(client, changed, self.console, arguments)
        texts = [change.text for change in found]
        return {"changed": any(change.annotations for change in found), "msg": "; ".join(texts)}


class PauseCommand(_AnnotateCommand):
    """The operator leaves the objects of the resources alone."""

    def change(self, resource: Json) -> Change:
        """The annotation that pauses."""
        return changes.pause(resource)


class ResumeCommand(_AnnotateCommand):
    """The operator reconciles paused resources again."""

    def change(self, resource: Json) -> Change:
        """The removal of the annotation that pauses."""
        return changes.resume(resource)


class ReconcileCommand(_AnnotateCommand):
    """The operator reconciles the resources at once."""

    def change(self, resource: Json) -> Change:
        """The annotation that starts a reconcile."""
        return changes.reconcile(resource, datetime.now(UTC))


def _find_changes(resources: t.Iterable[Json], change: t.Callable[[Json], Change]) -> list[Change]:
    """The changes; NimError with all reasons if some are refused."""
    found, errors = [], []
    for resource in resources:
        try:
            found.append(change(resource))
        except NimError as error:
            errors.append(str(error))
    if errors:
        raise NimError("; ".join(errors))
    return found
