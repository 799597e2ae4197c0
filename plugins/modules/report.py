#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: report
author: The nimops.nim authors (@nimops)
short_description: Write the status of a custom resource
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster
  - nimops.nim._cluster.attributes
description:
  - Computes the status of a custom resource of C(apps.nvidia.com) from what was observed and what came of
    writing its children, and writes it if it differs.
  - Emits events on transitions, and wakes custom resources that wait for this one.
options:
  observed:
    description: What M(nimops.nim.observe) returned in RV(nimops.nim.observe#module:observed).
    type: dict
    default: {}
  plan:
    description: What P(nimops.nim.plan#filter) returned.
    type: dict
    default: {}
  written:
    description: The result of the M(kubernetes.core.k8s) task that applied the plan.
    type: dict
    default: {}
  deleted:
    description: The result of the M(kubernetes.core.k8s) task that deleted what the plan prunes.
    type: dict
    default: {}
  failure:
    description: Why the run failed, if it did.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Tell the user how it went
  nimops.nim.report:
    resource: "{{ nim }}"
    observed: "{{ seen.observed }}"
    plan: "{{ nim | nimops.nim.plan(seen.observed) }}"
  register: said
"""

RETURN = r"""
status:
  description: The whole status as it is now.
  returned: success
  type: dict
error:
  description: Why the reconcile must be tried again, empty if it need not be.
  returned: success
  type: str
period:
  description: When to look again, as a duration such as C(3s), empty for the usual time.
  returned: success
  type: str
"""
