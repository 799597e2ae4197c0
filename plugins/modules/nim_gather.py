#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_gather
author: The nimops.nim authors (@nimops)
short_description: Collect support data of a cluster in one file, without secrets
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
  - nimops.nim._cluster.command
description:
  - Writes one C(tar.gz) about a custom resource of C(apps.nvidia.com), or about all of a namespace or cluster. It contains
    the resources and everything that belongs to them, events, logs of all containers, the operator, nodes and versions.
  - A resource's objects are those that it owns, directly or indirectly, including the NIMServices of a NIMPipeline, and
    those that it names, such as a NIMCache, claims, ConfigMaps, and ServiceAccounts with their roles. Unrelated objects in
    the namespace are omitted.
  - Secrets are not read. For each Secret that an object names, it records whether it exists.
  - Everything else is redacted. Values with the name of a credential, tokens of known formats, PEM blocks, users in URLs,
    registry credentials and the annotations of C(kubectl apply) are replaced by C((redacted)).
  - It is bounded in size and time. A file C(index.json) lists the content, and what was truncated or could not be read,
    with reasons.
notes:
  - As a command, C(ansible-playbook nimops.nim.gather -e nim_namespace=nim). It prints the path of the file on stdout,
    its progress on stderr, and exits with 0, or with 2 if the resource does not exist or nothing may be listed.
  - A credential with neither a typical name nor a typical format cannot be recognized. Check the file before you pass it
    on.
  - Objects that it may not read are omitted, and listed in the index. To read everything, it needs C(list) on the custom
    resources, their children, pods, events and leases in the requested namespaces and in O(operator_namespace), C(get) on
    C(pods/log), C(list) on C(nodes), C(get) on C(customresourcedefinitions), and, to check which Secrets exist, C(get)
    on C(secrets), of which it only requests the metadata.
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    details:
      - In check mode it is skipped, and only reports which file it would write.
    support: partial
options:
  resource:
    description:
      - One custom resource, as kind and name, for example V(NIMService/llm).
      - By default all of O(namespace).
    type: str
    default: ""
  namespace:
    description: The namespace. By default the context's namespace for a O(resource), otherwise all namespaces.
    type: str
  operator_namespace:
    description: The namespace in which the operator runs.
    type: str
    default: nimops-system
  path:
    description:
      - The file to write; it is replaced if it exists. If it is a folder, the file in it is named after the time.
      - It has mode 0600, and gets its name when it is complete.
    type: path
    default: .
  max_mib:
    description:
      - The maximum size, in MiB.
      - Logs come last. If a log is too large, its end is kept.
    type: int
    default: 50
  wait_timeout:
    description: The maximum time, in seconds. Objects that are not read by then are omitted.
    type: int
    default: 300
  output:
    description: The output, either the path, or all return values as JSON.
    type: str
    choices: [text, json]
    default: text
"""

EXAMPLES = r"""
- name: Gather a whole namespace
  nimops.nim.nim_gather:
    namespace: nim
    path: support.tar.gz
  register: seen

- name: Show the objects that could not be read
  ansible.builtin.debug:
    var: seen.unread

- name: Gather one service, in at most a minute and 5 MiB
  nimops.nim.nim_gather:
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
  description: Files that are missing or truncated because they were too large, with reasons. At most 200 entries.
  returned: success
  type: list
  elements: dict
  sample: [{"what": "namespaces/nim/pods/llm-0/llm-ctr.log", "why": "only the last 1048576 of 9000000 bytes fit"}]
files:
  description: The files in the archive, except the index.
  returned: success
  type: list
  elements: str
path:
  description: The path of the file.
  returned: success
  type: str
unread:
  description: Objects that could not be read, with reasons. At most 200 entries.
  returned: success
  type: list
  elements: dict
  sample: [{"what": "nodes in the cluster", "why": "nodes is forbidden"}]
"""
