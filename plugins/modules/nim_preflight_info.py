#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_preflight_info
author: The nimops.nim authors (@nimops)
short_description: Check whether custom resources can run in a cluster
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.resources
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
  - nimops.nim._cluster.command
  - nimops.nim._cluster.output
description:
  - Renders the objects of custom resources, compares them with a cluster, and prints a line for each check with its level
    (C(ok), C(warning) or C(error)) and, if something is wrong, the remedy.
  - It checks that the APIs are served and the namespace exists, StorageClasses, access modes and claims, ResourceQuotas,
    LimitRanges, the Pod Security level, Secrets and their keys, pull Secrets for each registry, ServiceAccounts,
    PriorityClasses, RuntimeClasses, IngressClasses, Gateways and their listeners.
  - It places all pods on the nodes, as the scheduler does, by selectors, affinity, taints, and free CPU, memory, GPUs, MIG
    devices and devices of DRA drivers. Pods of the resources that already run do not count twice.
  - An error is not a failure of the task; RV(runnable) is then false.
  - Writes nothing. A dry run checks the custom resources themselves; without permission to write them, these checks are not
    included. What may not be read becomes a warning that names the verb and the resource.
notes:
  - As a command, C(ansible-playbook nimops.nim.preflight -e files=nim.yaml). It exits with 0 if there is no error, and with
    2 if there is one; C(kubectl nim preflight) exits with 1.
  - Of Secrets only the names of keys, and the host names of registries are used, never values.
  - No registry and no model server is contacted.
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    details:
      - It never modifies the target, and returns the same with and without check mode.
    support: full
"""

EXAMPLES = r"""
- name: Check whether the resources can run
  nimops.nim.nim_preflight_info:
    files: [nim.yaml]
    namespace: nim
  register: checked

- name: Stop if they cannot
  ansible.builtin.assert:
    that: checked.runnable
"""

RETURN = r"""
checks:
  description: The checks, those of each resource together.
  returned: always
  type: list
  elements: dict
  contains:
    check:
      description: The subject, such as C(nodes), C(quota) or C(secret).
      type: str
    level:
      description: One of C(ok), C(warning) and C(error).
      type: str
    message:
      description: What was found, with the field or object.
      type: str
    remedy:
      description: What to do; empty if the level is C(ok).
      type: str
    resource:
      description: The custom resource, or the namespace.
      type: str
runnable:
  description: Whether there is no error.
  returned: always
  type: bool
msg:
  description: The verdict, and the number of checks of each level.
  returned: always
  type: str
  sample: "cannot run here: 2 errors, 1 warning, 9 ok"
"""
