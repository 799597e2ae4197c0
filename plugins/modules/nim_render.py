#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_render
author: The nimops.nim authors (@nimops)
short_description: Render the objects that custom resources become, without a cluster
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.resources
  - nimops.nim._cluster.attributes
description:
  - Prints the objects that the operator would create for custom resources, as a stream of YAML that can be reviewed,
    compared and committed. A NIMPipeline is rendered with its NIMServices and their objects.
  - One of O(files), O(definition) and O(definition_variable) is required.
  - Contacts no cluster. Data of a cluster comes from O(facts), or is assumed and reported on stderr. A NIMCache in the
    files is assumed to be Ready.
  - For a ClusterPolicy or an NVIDIADriver, one node with a GPU and Ubuntu 24.04 is assumed, and one more for each
    C(nodeSelector) of NVIDIADrivers, unless O(facts) has nodes. Precompiled drivers depend on kernels, so they need
    such facts.
  - Checks the resources against their schemas. Only the API server checks CEL rules, see M(nimops.nim.nim_plan_info).
  - The same input gives the same output, byte for byte.
notes:
  - Owner references are omitted if the custom resource has no uid, because it is not in a cluster yet.
  - A Secret with a generated key, or with a password of another Secret, contains a placeholder instead, which no API
    server accepts. So C(kubectl diff) and C(kubectl apply) fail for it.
  - "P(ansible.builtin.default#callback) also writes to stdout. Set E(ANSIBLE_STDOUT_CALLBACK) to
    P(nimops.nim.pipe#callback) to get only the data."
  - As a command, C(ansible-playbook nimops.nim.render -e files=nim.yaml). It exits with 0, or with 2 if
    the input cannot be read or a resource cannot be served as it is.
options:
  namespace:
    description: The namespace of resources without one.
    type: str
    default: default
  facts:
    description:
      - Files with objects of a cluster that are assumed to exist, for example nodes, a NIMCache with its status, the
        ConfigMap with its model manifest, or the ConfigMaps of a NemoCustomizer. Those without a namespace are in
        O(namespace).
    type: list
    elements: path
    default: []
  native_images:
    description: Images that contain a single model in the native layout. All others count as legacy.
    type: list
    elements: str
    default: []
  output:
    description: The format.
    type: str
    choices: [yaml, json]
    default: yaml
  output_dir:
    description: A folder for one file per object, in a subfolder per namespace, or C(_cluster). If unset, everything is printed.
    type: path
"""

EXAMPLES = r"""
- name: Print the objects of a NIMService
  nimops.nim.nim_render:
    files: [nim.yaml]

- name: Keep the objects in files, with the nodes and caches of a cluster as facts
  nimops.nim.nim_render:
    files: [nim.yaml]
    facts: [facts.yaml]
    output_dir: rendered

- name: Print the objects of a NIMService in this playbook
  nimops.nim.nim_render:
    definition:
      apiVersion: apps.nvidia.com/v1alpha1
      kind: NIMService
      metadata: {name: llm}
      spec:
        image: {repository: nvcr.io/nim/meta/llama-3.2-1b-instruct, tag: "1.12.0"}
        authSecret: ngc-api-secret
        storage: {emptyDir: {}}
"""

RETURN = r"""
count:
  description: The number of objects.
  returned: success
  type: int
  sample: 5
"""
