# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The filter that selects the profiles of a model manifest, and explains the omitted ones."""

from __future__ import annotations

import typing as t
from dataclasses import asdict

from ansible.errors import AnsibleFilterError
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.native_types import to_native_types
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles import (
    profile_selection as selection,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.model_manifest import (
    parse_manifest,
)

DOCUMENTATION = r"""
name: select_profiles
author: The nimops.nim authors (@nimops)
short_description: Select the profiles of a model manifest that a NIMCache would download
version_added: 0.1.0
description:
  - Separates the profiles of a NIM's model manifest into those that a NIMCache would download and those that it would not,
    with the rule that drops each of the latter.
  - Reads nothing and writes nothing. The module M(nimops.nim.nim_profiles_info) finds manifests and GPUs itself.
requirements:
  - google-re2 >= 1.1 (for manifests that have C(product_name_regex))
positional: wanted, gpu_products
options:
  _input:
    description: The manifest as YAML, as in the ConfigMap C(<cache>-manifest) or in the image.
    type: str
    required: true
  wanted:
    description: The criteria, as in C(spec.source.ngc.model) of a NIMCache.
    type: dict
    default: {}
  gpu_products:
    description:
      - The GPUs of the nodes, as in their label C(nvidia.com/gpu.product).
      - They count only where O(wanted) specifies no GPUs.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Show what a NIMCache would download
  ansible.builtin.debug:
    msg: "{{ (manifest | nimops.nim.select_profiles({'precision': 'fp8'})).selected }}"
    # big
  vars:
    manifest: |
      big:
        model: acme/llm
        tags: {llm_engine: tensorrt_llm, precision: fp8, tp: '4'}
      small:
        model: acme/llm
        tags: {llm_engine: vllm, precision: bf16, tp: '1'}

- name: Show why the others are dropped
  ansible.builtin.debug:
    msg: "{{ (manifest | nimops.nim.select_profiles({'precision': 'fp8'})).dropped | map(attribute='message') }}"
    # precision wanted fp8, profile has bf16
  vars:
    manifest: |
      small:
        model: acme/llm
        tags: {llm_engine: vllm, precision: bf16, tp: '1'}
"""

RETURN = r"""
_value:
  description:
    - C(selected) lists the ids of the selected profiles, C(considered) is the number of all profiles.
    - C(dropped) lists the others, each with C(profile), the C(rule) that drops it, and a C(message).
    - C(gpus) lists the considered GPUs.
  type: dict
"""


def select_profiles(
    manifest: str, wanted: dict[str, t.Any] | None = None, gpu_products: list[str] | None = None
) -> dict[str, t.Any]:
    """Filter for `profile_selection.select_profiles`."""
    if not isinstance(manifest, str):
        raise AnsibleFilterError("select_profiles: the input must be a manifest as text in YAML")
    wanted = to_native_types(wanted or {})
    if not isinstance(wanted, dict):
        raise AnsibleFilterError("select_profiles: wanted must be as spec.source.ngc.model")
    try:
        found = parse_manifest(to_native_types(manifest))
    except NimError as error:
        raise AnsibleFilterError(f"select_profiles: {error}") from error
    products = to_native_types(gpu_products or [])
    return asdict(selection.select_profiles(found.profiles, wanted, products, found.version))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file, by name."""
        return {"select_profiles": select_profiles}
