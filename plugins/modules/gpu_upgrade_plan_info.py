#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_upgrade_plan_info
author: The nimops.nim authors (@nimops)
short_description: Show the nodes that a GPU driver upgrade would drain, and the effect on NIMServices
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
  - nimops.nim._cluster.command
  - nimops.nim._cluster.output
description:
  - Prints the nodes to drain in order, the NIMServices that lose replicas meanwhile, whether the remaining GPUs are sufficient
    for them, and the nodes that would have to wait.
  - Simulates the steps of the operator in memory, with every step succeeding. Writes nothing.
notes:
  - As a command, C(ansible-playbook nimops.nim.gpu_upgrade_plan).
  - Needs to list ClusterPolicies, nodes, pods, ControllerRevisions, PodDisruptionBudgets, Deployments and LeaderWorkerSets,
    NVIDIADrivers if they install the drivers, and ResourceClaims if pods have any.
  - The new nodes of evicted pods are an estimate. It considers free GPUs and node selectors, but no affinities, taints or quotas.
options:
  assume_outdated:
    description: Plan as if the driver of each node was outdated, and upgrades were enabled.
    type: bool
    default: false
  guard:
    description:
      - Whether to keep the last ready replica of a NIMService if possible, like the operator's environment variable
        C(NIMOPS_DRIVER_UPGRADE_GUARD). C(auto) keeps it if there are NIMServices.
    type: str
    choices: [auto, "on", "off"]
    default: auto
"""

EXAMPLES = r"""
- name: Plan the pending upgrade
  nimops.nim.gpu_upgrade_plan_info:

- name: Show the effect of the next driver version
  nimops.nim.gpu_upgrade_plan_info:
    assume_outdated: true
    output: json
  register: seen

- name: Stop if a NIMService would have no ready replica
  ansible.builtin.assert:
    that: seen.plan.services | selectattr('lowest', 'eq', 0) | length == 0
"""

RETURN = r"""
msg:
  description: A summary, or why nothing is upgraded.
  returned: success
  type: str
plan:
  description: The plan. Empty if drivers are not upgraded.
  returned: success
  type: dict
  contains:
    is_complete:
      description: Whether the simulation reached an end.
      type: bool
    nodes:
      description: The nodes with something to do, in the order in which they begin, then those that do not begin.
      type: list
      elements: dict
      contains:
        before:
          description: The state now.
          type: str
        evicted:
          description: The pods that are evicted.
          type: list
          elements: str
        is_stuck:
          description: Whether it waits for a user at the end.
          type: bool
        meanwhile:
          description: The nodes whose upgrade is in progress when this one begins.
          type: list
          elements: str
        node:
          description: The name.
          type: str
        notes:
          description: Consequences, such as a NIMService without a ready replica.
          type: list
          elements: str
        order:
          description: Its place in the order. 0 if it does not begin.
          type: int
        state:
          description: The state at the end.
          type: str
        waits:
          description: Reasons for waiting during the upgrade.
          type: list
          elements: str
    services:
      description: The NIMServices that lose replicas.
      type: list
      elements: dict
      contains:
        after:
          description: The ready replicas at the end.
          type: int
        before:
          description: The ready replicas now.
          type: int
        gpus:
          description: The GPUs of a replica.
          type: int
        homeless:
          description: The maximum number of replicas for which no node has GPUs.
          type: int
        lowest:
          description: The minimum of ready replicas.
          type: int
        name:
          description: The name.
          type: str
        namespace:
          description: The namespace.
          type: str
        nodes:
          description: The nodes whose drain evicts replicas of it.
          type: list
          elements: str
        wanted:
          description: The wanted replicas.
          type: int
    total:
      description: The number of nodes with a driver.
      type: int
problems:
  description: The nodes that would not be upgraded at the end.
  returned: success
  type: list
  elements: str
"""
