#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_bundle
author: The nimops.nim authors (@nimops)
short_description: Pack images and models into a folder, for a cluster without Internet access
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.resources
  - nimops.nim._cluster.registries
description:
  - Pulls all images that M(nimops.nim.nim_images_info) lists for custom resources, for all platforms, and packs folders with
    models. The result is a folder in the image layout of OCI, which other tools can read as well.
  - Contacts no cluster.
  - If it is repeated, it only downloads what is missing. A broken download continues where it ended. Each file has its name
    only when its content has its digest.
  - A failure of one image does not stop the others; the task then fails at the end, and lists the reasons.
notes:
  - As a command, C(ansible-playbook nimops.nim.bundle -e files=nim.yaml -e path=bundle). It exits with 0 if everything is
    packed, otherwise with 2.
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    details:
      - In check mode it lists what it would pack, and contacts no registry.
    support: partial
options:
  path:
    description: The folder. It must be empty, missing, or a result of this module, which is completed.
    type: path
    required: true
  images:
    description: More images to pack, such as that of the operator.
    type: list
    elements: str
    default: []
  models:
    description:
      - Folders with models, by the name that they get in the mirror, without a registry, such as V(models/llama:1.0).
      - A model becomes an OCI artifact with a layer for each file, as ORAS does. Its files are linked instead of copied where
        that is possible, so do not change them before they are pushed.
    type: dict
    default: {}
  systems:
    description: The operating systems of the nodes with GPUs, as for M(nimops.nim.nim_images_info).
    type: list
    elements: str
    default: [ubuntu24.04]
  kernels:
    description: The kernels of these nodes, as for M(nimops.nim.nim_images_info).
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
- name: Pack the images of the resources, another image, and a model
  nimops.nim.nim_bundle:
    files: [nim.yaml]
    images: ["registry.example.com/tools/debug:1.4"]
    models: {"models/llama:1.0": /srv/models/llama}
    path: bundle
"""

RETURN = r"""
packed:
  description: The images and models that are complete in the folder, sorted.
  returned: success
  type: list
  elements: str
"""
