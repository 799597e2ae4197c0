#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: render
author: The nimops.nim authors (@nimops)
short_description: Custom resources to the objects that they become, without a cluster
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.attributes
description:
  - Prints the objects that the operator would make of custom resources of C(apps.nvidia.com), as a stream of YAML
    that can be reviewed, compared and committed. A NIMPipeline is rendered with its NIMServices and what these become.
  - Talks to no cluster. What depends on one is taken from O(facts), else assumed, and said on stderr. A NIMCache
    among the files is taken for Ready, as it will be.
  - Checks the resources against their schemas. Rules in CEL are left to the API server, see M(nimops.nim.plan).
  - The same input gives the same output, byte by byte.
notes:
  - Owner references are left out where the custom resource has no uid, as no cluster has it yet.
  - A Secret with a key that has still to be made holds a placeholder which no API server accepts.
  - "P(ansible.builtin.default#callback) writes to stdout, too. Set E(ANSIBLE_STDOUT_CALLBACK) to
    P(nimops.nim.pipe#callback) to have the data alone."
  - As a command, C(ansible-playbook nimops.nim.render -e files=nim.yaml). It exits with 0, with 2 if a resource
    cannot be served as it is, with 4 if the input cannot be read.
options:
  files:
    description:
      - Files of YAML or JSON, folders of such, or C(-) for stdin.
      - Objects of other kinds in them are passed over.
    type: list
    elements: str
    required: true
  namespace:
    description: The namespace of resources that name none.
    type: str
    default: default
  facts:
    description:
      - Files with objects of a cluster that are taken to exist, for example nodes, a NIMCache with its status, or the
        ConfigMap with its model manifest.
    type: list
    elements: path
    default: []
  native_images:
    description: Images that hold a single model in the native layout. All others count as legacy.
    type: list
    elements: str
    default: []
  output:
    description: The format.
    type: str
    choices: [yaml, json]
    default: yaml
  output_dir:
    description: A folder for one file per object, below its namespace. Without it, all is printed.
    type: path
"""

EXAMPLES = r"""
- name: Print what a NIMService becomes
  nimops.nim.render:
    files: [nim.yaml]

- name: Keep the objects in files, with the nodes and caches of a cluster as facts
  nimops.nim.render:
    files: [nim.yaml]
    facts: [facts.yaml]
    output_dir: rendered
"""

RETURN = r"""
count:
  description: How many objects there are.
  returned: success
  type: int
  sample: 5
"""
