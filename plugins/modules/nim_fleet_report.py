#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_fleet_report
author: The nimops.nim authors (@nimops)
short_description: Write a report about custom resources and GPUs as an HTML file, without secrets
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
  - nimops.nim._cluster.command
description:
  - Writes one HTML file about the custom resources of a namespace or cluster. It contains their states, with advice about
    problems, the GPUs of each node and what uses them, caches and volumes, pipelines as graphs, and what the next reconcile
    changes.
  - The file loads nothing. It has a filter, light and dark colors, and can be printed.
  - Secrets are not read. Text is redacted as by M(nimops.nim.nim_gather), and is never interpreted as HTML.
notes:
  - As a command, C(ansible-playbook nimops.nim.report -e nim_namespace=nim). It prints the path of the file on stdout, its
    progress on stderr, and exits with 0, whatever the states, or with 2 if nothing may be listed.
  - A credential with neither a typical name nor a typical format cannot be recognized. Check the file before you pass it
    on.
  - What may not be read is left out, and the report says so. It needs to list the custom resources, their workloads and
    claims; for GPUs, also nodes, pods and ResourceSlices in the cluster; for the plan, what M(nimops.nim.nim_plan_info)
    needs.
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    details:
      - In check mode it is skipped, and only reports which file it would write.
    support: partial
options:
  namespace:
    description:
      - The namespace. By default all namespaces.
      - Pods of other namespaces then are not named as users of GPUs.
    type: str
    default: ""
  path:
    description:
      - The file to write; it is replaced if it exists. With V(-), the report is printed on stdout.
      - It has mode 0600, and gets its name when it is complete.
    type: str
    default: nim-report.html
  plan:
    description:
      - Whether the report shows what the next reconcile changes.
      - A plan reads each object of each resource, which takes about a second for ten resources.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Write a report about the whole cluster
  nimops.nim.nim_fleet_report:
    path: report.html
  register: seen

- name: Show what could not be read
  ansible.builtin.debug:
    var: seen.missing

- name: Write a report about one namespace, without a plan
  nimops.nim.nim_fleet_report:
    namespace: nim
    plan: false
"""

RETURN = r"""
bytes:
  description: The size of the report.
  returned: success
  type: int
missing:
  description: What could not be read, and why.
  returned: success
  type: list
  elements: str
  sample: ["GPUs are not shown: nodes is forbidden"]
path:
  description: The path of the file.
  returned: success
  type: str
problems:
  description: The number of resources with a problem.
  returned: success
  type: int
"""
