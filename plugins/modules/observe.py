#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: observe
author: The nimops.nim authors (@nimops)
short_description: Read everything that a custom resource depends on, and plan what to write
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster
  - nimops.nim._cluster.connection
  - nimops.nim._cluster.attributes
description:
  - Reads, in one task, the children of a custom resource of C(apps.nvidia.com) and whatever else decides
    what they should be. This includes node labels, the NIMCache that is used, the log of a probe pod and the
    answer of a model that is up.
  - From that it plans what has to be written, claimed and deleted.
  - Writes nothing unless O(report) is set. Secrets are read only to ask an image registry, and are not returned; of a
    Secret that holds a key, only whether it is there.
options:
  report:
    description:
      - Whether to do at once what M(nimops.nim.report) does, if nothing has to be written.
      - This makes one task of a pass that finds everything in order.
      - If an object to apply contains characters beyond U+FFFF, such as emoji, the whole plan is carried out at once, and
        RV(steps) is empty. The Kubernetes client that M(kubernetes.core.k8s) uses escapes such characters in a way that
        server-side apply rejects.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Read what a NIMService depends on
  nimops.nim.observe:
    resource: "{{ nim }}"
  register: seen

- name: Show what would be written
  ansible.builtin.debug:
    msg: "{{ seen.plan.apply }}"

- name: Keep the status up to date, and see what else there is to do
  nimops.nim.observe:
    resource: "{{ nim }}"
    report: true
  register: seen

- name: Show the Service
  ansible.builtin.debug:
    msg: "{{ (seen.observed | from_json)['Service/' ~ nim.metadata.name] }}"
"""

RETURN = r"""
observed:
  description:
    - The answers as a JSON text, which M(nimops.nim.report) and P(nimops.nim.plan#filter) take as it is. It is not a
      dictionary, since Ansible walks through a dictionary wherever it is used; P(ansible.builtin.from_json#filter)
      makes one of it.
    - An object stands under C(Kind/name) and is null if it does not exist. The custom resource itself stands under
      C(resource), and under C(plan) what P(nimops.nim.plan#filter) would return.
  returned: success
  type: str
plan:
  description: What has to be written. All lists are empty if nothing differs.
  returned: success
  type: dict
  contains:
    adopt:
      description:
        - Merge patches. Those of C(metadata.managedFields) make fields ours to correct; each has the C(resourceVersion)
          that it was made from, and its object is in C(apply) too. Those of C(spec) write what server-side apply does
          not take.
      type: list
      elements: dict
    apply:
      description:
        - Objects to apply by server-side apply. Those that are absent have a C(resourceVersion) with which nothing is
          overwritten that has appeared meanwhile, the others the C(uid) that was seen.
      type: list
      elements: dict
    prune:
      description: References to objects to delete, each with the C(uid) that was seen.
      type: list
      elements: dict
steps:
  description:
    - "Which of these there is work for, in order: C(claim) for C(adopt), C(apply), C(prune)."
    - With O(report) and something to write, C(report) is the last, and C(write) stands for C(apply) and C(report).
  returned: success
  type: list
  elements: str
status:
  description: As RV(nimops.nim.report#module:status).
  returned: success, O(report=true), and nothing to write
  type: dict
error:
  description: As RV(nimops.nim.report#module:error). Empty if there is something to write.
  returned: success and O(report=true)
  type: str
period:
  description: As RV(nimops.nim.report#module:period). Empty if there is something to write.
  returned: success and O(report=true)
  type: str
"""
