#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_write
author: The nimops.nim authors (@nimops)
short_description: Write objects that kubernetes.core cannot write
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
description:
  - Writes one stage of a plan of P(nimops.nim.plan_resource#filter) for a custom resource. The roles of this collection
    write the other stages with M(kubernetes.core.k8s).
  - The stages are, in this order, C(adopt), C(own), C(first), C(second), C(third), C(rest), C(daemonsets), C(prune) and C(evict). An
    object is in a later stage than the objects that it refers to.
  - The values of Secrets are generated in this task and are not returned.
options:
  plan:
    description: The result of P(nimops.nim.plan_resource#filter).
    type: dict
    required: true
  stage:
    description:
      - V(own) writes Secrets, and objects with characters beyond U+FFFF such as emoji, which M(kubernetes.core.k8s) cannot write by
        server-side apply, if they refer to no other object of the plan.
      - V(rest) writes the other objects with such characters and those that refer to them, and patches foreign objects, such
        as labels of nodes, under the field manager of the operator. It also deletes the objects that the plan orphans,
        without their dependents.
      - V(evict) evicts pods, which PodDisruptionBudgets may block.
    type: str
    required: true
    choices: [own, rest, evict]
  registered:
    description:
      - Prefix of the variables that the tasks of earlier stages registered. An object that refers to one that was not
        written is omitted.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Write Secrets
  nimops.nim.nim_write:
    plan: "{{ nim | nimops.nim.plan_resource(seen.observed) }}"
    stage: own
  register: wrote_own
"""

RETURN = r"""
outcome:
  description: The written, deleted, evicted and refused objects, as input for M(nimops.nim.nim_report).
  returned: success
  type: dict
"""
