#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_release
author: The nimops.nim authors (@nimops)
short_description: Remove the operator's finalizers from custom resources
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
  - nimops.nim._cluster.command
description:
  - Lists the custom resources of all kinds that have a finalizer of our operator, and removes this finalizer. Other finalizers
    and all else stay.
  - For a cluster whose operator is gone for good, where finalizers would block the deletion of resources and namespaces.
    Resources that are being deleted disappear at once, with their objects; all others stay.
  - Fails while an operator runs that serves the resources, because it would set the finalizers again. An operator runs if its
    Deployment has replicas, or if one holds the Lease C(a0715c6e.nvidia.com).
  - In check mode it only lists.
notes:
  - As a command, C(ansible-playbook nimops.nim.release) only lists without C(-e yes=true). Data is on stdout, progress on
    stderr.
  - Nothing else undoes what a deleted ClusterPolicy or NVIDIADriver set on nodes, such as labels and cordons of an upgrade. If
    this matters, delete these resources while the operator runs.
attributes:
  diff_mode:
    description: Will return details on what has changed or possibly needs changing in C(check_mode).
    support: none
options:
  namespace:
    description: The namespace of the resources. By default all, and resources without a namespace.
    type: str
    default: ""
  operator_namespace:
    description: The namespace to search for operators. By default all namespaces.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: List the finalizers
  nimops.nim.nim_release:
  check_mode: true

- name: Remove them in one namespace
  nimops.nim.nim_release:
    namespace: nim

- name: Remove all
  nimops.nim.nim_release:
"""

RETURN = r"""
finalizers:
  description: The finalizers that are removed, or would be removed in check mode.
  returned: success
  type: list
  elements: dict
  contains:
    kind:
      description: The kind of the custom resource.
      type: str
      returned: always
    namespace:
      description: Its namespace, empty for a resource without one.
      type: str
      returned: always
    name:
      description: Its name.
      type: str
      returned: always
    finalizer:
      description: The finalizer.
      type: str
      returned: always
      sample: finalizer.nimservice.apps.nvidia.com
    deleted:
      description: Whether the resource is being deleted, so that it disappears.
      type: bool
      returned: always
"""
