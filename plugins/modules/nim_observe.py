#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_observe
author: The nimops.nim authors (@nimops)
short_description: Read everything that a custom resource depends on
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
description:
  - Reads, in one task, the children of a custom resource of C(apps.nvidia.com) and everything else that
    determines them. This includes node labels, the NIMCache in use, the log of a probe pod and the
    response of a running model.
  - Writes nothing. P(nimops.nim.plan_resource#filter) plans the writes; M(nimops.nim.nim_reconcile) does everything in one task.
  - Secrets are read only to query an image registry, and are not returned; for a Secret that contains a key, the result only
    states whether it exists.
"""

EXAMPLES = r"""
- name: Read the dependencies of a NIMService
  nimops.nim.nim_observe:
    resource: "{{ nim }}"
  register: seen

- name: Show the objects to write
  ansible.builtin.debug:
    msg: "{{ (nim | nimops.nim.plan_resource(seen.observed)).apply }}"

- name: Show the Service
  ansible.builtin.debug:
    msg: "{{ (seen.observed | from_json)['Service/' ~ nim.metadata.namespace ~ '/' ~ nim.metadata.name] }}"
"""

RETURN = r"""
observed:
  description:
    - The answers as JSON text, which M(nimops.nim.nim_report) and P(nimops.nim.plan_resource#filter) accept unchanged. It is not
      a dictionary, because Ansible traverses a dictionary wherever it is used; P(ansible.builtin.from_json#filter)
      converts it.
    - The key of an object is C(Kind/namespace/name), or C(Kind/name) if it has no namespace; its value is null if the
      object does not exist. The key of the custom resource itself is C(resource); it is missing if the resource does not exist.
  returned: success
  type: str
owner:
  description:
    - The owner reference of objects that tasks create for the custom resource, so that they are deleted with it. The operator
      may only create such objects.
    - Empty if the resource does not exist.
  returned: success
  type: dict
"""
