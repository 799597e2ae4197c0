#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_takeover
author: The nimops.nim authors (@nimops)
short_description: Take a cluster over from the reference operator, or return it
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
  - nimops.nim._cluster.command
description:
  - Finds the reference operator, which is the one with the image C(k8s-nim-operator) or the Lease C(a0715c6e.nvidia.com),
    and prints the changes of our operator to each object, and the pods that would restart.
  - Then it writes a backup, installs our operator into the same namespace, where it waits for the Lease, deletes the
    webhooks of the reference, scales it to 0, and waits until every custom resource has been reconciled and those that
    were Ready are Ready. At the end it compares UIDs, pods, pod templates and states with the pre-takeover snapshot.
  - With O(back), it scales our operator to 0, removes the finalizers of ClusterPolicies and NVIDIADrivers, which NVIDIA's
    operators do not know, deletes the objects that would crash the reference, restores its CRDs and webhooks from O(backup),
    scales it up, and compares in the same way.
  - In check mode it only reports.
notes:
  - As a command, C(ansible-playbook nimops.nim.takeover) only reports without C(-e yes=true). It exits with 0, or with 2 if
    something failed or was lost. Data is on stdout, progress on stderr.
  - It needs the rights of an administrator of the cluster.
  - It only deletes the webhook configurations and the Lease of a stopped operator and, with O(back), the InferencePools and
    unused ResourceClaimTemplates that our operator created.
attributes:
  diff_mode:
    description: Will return details on what has changed or possibly needs changing in C(check_mode).
    support: none
options:
  manifests:
    description:
      - Files with the manifests of our operator, as C(kubectl kustomize) prints them, with the namespace of the reference.
      - Not needed if our operator is installed. Its namespace is left as it is if it exists.
    type: list
    elements: str
  back:
    description: Whether to return to the reference operator.
    type: bool
    default: false
  backup:
    description:
      - The file to write the backup to. By default C(nimops-takeover-<time>.yaml) in the working directory.
      - With O(back), the file to restore CRDs and webhooks from. By default they are not changed.
    type: str
  operator_namespace:
    description: The namespace to search for operators. By default all namespaces.
    type: str
  wait_timeout:
    description: How many seconds each step may take.
    type: int
    default: 300
"""

EXAMPLES = r"""
- name: Show the changes of a takeover
  nimops.nim.nim_takeover:
    manifests: [nimops.yaml]
  check_mode: true

- name: Take over
  nimops.nim.nim_takeover:
    manifests: [nimops.yaml]
    backup: before.yaml

- name: Return to the reference operator
  nimops.nim.nim_takeover:
    back: true
    backup: before.yaml
"""

RETURN = r"""
changes:
  description: The changes of our operator before it takes over, as RV(nimops.nim.nim_plan_info#module:changes).
  returned: without O(back)
  type: list
  elements: dict
obstacles:
  description: Objects that the reference operator cannot take over, and why they stay.
  returned: with O(back)
  type: list
  elements: str
lost:
  description: Objects and pods that are gone or were replaced, and resources that are no longer Ready.
  returned: when not in check mode
  type: list
  elements: str
backup:
  description: The file with the backup.
  returned: when one was written
  type: str
msg:
  description: A summary of the unchanged objects, or why it failed.
  returned: when not in check mode
  type: str
  sample: 57 objects and 25 pods are the same, 17 of 17 workloads have the same pod templates, 25 of 25 resources are still Ready
"""
