# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""In-process door to `_k8s/observer.py`; documented in plugins/modules/observe.py."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.plain import to_plain
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import ApiError, Client
from ansible_collections.nimops.nim.plugins.module_utils._k8s.observer import observe

ARGUMENT_SPEC: dict[str, t.Any] = {
    "resource": {"type": "dict", "required": True},
    "kubeconfig": {"type": "path"},
    "context": {"type": "str"},
}


class ActionModule(ActionBase):
    """Reads only; check mode makes no difference."""

    _requires_connection = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None
    ) -> dict[str, t.Any]:
        """Run the reads of the resource's kind."""
        result = super().run(tmp, task_vars)
        _valid, given = self.validate_argument_spec(argument_spec=ARGUMENT_SPEC)
        args = to_plain(given)
        try:
            client = Client(args["kubeconfig"], args["context"])
            return result | {"changed": False, "observed": observe(client, args["resource"])}
        except (ApiError, NimError) as error:
            return result | {"failed": True, "msg": str(error)}
