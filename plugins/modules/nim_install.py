#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_install
author: The nimops.nim authors (@nimops)
short_description: Install the CRDs of nimops.nim and the operator, or remove them
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
  - nimops.nim._cluster.command
description:
  - Applies the CRDs, admission policies and roles for users of this release by server-side apply, and waits until the API server
    serves the CRDs. M(nimops.nim.nim_apply) needs no more.
  - With O(operator), it also installs the operator, with the same objects as the overlays of C(config/), and waits until it is
    available. Objects of components that are off now, and permissions in namespaces that it no longer watches, are deleted.
  - Fails without a change if the cluster has a CRD of the same name from another operator, such as NVIDIA's, or from a later
    release; the message lists the API versions and fields that the CRD would lose. It also fails if another object of the same
    name does not belong to nimops.nim, if NVIDIA's operator is active, or if Helm or OLM manages the installation, in any namespace. The message
    then names the owner, and the command that upgrades it.
  - With O(state=absent), it deletes the operator, policies and roles, and CRDs without custom resources. CRDs with resources stay,
    and so do the resources, the models and the namespace of the operator.
notes:
  - As a command, C(ansible-playbook nimops.nim.install). It prints the changes on stdout, and progress and the next step on stderr.
    With C(--check), it only prints the changes, with C(--diff) as Ansible's differences.
  - It needs the rights of an administrator of the cluster.
  - The operator's namespace is C(nimops-system), or the one where the operator is already installed, for example by kustomize or by
    M(nimops.nim.nim_takeover).
attributes:
  diff_mode:
    description: Will return details on what has changed or possibly needs changing in C(check_mode).
    support: full
options:
  state:
    description: Whether to install or to remove.
    type: str
    choices: [present, absent]
    default: present
  operator:
    description: Whether to install the operator as well. If not, an installed operator is not changed.
    type: bool
    default: false
  image:
    description: The image of the operator, as a node pulls it. Required with O(operator).
    type: str
  components:
    description:
      - The optional parts of the operator. V(nemo) serves the NeMo kinds, V(gpu) is the GPU stack.
      - The CRDs of the NeMo kinds are always installed, those of the GPU stack only with V(gpu).
    type: list
    elements: str
    choices: [gpu, nemo]
    default: [nemo]
  watch_namespaces:
    description:
      - The namespaces that the operator serves, and the only ones in which it gets permissions. They must exist. By default all.
      - Not with V(gpu) in O(components).
    type: list
    elements: str
    default: []
  release:
    description:
      - With O(state=absent), whether to remove the operator's finalizers from custom resources, as M(nimops.nim.nim_release) does.
        Otherwise, resources with a finalizer cannot be deleted without the operator.
    type: bool
    default: false
  wait:
    description: Whether to wait until the operator is available.
    type: bool
    default: true
  wait_timeout:
    description: How many seconds to wait, for CRDs as well as for the operator.
    type: int
    default: 300
"""

EXAMPLES = r"""
- name: Install what nim_apply needs
  nimops.nim.nim_install:

- name: Show what the operator would change
  nimops.nim.nim_install:
    operator: true
    image: registry.example.com/nimops/operator:v1
  check_mode: true

- name: Install the operator with the GPU stack
  nimops.nim.nim_install:
    operator: true
    image: registry.example.com/nimops/operator:v1
    components: [gpu, nemo]

- name: Remove it, but keep custom resources and models
  nimops.nim.nim_install:
    state: absent
    release: true
"""

RETURN = r"""
changes:
  description: The objects that differ.
  returned: success
  type: list
  elements: dict
  contains:
    action:
      description: V(create), V(change), V(adopt) if only the field manager changes, or V(delete).
      type: str
      returned: always
    kind:
      description: The kind of the object.
      type: str
      returned: always
    namespace:
      description: Its namespace, empty for an object without one.
      type: str
      returned: always
    name:
      description: Its name.
      type: str
      returned: always
kept:
  description: The CRDs that stay, with the reason.
  returned: with O(state=absent)
  type: list
  elements: str
  sample: ["CustomResourceDefinition nimcaches.apps.nvidia.com has 3 resources"]
next_step:
  description: What to do next.
  returned: with O(state=present), when not in check mode
  type: str
msg:
  description: The number of objects by action, or why it failed.
  returned: always
  type: str
  sample: 45 to create
"""
