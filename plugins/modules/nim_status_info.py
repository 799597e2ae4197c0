#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_status_info
author: The nimops.nim authors (@nimops)
short_description: Show the state of all custom resources of a namespace or cluster
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
  - nimops.nim._cluster.command
  - nimops.nim._cluster.output
description:
  - Prints a table of all custom resources of C(apps.nvidia.com), with state, reason, model, endpoint, replicas, GPUs and
    age of each.
notes:
  - As a command, C(ansible-playbook nimops.nim.status). It always exits with 0, whatever the states.
  - Needs to list the custom resources, Deployments, LeaderWorkerSets and InferenceServices.
options:
  namespace:
    description: The namespace to show. By default all namespaces.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Show everything
  nimops.nim.nim_status_info:

- name: Show one namespace, as data
  nimops.nim.nim_status_info:
    namespace: nim
    output: json
  register: seen

- name: Stop if something is not Ready
  ansible.builtin.assert:
    that: seen.resources | rejectattr('state', 'eq', 'Ready') | length == 0
"""

RETURN = r"""
resources:
  description: One entry for each custom resource, sorted by namespace, kind and name.
  returned: success
  type: list
  elements: dict
  contains:
    age:
      description: The age in seconds.
      type: int
    available:
      description: The number of available replicas. Null without a workload.
      type: int
    claims:
      description: The number of device claims (DRA) of all pods.
      type: int
    endpoint:
      description: Where the model is served, or the claim that it is cached on.
      type: str
    gpus:
      description: The number of GPUs that all pods request. Null without a workload.
      type: int
    kind:
      description: The kind.
      type: str
    message:
      description: The problem. Empty if the state is C(Ready). The finalizers of a resource that is being deleted.
      type: str
    model:
      description: The model that is served or cached.
      type: str
    name:
      description: The name.
      type: str
    namespace:
      description: The namespace.
      type: str
    reason:
      description: The reason for the state. Empty if the state is C(Ready).
      type: str
    replicas:
      description: The number of wanted replicas. Null without a workload.
      type: int
    state:
      description: The state, as in C(status.state). C(Terminating) if the resource is being deleted.
      type: str
"""
