#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: plan
author: The nimops.nim authors (@nimops)
short_description: What applying custom resources would change in a cluster
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.files
  - nimops.nim._cluster.connection
  - nimops.nim._cluster.attributes
description:
  - Compares what custom resources will become with what a cluster has, and prints what would be created, changed, taken
    over and deleted, with a diff for each object that changes, and whether its pods are replaced.
  - Without O(files), it does so for the custom resources that are there. This shows what the next reconcile does, for
    example after an update of the operator.
  - Writes nothing. The custom resources themselves are checked by a dry run; who may not write them gets a plan
    without these checks.
notes:
  - As a command, C(ansible-playbook nimops.nim.plan -e files=nim.yaml). It exits with 0 if nothing would change, with
    2 if something would, with 4 if that cannot be told.
  - The right to read the custom resources, what they make, and nodes is enough.
options:
  files:
    description:
      - Files of YAML or JSON, folders of such, or C(-) for stdin.
      - Objects of other kinds in them are passed over.
      - By default the custom resources of the cluster, or of O(namespace), as they are.
    type: list
    elements: str
    required: false
    default: []
  output:
    description: The format.
    type: str
    choices: [text, json]
    default: text
"""

EXAMPLES = r"""
- name: See what a change leads to
  nimops.nim.plan:
    files: [nim.yaml]
    namespace: nim

- name: See what the next reconcile would do to all that is there
  nimops.nim.plan:
    output: json
"""

RETURN = r"""
changes:
  description: Each object that does not stay as it is.
  returned: when the plan could be made
  type: list
  elements: dict
  contains:
    action:
      description: One of C(create), C(change), C(adopt) and C(delete).
      type: str
    diff:
      description: The difference as a unified diff of YAML.
      type: str
    kind:
      description: The kind of the object.
      type: str
    name:
      description: The name of the object.
      type: str
    namespace:
      description: The namespace of the object.
      type: str
    parent:
      description: The custom resource that wants it so.
      type: str
    restarts_pods:
      description: Whether its pods are replaced.
      type: bool
"""
