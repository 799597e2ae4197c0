#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_model_files_info
author: The nimops.nim authors (@nimops)
short_description: List the models that custom resources download
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.resources
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.command
  - nimops.nim._cluster.output
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
description:
  - Prints a line for each NIMCache, and for each NIMService that downloads its model itself, with the source, the revision,
    the profiles and their size as far as they are known, and the claim and the path of the files.
  - With files, contacts no cluster. Without, reads the custom resources of a namespace or of all, and the model manifests
    that NIMCaches have stored.
  - A NIMBuild is not listed, because it downloads nothing.
notes:
  - As a command, C(ansible-playbook nimops.nim.model_files -e files=nim.yaml).
options:
  namespace:
    description: The namespace of resources in files that do not name one, V(default) by default; or the namespace to read, all by
      default.
    type: str
  facts:
    description: Files with objects of a cluster, such as NIMCaches with their status and the ConfigMaps of their manifests. They
      are only used with O(files) or O(definition).
    type: list
    elements: path
    default: []
"""

EXAMPLES = r"""
- name: List the models of a cluster
  nimops.nim.nim_model_files_info:

- name: List the models of the custom resources in a file
  nimops.nim.nim_model_files_info:
    files: [nim.yaml]
"""

RETURN = r"""
models:
  description: The models, sorted by namespace, kind and name.
  returned: success
  type: list
  elements: dict
  contains:
    namespace:
      description: The namespace of the resource.
      type: str
    kind:
      description: C(NIMCache) or C(NIMService).
      type: str
    name:
      description: The name of the resource.
      type: str
    source:
      description: A URI such as V(hf://org/model), or the image whose model it is.
      type: str
    endpoint:
      description: The server of the source, if the spec names one.
      type: str
    revision:
      description: The revision of a model of Hugging Face.
      type: str
    image:
      description: The image that downloads the model.
      type: str
    profiles:
      description: The ids of the profiles, if they are known.
      type: list
      elements: str
    criteria:
      description: The criteria of the spec for profiles that are not known yet.
      type: dict
    size:
      description: The bytes, if they are known. Profiles share files, so the largest one counts.
      type: int
    claim:
      description: The claim of the files, empty without one.
      type: str
    path:
      description: The directory in the volume, empty for its root.
      type: str
    is_prepared:
      description: Whether the claim already holds the model, according to the annotation C(nimops.nim/prepared).
      type: bool
"""
