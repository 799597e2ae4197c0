#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: requeue_after
author: The nimops.nim authors (@nimops)
short_description: Reconcile a custom resource once in the operator
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
description:
  - Does the same as M(nimops.nim.nim_reconcile), and returns the requeue period to the Ansible operator runtime.
  - The runtime searches the events of a run for a task of exactly this name, without a collection, reads RV(period) from
    its result, and ends the reconcile immediately. A result without a period crashes it, so the task must never be
    skipped.
  - With O(period), it does nothing else. This is the last task of a role that ran the reconcile.
  - If the task fails, the runtime does not read its period, and retries with back-off.
  - The runtime removes no finalizer after this task. The playbook of a finalizer uses M(nimops.nim.nim_reconcile).
options:
  resource:
    description:
      - The custom resource, as the API server returns it. If it only has C(kind), C(metadata.name) and
        C(metadata.namespace), and no C(spec), it is read from the cluster.
      - Either this or O(period) is required.
    type: dict
  period:
    description: The requeue period, as a Go duration.
    type: str
"""

EXAMPLES = r"""
- name: Reconcile a NIMService in the operator
  nimops.nim.requeue_after:
    resource: "{{ nim }}"
"""

RETURN = r"""
period:
  description:
    - The requeue period, as a Go duration. If nothing is in progress, it is the annotation
      C(ansible.sdk.operatorframework.io/reconcile-period) of the resource or the C(reconcilePeriod) of its kind in
      C(watches.yaml); C(0s), which means never, if the resource was deleted.
  returned: success
  type: str
  sample: 10m
written:
  description: As RV(nimops.nim.nim_reconcile#module:written).
  returned: success
  type: list
  elements: str
deleted:
  description: As RV(nimops.nim.nim_reconcile#module:deleted).
  returned: success
  type: list
  elements: str
"""
