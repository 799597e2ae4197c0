#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_reconcile
author: The nimops.nim authors (@nimops)
short_description: Reconcile a custom resource once
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
description:
  - Runs in one task the pass that the operator runs for each event. Reads the dependencies of the custom resource like
    M(nimops.nim.nim_observe), plans, executes the plan by server-side apply, merge patches and deletions, and writes the
    status and events like M(nimops.nim.nim_report).
  - Fails if the cluster cannot be reached, or if the resource cannot be served for a reason that may be temporary. The
    reason is also in the status.
  - The children of a resource without a status are not read before they are created. If one already exists, creating it
    is refused, and the pass restarts by reading them.
  - In check mode nothing is written, and RV(ignore:changed) reports whether anything would be.
"""

EXAMPLES = r"""
- name: Create or correct the children of a NIMService, and write its status
  nimops.nim.nim_reconcile:
    resource: "{{ nim }}"
  register: done

- name: Show the written objects, and whether another pass is needed
  ansible.builtin.debug:
    msg: "{{ done.written }}, {{ done.deleted }}; again after {{ done.period or 'a change' }}"
"""

RETURN = r"""
written:
  description: Keys of the objects that were applied, as in RV(nimops.nim.nim_observe#module:observed). None in check mode.
  returned: success
  type: list
  elements: str
deleted:
  description: Keys of the objects that were deleted. None in check mode.
  returned: success
  type: list
  elements: str
status:
  description: As RV(nimops.nim.nim_report#module:status).
  returned: success
  type: dict
period:
  description: As RV(nimops.nim.nim_report#module:period).
  returned: success
  type: str
"""
