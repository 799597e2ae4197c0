# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The filter that puts private keys into planned Secrets, just before they are written."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.plain import to_plain
from ansible_collections.nimops.nim.plugins.module_utils._k8s.keys import generate_keys

DOCUMENTATION = r"""
name: generate_keys
author: The nimops.nim authors (@nimops)
short_description: Planned objects with the private keys that they want
version_added: 0.1.0
description:
  - A plan holds no secrets. Where a Secret is to hold a new private key, its C(data) has the text
    C(<generated>), which the API server refuses as it is no base64.
  - This filter replaces it by a new RSA key of 2048 bits, in PEM and then base64. All other objects
    are returned as they are.
  - Each use makes another key. Use it where the objects are applied, in a task with C(no_log).
options:
  _input:
    description: Objects, such as the list RV(nimops.nim.plan#filter:_value) has under C(apply).
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Apply what was planned
  kubernetes.core.k8s:
    definition: "{{ (nim | nimops.nim.plan(seen.observed)).apply | nimops.nim.generate_keys }}"
    apply: true
    server_side_apply: {field_manager: nimops.nim, force_conflicts: true}
  no_log: true
"""

RETURN = r"""
_value:
  description: The same objects, with keys.
  type: list
  elements: dict
"""


def fill(manifests: t.Any) -> list[dict[str, t.Any]]:
    """Door to `generate_keys`."""
    if not isinstance(manifests, list) or not all(isinstance(item, dict) for item in manifests):
        raise AnsibleFilterError("generate_keys: the input must be a list of objects")
    try:
        return generate_keys(to_plain(manifests))
    except NimError as error:
        raise AnsibleFilterError(f"generate_keys: {error}") from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file, by name."""
        return {"generate_keys": fill}
