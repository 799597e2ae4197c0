# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The filter that puts private keys into planned Secrets, just before they are written."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.native_types import to_native_types
from ansible_collections.nimops.nim.plugins.module_utils._cluster.private_keys import generate_keys

DOCUMENTATION = r"""
name: generate_keys
author: The nimops.nim authors (@nimops)
short_description: Add the private keys to planned objects
version_added: 0.1.0
description:
  - A plan contains no secrets. If a Secret needs a new private key, its C(data) has the text
    C(<generated>), which the API server rejects because it is not base64.
  - This filter replaces it with a new RSA key of 2048 bits, in PEM, encoded in base64. All other
    objects are returned unchanged.
  - Each use generates a different key. Use it where the objects are applied, in a task with C(no_log).
options:
  _input:
    description: Objects, such as the list RV(nimops.nim.plan_resource#filter:_value) has under C(apply).
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Apply what was planned
  kubernetes.core.k8s:
    definition: "{{ (nim | nimops.nim.plan_resource(seen.observed)).apply | nimops.nim.generate_keys }}"
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
    """Filter for `generate_keys`."""
    if not isinstance(manifests, list) or not all(isinstance(item, dict) for item in manifests):
        raise AnsibleFilterError("generate_keys: the input must be a list of objects")
    try:
        return generate_keys(to_native_types(manifests))
    except NimError as error:
        raise AnsibleFilterError(f"generate_keys: {error}") from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file, by name."""
        return {"generate_keys": fill}
