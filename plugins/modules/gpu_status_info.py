#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_status_info
author: The nimops.nim authors (@nimops)
short_description: Show the state of each GPU node, its pending pods, and the relevant logs
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
  - nimops.nim._cluster.command
  - nimops.nim._cluster.output
description:
  - Prints for each node with GPUs its state, the pods that it waits for and since when, the log that explains the reason, and
    advice. Of several pods that are not ready, it omits those that only wait for another one of them.
  - Reads logs to recognize known causes. No log is part of the output.
notes:
  - As a command, C(ansible-playbook nimops.nim.gpu_status). It always exits with 0, whatever the states.
  - Needs to list ClusterPolicies, nodes, pods, ControllerRevisions, PodDisruptionBudgets, Deployments, LeaderWorkerSets, and in
    the namespace of the GPU stack DaemonSets and events. Without C(get) on C(pods/log) it recognizes fewer causes.
options:
  max_logs:
    description: The maximum number of logs to read.
    type: int
    default: 20
"""

EXAMPLES = r"""
- name: Show all GPU nodes
  nimops.nim.gpu_status_info:

- name: Stop if a node is not ready
  nimops.nim.gpu_status_info:
    output: json
  register: seen
  failed_when: not seen.ready
"""

RETURN = r"""
faults:
  description: Problems of the whole stack, such as missing labels of Node Feature Discovery.
  returned: success
  type: list
  elements: str
nodes:
  description: One entry for each node with GPUs, those with problems first.
  returned: success
  type: list
  elements: dict
  contains:
    node:
      description: The name.
      type: str
    state:
      description: C(Failed), C(Waiting), C(Upgrading), C(Off) or C(Ready).
      type: str
    troubles:
      description: The pods that it waits for.
      type: list
      elements: dict
      contains:
        advice:
          description: Advice. Empty if the cause is not known.
          type: str
        blocks:
          description: The components that wait for this one.
          type: list
          elements: str
        component:
          description: The component, such as C(driver).
          type: str
        is_fault:
          description: Whether it has a problem of its own, and does not only wait.
          type: bool
        log:
          description: The command that shows the log with the reason. Empty if there is none.
          type: str
        pod:
          description: Namespace and name of the pod.
          type: str
        since:
          description: Since when, in ISO 8601. Empty if that is not known.
          type: str
        waits:
          description: The reason for waiting.
          type: str
    upgrade:
      description: The state of its driver upgrade. Empty without an upgrade.
      type: str
ready:
  description: Whether all nodes are ready, and the whole stack has no problem.
  returned: success
  type: bool
"""
