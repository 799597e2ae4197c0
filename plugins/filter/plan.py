# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The filter that turns a custom resource and what was observed into what has to be written."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import unpack
from ansible_collections.nimops.nim.plugins.module_utils._common.plain import to_plain
from ansible_collections.nimops.nim.plugins.module_utils._planner import plan_for

DOCUMENTATION = r"""
name: plan
author: The nimops.nim authors (@nimops)
short_description: What a custom resource needs written, claimed and deleted
version_added: 0.1.0
description:
  - Computes the objects that a custom resource of C(apps.nvidia.com) wants and compares them with
    those that were observed.
  - Reads nothing and writes nothing.
positional: observed
options:
  _input:
    description: The custom resource, as the API server gives it.
    type: dict
    required: true
  observed:
    description:
      - What M(nimops.nim.observe) returned in RV(nimops.nim.observe#module:observed).
      - A dictionary of the same shape will do. With an empty one, nothing is taken to exist.
    type: raw
    default: {}
"""

EXAMPLES = r"""
- name: Show the objects that a NIMService would have on an empty cluster
  ansible.builtin.debug:
    msg: "{{ (nim | nimops.nim.plan({})).apply | map(attribute='kind') }}"
  vars:
    nim:
      apiVersion: apps.nvidia.com/v1alpha1
      kind: NIMService
      metadata: {name: llm, namespace: nim}
      spec:
        image: {repository: nvcr.io/nim/meta/llama-3.2-1b-instruct, tag: "1.12.0"}
        authSecret: ngc-api-secret
        storage: {emptyDir: {}}
"""

RETURN = r"""
_value:
  description:
    - C(apply) lists objects to apply by server-side apply; those that are absent have a C(resourceVersion)
      with which nothing is overwritten that has appeared meanwhile, the others the C(uid) that was seen.
      C(adopt) lists merge patches that make fields ours to correct (of
      C(metadata.managedFields)) or that write what server-side apply does not take, C(prune) references
      to objects to delete.
    - C(refusals) lists objects that exist and are not ours to write, each with C(kind), C(name) and
      C(message).
    - C(failure) says why the custom resource cannot be served as it is, C(failure_reason) is the
      condition reason for it; both are empty if it can.
  type: dict
"""


def plan(
    resource: dict[str, t.Any], observed: str | dict[str, t.Any] | None = None
) -> dict[str, t.Any]:
    """Door to `plan_for`."""
    if not isinstance(resource, dict) or "metadata" not in resource:
        raise AnsibleFilterError("plan: the input must be a whole custom resource")
    try:
        answers = unpack(to_plain(observed))
    except NimError as error:
        raise AnsibleFilterError(f"plan: {error}") from error
    return plan_for(to_plain(resource), answers)


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file, by name."""
        return {"plan": plan}
