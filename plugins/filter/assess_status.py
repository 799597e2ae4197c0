# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The filter that computes the status of a custom resource."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.native_types import to_native_types
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed, unpack
from ansible_collections.nimops.nim.plugins.module_utils._engine.steps import is_deleted
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of

DOCUMENTATION = r"""
name: assess_status
author: The nimops.nim authors (@nimops)
short_description: Compute the status from what was observed
version_added: 0.1.0
description:
  - Computes the status of a custom resource of C(apps.nvidia.com), as M(nimops.nim.nim_report) would write it after a pass
    that wrote nothing, except for the times of its conditions.
  - Reads nothing and writes nothing.
positional: observed
options:
  _input:
    description: The custom resource, as the API server returns it. Its status is the starting point.
    type: dict
    required: true
  observed:
    description:
      - What M(nimops.nim.nim_observe) returned in RV(nimops.nim.nim_observe#module:observed).
      - A dictionary of the same structure also works. If it is empty, no object is assumed to exist.
    type: raw
    default: {}
"""

EXAMPLES = r"""
- name: Show why a NIMService is not Ready
  ansible.builtin.debug:
    msg: "{{ (nim | nimops.nim.assess_status({})).conditions | selectattr('type', 'eq', 'Failed') | map(attribute='message') }}"
    # NIMCache models not found
  vars:
    nim:
      apiVersion: apps.nvidia.com/v1alpha1
      kind: NIMService
      metadata: {name: llm, namespace: nim}
      spec:
        image: {repository: nvcr.io/nim/meta/llama-3.2-1b-instruct, tag: "1.12.0"}
        authSecret: ngc-api-secret
        storage: {nimCache: {name: models}}
"""

RETURN = r"""
_value:
  description: The whole status, with conditions without times.
  type: dict
"""


def assess_status(
    resource: dict[str, t.Any], observed: str | dict[str, t.Any] | None = None
) -> dict[str, t.Any]:
    """Filter for `assess` of the kind."""
    if not isinstance(resource, dict) or "metadata" not in resource:
        raise AnsibleFilterError("assess_status: the input must be a whole custom resource")
    plain = to_native_types(resource)
    try:
        answers = unpack(to_native_types(observed))
        kind = kind_of(plain)
        if is_deleted(plain):
            return plain.get("status") or {}
        found = kind.assess(kind.app(plain, Observed(answers)), Outcome())
    except NimError as error:
        raise AnsibleFilterError(f"assess_status: {error}") from error
    return found.status


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file, by name."""
        return {"assess_status": assess_status}
