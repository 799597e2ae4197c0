# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Scales a service: its replicas, or the limits of its autoscaler."""

from __future__ import annotations

import contextlib

from ..._base.errors import ApiError
from ..._base.types import Json
from ..._cluster.client import Client
from ..._engine.api_resources import api_path, identity
from ..apply.without_operator import reconcile_here
from ..command import CONNECTION_SPEC, WAIT_SPEC, Command
from ..plan.preview import path_of, refused
from ..references import read_resources
from .change import Wanted, check_wanted, find_change, find_notes

MANAGER = "nimops.nim.scale"
"""Our field manager for the fields that the user scales by."""


class ScaleCommand(Command):
    """Scales one service; in check mode, the API server checks the change as a dry run."""

    spec = (
        CONNECTION_SPEC
        | WAIT_SPEC
        | {
            "name": {"type": "str", "required": True},
            "namespace": {"type": "str", "default": ""},
            "replicas": {"type": "int"},
            "min": {"type": "int"},
            "max": {"type": "int"},
        }
    )

    def act(self, arguments: Json) -> Json:
        """Print what changes, and report what may prevent it."""
        wanted = Wanted(*(arguments.get(key) for key in ("replicas", "min", "max")))
        check_wanted(wanted)
        client = self.connect(arguments)
        namespace = arguments.get("namespace") or ""
        (resource,) = read_resources(client, [arguments["name"]], namespace, "NIMService")
        change = find_change(resource, wanted)
        if change.spec:
            # As by `kubectl scale`, so that a NIMPipeline keeps the count.
            part = "/scale" if wanted.replicas is not None else ""
            path, body = f"{path_of(resource)}{part}", {"spec": change.spec}
            try:
                client.patch(path, body, MANAGER, dry=self.is_dry)
            except ApiError as error:
                raise refused(resource, error) from error
        self.print_data(change.text)
        for note in find_notes(resource, _list_autoscalers(client, resource)):
            self.print_message(note)
        if not self.is_dry:  # also without a change: an earlier command may have been interrupted
            reconcile_here(client, [resource], self.console, arguments)
        return {"changed": bool(change.spec), "msg": change.text}


def _list_autoscalers(client: Client, resource: Json) -> list[Json]:
    """The autoscalers of the namespace; none if the user may not list them."""
    path = api_path("HorizontalPodAutoscaler", identity(resource).namespace)
    with contextlib.suppress(ApiError):
        return client.list_objects(path) or []
    return []
