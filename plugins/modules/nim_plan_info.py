#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_plan_info
author: The nimops.nim authors (@nimops)
short_description: Show what applying custom resources would change in a cluster
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.resources
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
  - nimops.nim._cluster.command
  - nimops.nim._cluster.output
description:
  - Compares the objects of custom resources with a cluster, and prints the objects to create, change, adopt and delete, with
    a diff for each changed object, and whether its pods are replaced.
  - Without O(files), O(definition) and O(definition_variable), it does so for the existing custom resources of the cluster,
    or of O(namespace). This shows the effect of the next reconcile, for example after an update of the operator.
  - The result is changed if something would change, also without check mode. It fails if a resource cannot be served as it
    is.
  - Writes nothing. A dry run checks the custom resources themselves; without permission to write them, the plan does not
    include these checks.
notes:
  - As a command, C(ansible-playbook nimops.nim.plan -e files=nim.yaml). It exits with 0, whether or not something would
    change, and with 2 if a resource cannot be served as it is; with C(-e fail_on_changes=true) also if something would
    change.
  - Permission to read the custom resources, their children, and nodes is sufficient.
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    details:
      - It never modifies the target, and returns the same with and without check mode.
    support: full
"""

EXAMPLES = r"""
- name: Show the effects of a change
  nimops.nim.nim_plan_info:
    files: [nim.yaml]
    namespace: nim

- name: Show the effect of the next reconcile on all existing resources
  nimops.nim.nim_plan_info:
    output: json
  register: planned

- name: Stop if something differs
  ansible.builtin.assert:
    that: planned is not changed
"""

RETURN = r"""
changes:
  description: The objects that would change.
  returned: when the plan could be computed
  type: list
  elements: dict
  contains:
    action:
      description: One of C(create), C(change), C(adopt) and C(delete).
      type: str
    diff:
      description: The difference as a unified diff of YAML.
      type: str
    kind:
      description: The kind of the object.
      type: str
    name:
      description: The name of the object.
      type: str
    namespace:
      description: The namespace of the object.
      type: str
    parent:
      description: The custom resource that causes the change.
      type: str
    restarts_pods:
      description: Whether its pods are replaced.
      type: bool
msg:
  description: How many objects would change, and how, or which resources cannot be served.
  returned: always
  type: str
  sample: 2 to create, 1 to change; pods of 1 are replaced
"""
