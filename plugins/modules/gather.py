#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gather
author: The nimops.nim authors (@nimops)
short_description: What support needs of a cluster, in one file, without secrets
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.connection
  - nimops.nim._cluster.attributes
description:
  - Writes one C(tar.gz) about a custom resource of C(apps.nvidia.com), or about all of a namespace or cluster. It has the
    resources and all that belongs to them, events, logs of all containers, the operator, nodes and versions.
  - To a resource belong what it owns at any remove, also the NIMServices of a NIMPipeline, and what it names, such as a
    NIMCache, claims, ConfigMaps, and ServiceAccounts with their roles. Strangers in the namespace are left out.
  - Secrets are not read. Of those that are named somewhere, it tells whether they exist.
  - All else is redacted. Values with the name of a credential, tokens of known make, PEM blocks, users in URLs, registry
    credentials and what C(kubectl apply) notes in annotations are replaced by C((redacted)).
  - It is bounded in size and time. A file C(index.json) tells what is in it, what was cut, what could not be read and why.
notes:
  - As a command, C(ansible-playbook nimops.nim.gather -e nim_namespace=nim). It prints the path of the file on stdout,
    what it does on stderr, and exits with 0, or with 4 if the cluster does not answer, does not have the resource, or
    lets nothing be listed.
  - A credential that has neither a telling name nor a telling look cannot be known as such. Look at the file before you
    hand it on.
  - Whatever may not be read is left out, and told in the index. To read all, it needs C(list) on the custom resources,
    their children, pods, events and leases in the namespaces that are asked for and in O(operator_namespace), C(get) on
    C(pods/log), C(list) on C(nodes), C(get) on C(customresourcedefinitions), and to tell which Secrets exist C(get) on
    C(secrets), of which it asks the metadata only.
options:
  resource:
    description:
      - One custom resource, as kind and name, for example V(NIMService/llm).
      - By default all of O(namespace).
    type: str
    default: ""
  namespace:
    description: The namespace. By default that of the context for a O(resource), else all.
    type: str
  operator_namespace:
    description: The namespace in which the operator runs.
    type: str
    default: nimops-system
  path:
    description:
      - The file to write; it is replaced if it exists. In a folder it is named after the time.
      - It has mode 0600, and has its name only when it is complete.
    type: path
    default: .
  max_mib:
    description:
      - How large it may become, in MiB.
      - Logs come last. Of one that is too large, the end is kept.
    type: int
    default: 50
  wait_timeout:
    description: How many seconds it may take. What is not read by then is left out.
    type: int
    default: 300
  output:
    description: What to print, the path, or as JSON all that is returned.
    type: str
    choices: [text, json]
    default: text
"""

EXAMPLES = r"""
- name: Gather all of a namespace
  nimops.nim.gather:
    namespace: nim
    path: support.tar.gz
  register: seen

- name: Show what could not be read
  ansible.builtin.debug:
    var: seen.unread

- name: Gather one service, in at most a minute and 5 MiB
  nimops.nim.gather:
    resource: NIMService/llm
    namespace: nim
    wait_timeout: 60
    max_mib: 5
"""

RETURN = r"""
bytes:
  description: The size of the file.
  returned: success
  type: int
cut:
  description: What is missing, wholly or in part, as there was too much of it, and why. At most 200 entries.
  returned: success
  type: list
  elements: dict
  sample: [{"what": "namespaces/nim/pods/llm-0/llm-ctr.log", "why": "only its last 1048576 of 9000000 bytes had room"}]
files:
  description: What is in it, besides the index.
  returned: success
  type: list
  elements: str
path:
  description: The path of the file.
  returned: success
  type: str
unread:
  description: What could not be read, and why. At most 200 entries.
  returned: success
  type: list
  elements: dict
  sample: [{"what": "nodes in the cluster", "why": "nodes is forbidden"}]
"""
