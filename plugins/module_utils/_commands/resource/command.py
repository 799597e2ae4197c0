# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Creates, changes or deletes one custom resource, which an operator serves."""

from __future__ import annotations

import typing as t

from ..._base.errors import ApiError, NimError
from ..._base.types import Json
from ..._cluster.client import Client
from ..._engine.api_resources import KINDS, identity
from ..._engine.metadata import is_deleted
from ..apply.apply import write_resource
from ..command import CONNECTION_SPEC, WAIT_SPEC, Command, write_text
from ..install.install import wait_until_gone
from ..loader import custom_resources
from ..plan.diff import Change, compare_resource, remove_resource
from ..plan.preview import path_of, submit_dry_run
from ..schema import convert_texts, find_violations, schema_of
from ..text import summarize, to_diff, write_changes
from .description import describe_resource
from .readiness import wait_until_ready
from .removal import find_live, remove

_TEXTS: Json = {"type": "object", "additionalProperties": {"type": "string"}}
_METADATA = ("labels", "annotations")


class ResourceCommand(Command):
    """The base class; in check mode, a command only returns what would change."""

    kind: t.ClassVar[str] = ""
    spec = (
        CONNECTION_SPEC
        | WAIT_SPEC
        | {
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "name": {"type": "str", "required": True},
            "namespace": {"type": "str"},
            "labels": {"type": "dict"},
            "annotations": {"type": "dict"},
            "spec": {"type": "dict"},
        }
    )
    rules: t.ClassVar[Json] = {"required_if": [("state", "present", ["spec"])]}

    def act(self, arguments: Json) -> Json:
        """Write or delete the resource, and wait."""
        client = self.connect(arguments)
        is_absent = arguments["state"] == "absent"
        resource = self._resource(client, arguments, needs_spec=not is_absent)
        return (self._remove if is_absent else self._write)(client, resource, arguments)

    def _resource(self, client: Client, arguments: Json, *, needs_spec: bool) -> Json:
        """The custom resource that the arguments describe. NimError if it is invalid."""
        metadata = {key: arguments[key] for key in _METADATA if arguments[key]}
        for key, texts in metadata.items():
            if violations := find_violations(_TEXTS, texts, key):
                raise NimError("; ".join(violations))
        resource = {
            "apiVersion": KINDS[self.kind].version,
            "kind": self.kind,
            "metadata": {"name": arguments["name"], **metadata},
            "spec": arguments["spec"] or {} if needs_spec else {},
        }
        given = write_text(convert_texts(schema_of(self.kind), resource), "options")
        namespace = arguments["namespace"] or client.namespace
        return custom_resources([given], namespace, needs_spec=needs_spec)[0]

    def _write(self, client: Client, resource: Json, arguments: Json) -> Json:
        path, seconds = path_of(resource), arguments["wait_timeout"]
        before = client.get(path)
        if before and is_deleted(before):
            if not self.is_dry:
                wait_until_gone(client, path, seconds if arguments["wait"] else 0)
            before = None
        write = submit_dry_run if self.is_dry else write_resource
        after = {**resource, **write(client, resource)}
        change = compare_resource(identity(resource), after, before)
        result = self._result(change)
        if arguments["wait"] and not self.is_dry:
            try:
                after = wait_until_ready(client, after, seconds, self.print_message)
            except (ApiError, NimError) as error:
                return {"failed": True, "changed": result["changed"], "msg": str(error)}
        return result | describe_resource(after)

    def _remove(self, client: Client, resource: Json, arguments: Json) -> Json:
        found = find_live(client, [resource])
        result = self._result(remove_resource(found[0]) if found else None)
        if self.is_dry:
            return result
        for live in found:
            seconds = arguments["wait_timeout"] if arguments["wait"] else None
            try:
                remove(client, live, seconds, self.console)
            except (ApiError, NimError) as error:
                return {"failed": True, "changed": True, "msg": str(error)}
        return result

    def _result(self, change: Change | None) -> Json:
        changes = [change] if change else []
        result: Json = {"changed": bool(changes), "msg": summarize(changes)}
        if self.wants_diff:
            return result | {"diff": [to_diff(item) for item in changes]}
        if changes:
            self.print_message(write_changes(changes))
        return result


class ServiceCommand(ResourceCommand):
    """A NIMService."""

    kind = "NIMService"


class CacheCommand(ResourceCommand):
    """A NIMCache."""

    kind = "NIMCache"


class PipelineCommand(ResourceCommand):
    """A NIMPipeline."""

    kind = "NIMPipeline"


class BuildCommand(ResourceCommand):
    """A NIMBuild."""

    kind = "NIMBuild"
