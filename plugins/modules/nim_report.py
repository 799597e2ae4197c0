#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_report
author: The nimops.nim authors (@nimops)
short_description: Write the status of a custom resource
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
description:
  - Computes the status of a custom resource of C(apps.nvidia.com) from the observed objects and from the results
    of writing its children, and writes it if it differs.
  - Emits events on transitions, and triggers custom resources that wait for this one.
options:
  resource:
    description:
      - The custom resource, as the API server returns it. If it only has C(kind), C(metadata.name) and
        C(metadata.namespace), and no C(spec), the one in O(observed) is used, or it is read from the cluster.
      - By default the one in O(observed).
    type: dict
  observed:
    description:
      - The value RV(nimops.nim.nim_observe#module:observed) of M(nimops.nim.nim_observe), as text or as a dictionary.
    type: raw
    default: {}
  plan:
    description:
      - The result of P(nimops.nim.plan_resource#filter). By default an empty plan.
    type: dict
    default: {}
  registered:
    description:
      - Prefix of the variables that the tasks of all stages registered, for example C(wrote_) for C(wrote_first) and
        C(wrote_second). M(nimops.nim.nim_write) lists the stages.
      - It is a name, because Ansible would traverse whole results to template them. A stage without such a variable did
        not run.
    type: str
    default: ""
  failure:
    description: Why the run failed, if it did.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Report success to the user
  nimops.nim.nim_report:
    observed: "{{ seen.observed }}"
    plan: "{{ nim | nimops.nim.plan_resource(seen.observed) }}"
    registered: wrote_
  register: reported

- name: Report a failure to the user
  nimops.nim.nim_report:
    resource: "{{ nim }}"
    failure: the cluster cannot be reached
"""

RETURN = r"""
status:
  description: The whole new status.
  returned: success
  type: dict
error:
  description: Why the reconcile must be retried, empty if it need not be.
  returned: success
  type: str
period:
  description: When to reconcile again, as a duration such as C(3s), empty for the usual interval.
  returned: success
  type: str
requeue_after:
  description:
    - The period for the runtime of the operator, which always needs one, as RV(nimops.nim.requeue_after#module:period).
    - Empty if the resource is being deleted, so that its finalizer is removed.
  returned: success
  type: str
ready_mark:
  description:
    - A merge patch of the custom resource that sets the annotation C(nimops.nim/ready-tasks), to record that the tasks
      after readiness succeeded.
    - Empty unless the resource is Ready and the annotation lacks its C(metadata.generation).
  returned: success
  type: dict
"""
