#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: profiles
author: The nimops.nim authors (@nimops)
short_description: What a NIM image offers, what of it fits the GPUs, and why not the rest
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.connection
  - nimops.nim._cluster.attributes
description:
  - Prints a table of the profiles in a model manifest, those that fit first. For each other one it tells which wish it
    does not meet.
  - A profile fits if a NIMCache with these wishes would download it. The rules are the operator's own functions.
  - The manifest is taken from a file (O(manifest)), from what a NIMCache keeps (O(nimcache)), or from an image
    (O(image)). For the latter a pod prints it, which is deleted afterwards, whatever happens.
  - Which GPUs there are is asked of the nodes, unless O(gpus) or O(gpu_products) are given.
notes:
  - As a command, C(ansible-playbook nimops.nim.profiles -e nimcache=NAME). It exits with 0 if a profile fits, with 2 if
    none does or the image has no manifest, with 4 if that cannot be told.
  - With a manifest of version 1, GPUs count only if O(engine) is one of TensorRT or O(gpus) is given, as for a NIMCache.
    It is said on stderr.
  - Needs to list nodes, but not if O(gpus) or O(gpu_products) are given; for O(nimcache) also C(get) on C(nimcaches) and
    C(configmaps); for O(image) also C(create), C(patch), C(get) and C(delete) on C(pods), and C(get) on C(pods/log).
    No Secret is read; the kubelet gets those of O(pull_secrets).
requirements:
  - google-re2 >= 1.1 (for manifests that have C(product_name_regex))
options:
  manifest:
    description:
      - A file with the manifest, or C(-) for stdin.
      - With O(gpus) or O(gpu_products), no cluster is asked.
      - Exactly one of O(manifest), O(nimcache) and O(image) is needed.
    type: str
  nimcache:
    description:
      - The name of a NIMCache, whose ConfigMap C(<name>-manifest) has the manifest.
      - Its C(spec.source.ngc.model) is what is wanted. Wishes among the options take the place of the same field there.
    type: str
  image:
    description: A NIM image. The pod is that of a NIMCache with this C(modelPuller).
    type: str
  namespace:
    description: The namespace of the NIMCache, or for the pod. By default that of the context.
    type: str
  gpus:
    description:
      - GPUs that are wanted, as C(spec.source.ngc.model.gpus); each a product such as V(H100), or a dictionary with
        C(product) and C(ids).
      - GPUs of the nodes do not count then.
    type: list
    elements: raw
    default: []
  engine:
    description: The engine that is wanted, for example V(tensorrt_llm) or V(vllm).
    type: str
  tensor_parallelism:
    description: How many GPUs the model shall span.
    type: str
  precision:
    description: The precision that is wanted, for example V(fp8).
    type: str
  qos_profile:
    description: What the profile shall be made for.
    type: str
    choices: [latency, throughput]
  lora:
    description: Whether adapters (LoRA) are wanted.
    type: bool
  buildable:
    description: Whether profiles are wanted that an engine can be built from.
    type: bool
  gpu_products:
    description:
      - GPUs that the nodes have, as their label C(nvidia.com/gpu.product) says it, for example
        V(NVIDIA-H100-80GB-HBM3). They are taken in place of those of the cluster.
    type: list
    elements: str
  pull_secrets:
    description: Secrets in O(namespace) that the image is pulled with.
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
    description: The taints of nodes that the pod may run on nevertheless.
    type: list
    elements: dict
    default: []
  wait_timeout:
    description: For how many seconds to wait for the pod. Images are large.
    type: int
    default: 600
  output:
    description: The format. Only JSON has the whole ids.
    type: str
    choices: [text, json]
    default: text
"""

EXAMPLES = r"""
- name: Look at what a manifest offers for two kinds of nodes, without a cluster
  nimops.nim.profiles:
    manifest: manifest.yaml
    gpu_products: [NVIDIA-H100-80GB-HBM3, NVIDIA-L40S]

- name: See whether a cache would find a profile with less precision
  nimops.nim.profiles:
    nimcache: models
    namespace: nim
    precision: fp8
  register: offers

- name: Show what would be downloaded
  ansible.builtin.debug:
    var: offers.fitting

- name: Ask an image
  nimops.nim.profiles:
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
  description: The GPUs of the nodes. Empty if they do not count.
  returned: when there is a manifest
  type: list
  elements: str
manifest_version:
  description: The version of the manifest, 1 or 2.
  returned: when there is a manifest
  type: int
notes:
  description: What one has to know to read the table.
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
      description: Whether a NIMCache with these wishes would download it.
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
      description: All that the manifest says of it.
      type: dict
wanted:
  description: What was wanted, as C(spec.source.ngc.model).
  returned: when there is a manifest
  type: dict
"""
