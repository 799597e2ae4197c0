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
  - nimops.nim._cluster.connection
  - nimops.nim._cluster.attributes
description:
  - Computes the status of a custom resource of C(apps.nvidia.com) from what was observed and what came of
    writing its children, and writes it if it differs.
  - Emits events on transitions, and wakes custom resources that wait for this one.
options:
  resource:
    description:
      - The custom resource, as the API server gives it. Without C(spec), with C(kind), C(metadata.name) and
        C(metadata.namespace) alone, it is the one that O(observed) holds, else it is read from the cluster.
      - By default the one that O(observed) holds.
    type: dict
  observed:
    description:
      - What M(nimops.nim.observe) returned in RV(nimops.nim.observe#module:observed), as the text that it is or as
        a dictionary.
    type: raw
    default: {}
  plan:
    description:
      - What P(nimops.nim.plan#filter) returned.
      - By default the plan that O(observed) holds, or none if there is a O(failure).
    type: dict
    default: {}
  written:
    description:
      - Name of the variable that the M(kubernetes.core.k8s) task that applied the plan has registered.
      - The name, as Ansible would walk through the whole result to template it. If there is no such variable, the
        task did not run.
    type: str
    default: ""
  deleted:
    description: The same for the M(kubernetes.core.k8s) task that deleted what the plan prunes.
    type: str
    default: ""
  failure:
    description: Why the run failed, if it did.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Tell the user how it went
  nimops.nim.report:
    observed: "{{ seen.observed }}"
    written: applied
  register: said

- name: Tell the user why it did not go
  nimops.nim.report:
    resource: "{{ nim }}"
    failure: the cluster cannot be reached
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
