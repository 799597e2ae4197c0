# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The base class of our action plugins: plain data as arguments, errors as task failures."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError, NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.native_types import to_native_types
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client

CLUSTER_SPEC: dict[str, t.Any] = {
    "resource": {"type": "dict", "required": True},
    "kubeconfig": {"type": "path"},
    "context": {"type": "str"},
}
"""The options of actions on a custom resource in a cluster."""


_clients: dict[tuple[t.Any, ...], Client] = {}
"""Clients by `Client.source`: tasks that share a process, as with prefork, share a connection."""


class Action(ActionBase):
    """An action in the controller's process: `spec` declares its options, `act` runs it."""

    _requires_connection = False
    spec: t.ClassVar[dict[str, t.Any]] = {}
    rules: t.ClassVar[dict[str, t.Any]] = {}
    """Constraints between options, as arguments of `validate_argument_spec`."""

    def run(
        self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None
    ) -> dict[str, t.Any]:
        """Ansible's entry point."""
        result = super().run(tmp, task_vars)
        self.variables = task_vars or {}
        self._task.args = to_native_types(self._task.args)  # before the validator makes a deep copy
        _valid, arguments = self.validate_argument_spec(argument_spec=self.spec, **self.rules)
        try:
            return result | self.act(arguments)
        except (ApiError, NimError) as error:
            return result | self.fail_with(error)

    def fail_with(self, error: Exception) -> dict[str, t.Any]:
        """The result of a task that raised one of our errors."""
        return {"failed": True, "msg": str(error)}

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """The result of the task. ApiError and NimError become its failure."""
        raise NotImplementedError

    @staticmethod
    def connect(arguments: dict[str, t.Any]) -> Client:
        """A client of the cluster that the arguments name."""
        client = Client(arguments["kubeconfig"], arguments["context"])
        source = client.source
        return _clients.setdefault(source, client) if source else client
