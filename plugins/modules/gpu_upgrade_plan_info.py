#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_upgrade_plan_info
author: The nimops.nim authors (@nimops)
short_description: Which nodes an upgrade of GPU drivers would drain, and what that takes from NIMServices
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.command
  - nimops.nim._cluster.connection
  - nimops.nim._cluster.attributes
description:
  - Prints which nodes would drain in what order, which NIMServices lose replicas meanwhile, whether the GPUs that are left
    are enough for them, and what would have to wait.
  - Takes the same steps as the operator, on a copy of the cluster in memory where everything succeeds. Writes nothing.
notes:
  - As a command, C(ansible-playbook nimops.nim.gpu_upgrade_plan).
  - Needs to list ClusterPolicies, nodes, pods, ControllerRevisions, PodDisruptionBudgets, Deployments and LeaderWorkerSets,
    NVIDIADrivers if they install the drivers, and ResourceClaims if pods have any.
  - Where evicted pods go is an estimate. It considers free GPUs and node selectors, but no affinities, taints or quotas.
options:
  assume_outdated:
    description: Plan as if the driver of each node was outdated, and upgrades were switched on.
    type: bool
    default: false
  guard:
    description:
      - Whether the last ready replica of a NIMService is kept if that is possible, as the operator's environment variable
        C(NIMOPS_DRIVER_UPGRADE_GUARD) says. C(auto) keeps it if there are NIMServices.
    type: str
    choices: [auto, "on", "off"]
    default: auto
  output:
    description: The format.
    type: str
    choices: [text, json]
    default: text
"""

EXAMPLES = r"""
- name: Plan what is pending
  nimops.nim.gpu_upgrade_plan_info:

- name: See what the next driver version would take from whom
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
      description: Whether the simulation came to an end.
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
          description: Whether it waits for somebody at the end.
          type: bool
        meanwhile:
          description: The nodes that are under way when this one begins.
          type: list
          elements: str
        node:
          description: The name.
          type: str
        notes:
          description: What follows from it, such as a NIMService without a ready replica.
          type: list
          elements: str
        order:
          description: Its place in the order. 0 if it does not begin.
          type: int
        state:
          description: The state at the end.
          type: str
        waits:
          description: What it waits for on the way.
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
          description: How many replicas no node has GPUs for, at the worst time.
          type: int
        lowest:
          description: The ready replicas at the worst time.
          type: int
        name:
          description: The name.
          type: str
        namespace:
          description: The namespace.
          type: str
        nodes:
          description: The nodes that take replicas from it.
          type: list
          elements: str
        wanted:
          description: The replicas that it should have.
          type: int
    total:
      description: The number of nodes with a driver.
      type: int
problems:
  description: The nodes that would not end upgraded.
  returned: success
  type: list
  elements: str
"""
