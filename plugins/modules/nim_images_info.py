#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_images_info
author: The nimops.nim authors (@nimops)
short_description: List the images that a cluster pulls, for mirrors
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.resources
  - nimops.nim._cluster.output
  - nimops.nim._cluster.attributes
description:
  - Prints the images of all pods of custom resources, and the images that the resources name for their own jobs, one per
    line.
  - Also prints the images of Deployments and other workloads in the files, such as that of the operator, and the images
    that their variables name, such as E(NIMOPS_WAIT_IMAGE).
  - Without resources, prints the images of the GPU stack for a ClusterPolicy that specifies none.
  - Contacts no cluster and no registry. The same input gives the same output, byte for byte.
notes:
  - The output includes the image of the operator itself only if its Deployment is in the files. It is also in C(images.txt)
    of a release.
  - As a command, C(ansible-playbook nimops.nim.images -e files=nim.yaml). It exits with 0, or with 2 if the input cannot
    be read, or a resource cannot be served as it is; the images of all others are still printed.
options:
  namespace:
    description: The namespace of resources without one.
    type: str
    default: default
  systems:
    description:
      - The operating systems of the nodes with GPUs, as NVIDIA's tags of drivers spell them, such as V(ubuntu24.04) or
        V(rhel9). Not used if O(facts) has nodes.
    type: list
    elements: str
    default: [ubuntu24.04]
  kernels:
    description: The kernels of these nodes, as C(uname -r) prints them. Only precompiled drivers depend on them. Not used if
      O(facts) has nodes.
    type: list
    elements: str
    default: []
  facts:
    description: Files with objects of a cluster that are assumed to exist, as for M(nimops.nim.nim_render).
    type: list
    elements: path
    default: []
"""

EXAMPLES = r"""
- name: Print the images of the GPU stack, for two operating systems
  nimops.nim.nim_images_info:
    systems: [ubuntu22.04, ubuntu24.04]

- name: Print the images of the custom resources in a file
  nimops.nim.nim_images_info:
    files: [nim.yaml]
"""

RETURN = r"""
images:
  description: The images, sorted.
  returned: success
  type: list
  elements: dict
  contains:
    image:
      description: The reference.
      type: str
    users:
      description: The users of the image, such as objects by kind and name.
      type: list
      elements: str
"""
