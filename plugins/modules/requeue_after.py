#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: requeue_after
author: The nimops.nim authors (@nimops)
short_description: Make the operator reconcile again after a while, or after an error
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.attributes
description:
  - The Ansible operator runtime looks for a task of exactly this name, without a collection, in the events of a run,
    reads its period, and ends the reconcile at once. It must therefore be the last task of a role, be called
    by its short name, and never be skipped.
  - If the task fails, the runtime does not read its period, and treats it like any failed task.
  - Outside the operator it has no effect.
options:
  period:
    description:
      - How long to wait, as a Go duration such as C(3s) or C(1m30s).
      - Required unless there is an O(error).
    type: str
    default: ""
  error:
    description:
      - Fail with this text instead. The operator then retries with back-off.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Reconcile again in five seconds
  nimops.nim.requeue_after:
    period: 5s

- name: Fail if there was an error, otherwise reconcile again in five seconds
  nimops.nim.requeue_after:
    period: 5s
    error: "{{ said.error }}"
"""

RETURN = r"""
period:
  description: The period given.
  returned: success
  type: str
"""
