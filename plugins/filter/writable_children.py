# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The filter that omits children that refer to a child that was not written."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.native_types import to_native_types
from ansible_collections.nimops.nim.plugins.module_utils._cluster.task_results import writable
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from ansible_collections.nimops.nim.plugins.module_utils._engine.stages import APPLIED
from ansible_collections.nimops.nim.plugins.plugin_utils._registered import as_result

DOCUMENTATION = r"""
name: writable_children
author: The nimops.nim authors (@nimops)
short_description: Select the objects of a stage that refer to none that could not be written
version_added: 0.1.0
description:
  - Returns the objects of one stage of a plan, without those that refer, directly or indirectly, to an object that the API
    server refused in an earlier stage, or that has another owner now.
positional: stage
options:
  _input:
    description: The plan, as P(nimops.nim.plan_resource#filter) returns it.
    type: dict
    required: true
  stage:
    description: The stage.
    type: str
    required: true
    choices: [first, second, third, daemonsets]
  results:
    description:
      - The registered results of the tasks of earlier stages, by stage. A missing stage did not run.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Show the remaining objects when the Role of a NIMService was refused
  ansible.builtin.debug:
    msg: "{{ plan | nimops.nim.writable_children('second', {'first': refused}) | map(attribute='kind') }}"
    # Deployment
  vars:
    plan:
      apply:
        - {apiVersion: v1, kind: ServiceAccount, metadata: {name: llm, namespace: nim}}
        - {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: llm, namespace: nim}}
        - apiVersion: rbac.authorization.k8s.io/v1
          kind: RoleBinding
          metadata: {name: llm, namespace: nim}
          roleRef: {kind: Role, name: llm}
          subjects: [{kind: ServiceAccount, name: llm}]
        - apiVersion: apps/v1
          kind: Deployment
          metadata: {name: llm, namespace: nim}
          spec: {template: {spec: {serviceAccountName: llm}}}
    refused:
      result:
        results:
          - {result: {kind: ServiceAccount}}
          - {error: {msg: "Failed to apply object: the quota is used up"}}
"""

RETURN = r"""
_value:
  description: The objects to apply.
  type: list
  elements: dict
"""


def writable_children(
    plan: dict[str, t.Any], stage: str, results: dict[str, t.Any] | None = None
) -> list[dict[str, t.Any]]:
    """Filter for `writable` of `_cluster/task_results.py`."""
    if stage not in APPLIED:
        raise AnsibleFilterError(f"writable_children: stage must be one of {', '.join(APPLIED)}")
    try:
        found = {name: as_result(name, item) for name, item in (results or {}).items()}
        return writable(Plan.from_dict(to_native_types(plan)), stage, found)
    except (NimError, TypeError) as error:
        raise AnsibleFilterError(f"writable_children: {error}") from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file, by name."""
        return {"writable_children": writable_children}
