#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_unbundle
author: The nimops.nim authors (@nimops)
short_description: Push a bundle of images and models to a mirror
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.registries
  - nimops.nim._cluster.output
description:
  - Pushes all images and models of a folder that M(nimops.nim.nim_bundle) wrote to a registry, and prints a line for each
    with its reference and that of its copy.
  - If it is repeated, it only uploads what the registry lacks. Large files are uploaded in parts.
  - A failure of one image does not stop the others; the task then fails at the end, and lists the reasons.
notes:
  - As a command, C(ansible-playbook nimops.nim.unbundle -e bundle=bundle -e to=registry.example.com/mirror). It exits with 0
    if everything is pushed, otherwise with 2.
  - A copy of V(nvcr.io/nim/a:1) is V(registry.example.com/mirror/nvcr.io/nim/a:1). Colons in the names of registries become
    underscores.
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    details:
      - In check mode it prints the references of the copies, and contacts no registry.
    support: partial
options:
  bundle:
    description: The folder.
    type: path
    required: true
  to:
    description: The registry, and the part of names before those of the images if there is one, such as
      V(registry.example.com/mirror).
    type: str
    required: true
  hosts_dir:
    description:
      - A folder in which to write the configuration of containerd, one file C(hosts.toml) for each registry of the images.
      - With these files in C(/etc/containerd/certs.d) of the nodes, pods pull from the mirror without a change of their images.
      - The authorities of O(ca_file) are beside each of these files, in C(ca.crt).
    type: path
"""

EXAMPLES = r"""
- name: Push a bundle to a mirror
  nimops.nim.nim_unbundle:
    bundle: bundle
    to: registry.example.com/mirror
    ca_file: ca.pem
"""

RETURN = r"""
images:
  description: The references of images and models, and those of their copies.
  returned: success
  type: dict
"""
