#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_profiles_info
author: The nimops.nim authors (@nimops)
short_description: List the profiles of a NIM image, and whether they fit the GPUs
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
  - nimops.nim._cluster.command
description:
  - Prints a table of the profiles in a model manifest, fitting ones first. For each of the others, it shows the unmet
    criterion.
  - A profile fits if a NIMCache with these criteria would download it. The rules are the operator's own functions.
  - The manifest comes from a file (O(manifest)), from the ConfigMap of a NIMCache (O(nimcache)), or from an image
    (O(image)). For an image, a pod prints it, and is always deleted afterwards.
  - The GPUs are those of the nodes, unless O(gpus) or O(gpu_products) are set.
  - If no profile fits, this is not a failure; RV(fitting) is then empty.
notes:
  - As a command, C(ansible-playbook nimops.nim.profiles -e nimcache=NAME). It exits with 0 if a profile fits, and with 2
    if none does or the image has no manifest.
  - With a manifest of version 1, GPUs count only if O(engine) is one of TensorRT or O(gpus) is set, as for a NIMCache.
    A note on stderr reports this.
  - Needs to list nodes, but not if O(gpus) or O(gpu_products) are set; for O(nimcache) also C(get) on C(nimcaches) and
    C(configmaps); for O(image) also C(create), C(patch), C(get) and C(delete) on C(pods), and C(get) on C(pods/log).
    No Secret is read; the kubelet reads those of O(pull_secrets).
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    details:
      - With O(image) and check mode, it creates no pod and is skipped.
    support: partial
requirements:
  - google-re2 >= 1.1 (for manifests that have C(product_name_regex))
options:
  manifest:
    description:
      - A file with the manifest.
      - With O(gpus) or O(gpu_products), no cluster is needed.
      - Exactly one of O(manifest), O(nimcache) and O(image) is required.
    type: str
  nimcache:
    description:
      - The name of a NIMCache, whose ConfigMap C(<name>-manifest) contains the manifest.
      - Its C(spec.source.ngc.model) has the criteria. Options of this module replace the same field there.
    type: str
  image:
    description: A NIM image. The pod is the same as for a NIMCache with this C(modelPuller).
    type: str
  namespace:
    description: The namespace of the NIMCache, or of the pod. By default that of the context.
    type: str
  gpus:
    description:
      - The GPUs to select for, as in C(spec.source.ngc.model.gpus); each is a product such as V(H100), or a dictionary
        with C(product) and C(ids).
      - If set, the GPUs of the nodes are ignored.
    type: list
    elements: raw
    default: []
  engine:
    description: The required engine, for example V(tensorrt_llm) or V(vllm).
    type: str
  tensor_parallelism:
    description: How many GPUs the model must span.
    type: str
  precision:
    description: The required precision, for example V(fp8).
    type: str
  qos_profile:
    description: The required optimization target.
    type: str
    choices: [latency, throughput]
  lora:
    description: Whether the profile must support adapters (LoRA), or must not.
    type: bool
  buildable:
    description: Whether profiles must be such that an engine can be built from them.
    type: bool
  gpu_products:
    description:
      - The GPUs of the nodes, as in their label C(nvidia.com/gpu.product), for example
        V(NVIDIA-H100-80GB-HBM3). They replace those of the cluster.
    type: list
    elements: str
  pull_secrets:
    description: Pull secrets in O(namespace) for the image.
    type: list
    elements: str
    default: []
  service_account:
    description:
      - The ServiceAccount of the pod. It gets no token.
      - OpenShift needs one that may use the security context constraint C(nonroot), such as the C(nim-cache-sa) of a
        namespace that has a NIMCache.
    type: str
    default: default
  node_selector:
    description: The labels of nodes that the pod may run on. By default nodes with a GPU, as for a NIMCache.
    type: dict
  tolerations:
    description: Tolerations of the pod.
    type: list
    elements: dict
    default: []
  wait_timeout:
    description: How many seconds to wait for the pod. Images are large.
    type: int
    default: 600
  output:
    description: The format. Only JSON contains the full ids.
    type: str
    choices: [text, json]
    default: text
"""

EXAMPLES = r"""
- name: List the profiles of a manifest for two kinds of nodes, without a cluster
  nimops.nim.nim_profiles_info:
    manifest: manifest.yaml
    gpu_products: [NVIDIA-H100-80GB-HBM3, NVIDIA-L40S]

- name: Check whether a cache would find a profile with less precision
  nimops.nim.nim_profiles_info:
    nimcache: models
    namespace: nim
    precision: fp8
  register: offers

- name: Show the profiles to download
  ansible.builtin.debug:
    var: offers.fitting

- name: Read the manifest of an image
  nimops.nim.nim_profiles_info:
    image: registry.example/nim/llm:1.0
    namespace: nim
    pull_secrets: [ngc-secret]
    engine: tensorrt_llm
"""

RETURN = r"""
fitting:
  description: The ids of the profiles that fit.
  returned: when there is a manifest
  type: list
  elements: str
gpu_products:
  description: The GPUs of the nodes. Empty if they are ignored.
  returned: when there is a manifest
  type: list
  elements: str
manifest_version:
  description: The version of the manifest, 1 or 2.
  returned: when there is a manifest
  type: int
notes:
  description: Notes for reading the table.
  returned: when there is a manifest
  type: list
  elements: str
profiles:
  description: All profiles, those that fit first.
  returned: when there is a manifest
  type: list
  elements: dict
  contains:
    fits:
      description: Whether a NIMCache with these criteria would download it.
      type: bool
    id:
      description: The id.
      type: str
    message:
      description: Why it does not fit.
      type: str
    model:
      description: The model. Empty in manifests of version 2.
      type: str
    release:
      description: The release of the model. Empty in manifests of version 2.
      type: str
    rule:
      description: The field of C(spec.source.ngc.model) that it does not meet.
      type: str
    tags:
      description: All tags that the manifest has for it.
      type: dict
wanted:
  description: The criteria, as in C(spec.source.ngc.model).
  returned: when there is a manifest
  type: dict
"""
