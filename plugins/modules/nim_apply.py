#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_apply
author: The nimops.nim authors (@nimops)
short_description: Apply custom resources to a cluster and wait until they are Ready, or delete them
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.resources
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
  - nimops.nim._cluster.command
description:
  - Writes custom resources of C(apps.nvidia.com) by server-side apply and reconciles them as the operator does, until
    all are Ready. It needs no operator in the cluster, and does not interfere with one.
  - One of O(files), O(definition) and O(definition_variable) is required.
  - Reports state changes on stderr. Fails with the reason if a resource has failed, or on a timeout.
  - With O(state=absent), it deletes the custom resources, in reverse order, and waits until each is gone. Only their kinds, namespaces
    and names count. Namespaces, Secrets and other objects in the files stay, as do objects that the custom resources do not control.
    It fails without a change if another resource controls one of them, as a NIMPipeline controls its NIMServices.
  - In check mode it returns the result of M(nimops.nim.nim_plan_info), with C(--diff) as Ansible's differences.
notes:
  - As a command, C(ansible-playbook nimops.nim.apply -e files=nim.yaml). It exits with 0 if all are Ready, otherwise with
    2.
  - With O(state=absent) and without an operator, it also undoes what the garbage collector cannot, such as labels of nodes, and removes
    finalizers that an operator has left.
  - Without an operator, nothing corrects the objects afterwards; run it again to correct them.
  - The model's name is queried through its Service or, if that cannot be reached, through the API server, which needs
    C(get) on C(services/proxy).
attributes:
  diff_mode:
    description: Will return details on what has changed or possibly needs changing in C(check_mode).
    support: full
options:
  state:
    description: Whether the custom resources exist.
    type: str
    choices: [present, absent]
    default: present
  wait:
    description: Whether to wait until all are Ready or gone. If not, each is reconciled once, or deleted.
    type: bool
    default: true
  wait_timeout:
    description: How many seconds to wait. Models are large, so downloads can take an hour.
    type: int
    default: 1800
"""

EXAMPLES = r"""
- name: Serve a model
  nimops.nim.nim_apply:
    files: [nim.yaml]
    namespace: nim
    wait_timeout: 3600

- name: Remove it
  nimops.nim.nim_apply:
    files: [nim.yaml]
    namespace: nim
    state: absent
"""

RETURN = r"""
states:
  description: The state of each custom resource, including those that a NIMPipeline created.
  returned: with O(state=present), when not in check mode
  type: dict
  sample: {"NIMService nim/llm": "Ready"}
deleted:
  description: The custom resources that existed and are deleted.
  returned: with O(state=absent), when not in check mode
  type: list
  elements: str
  sample: ["NIMService nim/llm"]
msg:
  description: The number of objects by action, or why it failed.
  returned: in check mode, with O(state=absent), and on failure
  type: str
  sample: 1 to delete
"""
