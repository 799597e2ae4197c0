#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_observe
author: The nimops.nim authors (@nimops)
short_description: Read everything that a custom resource depends on, and plan what to write
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster
  - nimops.nim._cluster.connection
  - nimops.nim._cluster.attributes
description:
  - Reads, in one task, the children of a custom resource of C(apps.nvidia.com) and everything else that
    determines them. This includes node labels, the NIMCache in use, the log of a probe pod and the
    response of a running model.
  - From these it plans what to write, claim and delete.
  - Writes nothing unless O(write) is set. Secrets are read only to query an image registry, and are not returned; for a
    Secret that contains a key, only whether it exists.
options:
  write:
    description:
      - Whether to do the whole pass in this task, which is what the operator does. That is to carry out the plan by
        server-side apply, merge patches and deletions, and then to do what M(nimops.nim.nim_report) does.
      - The children of a resource without a status are not read before they are created. If there is one all the same, its
        creation is refused, and the pass begins again and reads them.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Read what a NIMService depends on
  nimops.nim.nim_observe:
    resource: "{{ nim }}"
  register: seen

- name: Show what would be written
  ansible.builtin.debug:
    msg: "{{ seen.plan.apply }}"

- name: Show the Service
  ansible.builtin.debug:
    msg: "{{ (seen.observed | from_json)['Service/' ~ nim.metadata.namespace ~ '/' ~ nim.metadata.name] }}"

- name: Create or correct its children, and write its status
  nimops.nim.nim_observe:
    resource: "{{ nim }}"
    write: true
  register: done

- name: Show what was written, and whether another pass is needed
  ansible.builtin.debug:
    msg: "{{ done.written }}, {{ done.deleted }}; again after {{ done.period or 'a change' }}"
"""

RETURN = r"""
observed:
  description:
    - The answers as JSON text, which M(nimops.nim.nim_report) and P(nimops.nim.plan_resource#filter) accept unchanged. It is not
      a dictionary, because Ansible traverses a dictionary wherever it is used; P(ansible.builtin.from_json#filter)
      converts it.
    - The key of an object is C(Kind/namespace/name), or C(Kind/name) if it has no namespace; its value is null if the
      object does not exist. The custom resource itself is under C(resource), and what
      P(nimops.nim.plan_resource#filter) would return under C(plan).
  returned: success and O(write=false)
  type: str
plan:
  description: What has to be written. All lists are empty if nothing differs.
  returned: success and O(write=false)
  type: dict
  contains:
    adopt:
      description:
        - Merge patches. Those of C(metadata.managedFields) take ownership of fields to correct; each has the
          C(resourceVersion) that it was computed from, and its object is in C(apply) too. Those of C(spec) write what
          server-side apply does not accept.
      type: list
      elements: dict
    apply:
      description:
        - Objects to apply by server-side apply. New objects have a C(resourceVersion) that prevents overwriting an object
          created in the meantime, the others have the C(uid) that was read.
      type: list
      elements: dict
    prune:
      description: References to objects to delete, each with the C(uid) that was read.
      type: list
      elements: dict
written:
  description: Keys of the objects that were applied, as in RV(observed). None in check mode.
  returned: success and O(write=true)
  type: list
  elements: str
deleted:
  description: Keys of the objects that were deleted. None in check mode.
  returned: success and O(write=true)
  type: list
  elements: str
status:
  description: As RV(nimops.nim.nim_report#module:status).
  returned: success and O(write=true)
  type: dict
error:
  description: As RV(nimops.nim.nim_report#module:error).
  returned: success and O(write=true)
  type: str
period:
  description: As RV(nimops.nim.nim_report#module:period).
  returned: success and O(write=true)
  type: str
"""
