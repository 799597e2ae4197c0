# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Removes our finalizers after the operator is gone."""

from __future__ import annotations

from datetime import UTC, datetime

from ..._base.types import Json
from ..._engine.api_resources import identity
from ..._kinds import kind_of
from ..command import CONNECTION_SPEC, Command
from ..plan.preview import (
    list_readable,
)
from .release import (
    check_stopped,
    describe,
    find_held,
    release,
)


class ReleaseCommand(Command):
    """Removes finalizers; in check mode it only lists them."""

    spec = CONNECTION_SPEC | {
        "namespace": {"type": "str", "default": ""},
        "operator_namespace": {"type": "str", "default": ""},
    }

    def act(self, arguments: Json) -> Json:
        """List the finalizers, and remove them unless in check mode."""
        client = self.connect(arguments)
        held = find_held(list_readable(client, arguments["namespace"], self.print_message))
        for item in held:
            self.print_data(describe(item))
        result: Json = {"changed": bool(held), "finalizers": [_to_dict(item) for item in held]}
        if not held:
            self.print_message("no custom resource has a finalizer of nimops.nim")
            return result
        check_stopped(client, arguments["operator_namespace"], held, datetime.now(UTC))
        if self.is_dry:
            self.print_message(
                f"nothing was written: run it again with {self.console.name_option('yes', 'true')}"
            )
            return result
        count = sum(release(client, item) for item in held)
        self.print_message(f"finalizers removed: {count}")
        return result


def _to_dict(resource: Json) -> Json:
    kind, namespace, name = identity(resource)
    return {
        "kind": kind,
        "namespace": namespace,
        "name": name,
        "finalizer": kind_of(resource).finalizer,
        "deleted": bool(resource["metadata"].get("deletionTimestamp")),
    }
