# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The filter that plans the writes for a custom resource from the observed objects."""

from __future__ import annotations

import functools
import json
import typing as t
from dataclasses import asdict

from ansible.errors import AnsibleFilterError
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.native_types import to_native_types
from ansible_collections.nimops.nim.plugins.module_utils._base.reserved_keys import (
    refuse_reserved_keys,
)
from ansible_collections.nimops.nim.plugins.module_utils._base.types import Json
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import (
    RESOURCE,
    Observed,
    unpack,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from ansible_collections.nimops.nim.plugins.module_utils._engine.stages import stages_of
from ansible_collections.nimops.nim.plugins.module_utils._engine.write_order import turns
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of
from ansible_collections.nimops.nim.plugins.plugin_utils._child_filters import (
    child_filters_of,
    filter_names,
)

DOCUMENTATION = r"""
name: plan_resource
author: The nimops.nim authors (@nimops)
short_description: Plan what to write, claim and delete for a custom resource
version_added: 0.1.0
description:
  - Computes the objects that a custom resource of C(apps.nvidia.com) needs, and compares them with
    the observed objects.
  - Reads nothing and writes nothing.
positional: observed
options:
  _input:
    description:
      - The custom resource, as the API server returns it.
      - If it has no C(spec), the one in O(observed) is used; without one there, nothing is planned.
    type: dict
    required: true
  observed:
    description:
      - The value RV(nimops.nim.nim_observe#module:observed) of M(nimops.nim.nim_observe).
      - A dictionary of the same structure also works. If it is empty, no object is assumed to exist.
    type: raw
    default: {}
  child_filters:
    description:
      - Names of filters, as a list or separated by commas, that change each object before it is compared. Each gets the
        object and the custom resource, and returns the object to write instead.
      - By default the filters in the environment variable E(NIMOPS_CHILD_FILTERS).
    type: raw
"""

EXAMPLES = r"""
- name: Show the objects that a NIMService would have on an empty cluster
  ansible.builtin.debug:
    msg: "{{ (nim | nimops.nim.plan_resource({})).apply | map(attribute='kind') }}"
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
    - C(apply) lists objects to apply by server-side apply; new objects have a C(resourceVersion) that
      prevents overwriting an object created in the meantime, the others have the observed C(uid).
      C(adopt) lists merge patches that take ownership of fields to correct (of
      C(metadata.managedFields)) or that write what server-side apply does not accept, C(prune) references
      to objects to delete, C(patch) merge patches of objects of other owners, such as labels of nodes.
    - C(refusals) lists existing objects that the operator must not write, each with C(kind), C(name) and
      C(message).
    - C(stages) contains the same objects in the order in which tasks write them. M(nimops.nim.nim_write) lists the stages.
    - C(failure) explains why the custom resource cannot be served, C(failure_reason) is the
      condition reason for it; both are empty if it can.
  type: dict
"""


def plan_resource(
    resource: dict[str, t.Any],
    observed: str | dict[str, t.Any] | None = None,
    child_filters: str | list[str] | None = None,
) -> dict[str, t.Any]:
    """Filter for `plan` of `_engine/steps.py`."""
    if not isinstance(resource, dict) or "metadata" not in resource:
        raise AnsibleFilterError("plan_resource: the input must be a whole custom resource")
    try:
        names = filter_names(to_native_types(child_filters))
        given = (to_native_types(value) for value in (resource, observed or {}))
        texts = (item if isinstance(item, str) else json.dumps(item, default=str) for item in given)
        return dict(_planned(*texts, names))
    except NimError as error:
        raise AnsibleFilterError(f"plan_resource: {error}") from error


@functools.lru_cache(maxsize=1)
def _planned(given: str, observed: str, names: tuple[str, ...]) -> Json:
    """The plan, cached because the tasks of a role, which share a process with prefork, reuse it."""
    resource, answers = json.loads(given), unpack(observed)
    if "spec" not in resource:
        resource = answers.get(RESOURCE)
    found = Plan()
    if resource:
        adjust = child_filters_of(names)
        found = steps.plan(kind_of(resource), resource, Observed(answers), adjust)[1]
    planned = asdict(found)
    refuse_reserved_keys(planned)  # from any source: tasks pass the plan on to Ansible
    return {**planned, "stages": stages_of(found, turns(found.apply))}


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file, by name."""
        return {"plan_resource": plan_resource}
