# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The filter that computes the status of a custom resource."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed, unpack
from ansible_collections.nimops.nim.plugins.module_utils._common.plain import to_plain
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of

DOCUMENTATION = r"""
name: status
author: The nimops.nim authors (@nimops)
short_description: The status that follows from what was observed
version_added: 0.1.0
description:
  - Computes the status of a custom resource of C(apps.nvidia.com), as M(nimops.nim.report) would write it after a pass in
    which nothing was written, but for the times of its conditions.
  - Reads nothing and writes nothing.
positional: observed
options:
  _input:
    description: The custom resource, as the API server gives it. Its status is the one to go on from.
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
- name: Show why a NIMService is not Ready
  ansible.builtin.debug:
    msg: "{{ (nim | nimops.nim.status({})).conditions | selectattr('type', 'eq', 'Failed') | map(attribute='message') }}"
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


def status(
    resource: dict[str, t.Any], observed: str | dict[str, t.Any] | None = None
) -> dict[str, t.Any]:
    """Door to `assess` of the kind."""
    if not isinstance(resource, dict) or "metadata" not in resource:
        raise AnsibleFilterError("status: the input must be a whole custom resource")
    plain = to_plain(resource)
    try:
        answers = unpack(to_plain(observed))
        found = kind_of(plain).assess(plain, Observed(answers), Outcome())
    except NimError as error:
        raise AnsibleFilterError(f"status: {error}") from error
    return found.status


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file, by name."""
        return {"status": status}
