#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_resource_info
author: The nimops.nim authors (@nimops)
short_description: Read custom resources with their state, endpoint and models
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
  - nimops.nim._cluster.command
description:
  - Returns the custom resources of one kind or of all kinds, with what their status says.
  - It does not fail if the cluster lacks the CRD of a kind, or has no operator.
notes:
  - It needs C(list) on the kinds. Cluster-scoped kinds that may not be listed are skipped if O(kind) is not set.
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    details:
      - It never modifies the target, and returns the same with and without check mode.
    support: full
seealso:
  - module: nimops.nim.nim_status_info
  - plugin: nimops.nim.endpoints
    plugin_type: inventory
options:
  kind:
    description: The kind. By default all kinds.
    type: str
    choices:
      - ClusterPolicy
      - NIMBuild
      - NIMCache
      - NIMPipeline
      - NIMService
      - NVIDIADriver
      - NemoCustomizer
      - NemoDatastore
      - NemoEntitystore
      - NemoEvaluator
      - NemoGuardrail
  name:
    description: The name of the resources. By default any.
    type: str
  namespace:
    description: The namespace. By default all namespaces.
    type: str
    default: ""
  label_selectors:
    description: Selectors of labels, such as V(team=search) or V(!test). A resource must match all.
    type: list
    elements: str
    default: []
  field_selectors:
    description: Selectors of fields, such as V(metadata.name!=llm), as far as the API server supports them for these kinds.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Read all NIMServices of a team
  nimops.nim.nim_resource_info:
    kind: NIMService
    label_selectors: [team=search]
  register: services

- name: List where they are
  ansible.builtin.debug:
    msg: "{{ services.resources | selectattr('ready') | items2dict('name', 'endpoint') }}"

- name: Read one resource
  nimops.nim.nim_resource_info:
    kind: NIMCache
    name: llm
    namespace: nim
  register: cache

- name: Fail if it has failed
  ansible.builtin.assert:
    that: cache.resources | rejectattr('state', 'ne', 'Failed') | length == 0
    fail_msg: "{{ cache.resources | map(attribute='message') | join('; ') }}"
"""

RETURN = r"""
resources:
  description: The resources, ordered by namespace, kind and name.
  returned: success
  type: list
  elements: dict
  contains:
    kind:
      description: The kind.
      type: str
    namespace:
      description: The namespace, empty for a cluster-scoped kind.
      type: str
    name:
      description: The name.
      type: str
    state:
      description: The state, empty before the first reconcile; V(Terminating) while it is being deleted.
      type: str
      sample: Ready
    ready:
      description: Whether it is Ready with its current spec.
      type: bool
    reason:
      description: The reason of a problem, which a Ready resource may have as well; otherwise empty.
      type: str
    message:
      description: The message with the reason.
      type: str
    endpoint:
      description: The address of the API of a NIMService, from outside the cluster if it is exposed; empty if there is none.
      type: str
      sample: 10.0.0.1:8000
    models:
      description: The models that it serves or downloads.
      type: list
      elements: str
    resource:
      description: The resource as the API server returns it, without its field managers.
      type: dict
missing_kinds:
  description: The kinds whose CRD the cluster lacks.
  returned: success
  type: list
  elements: str
  sample: [ClusterPolicy, NVIDIADriver]
"""
