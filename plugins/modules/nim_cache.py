#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name. Written by `make generate`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_cache
author: The nimops.nim authors (@nimops)
short_description: Download a model with a NIMCache, or remove it
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.custom_resource
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
  - nimops.nim._cluster.command
description:
  - A NIMCache downloads a model into a volume.
  - Creates, changes or deletes one, and waits until an operator has made it Ready.
  - It writes the custom resource only, so it needs an operator in the cluster, such as M(nimops.nim.nim_install) installs.
    M(nimops.nim.nim_apply) needs no operator.
  - The write is a server-side apply with the same field manager as M(nimops.nim.nim_apply). Fields of O(spec) that were set by
    either module before and are missing now are removed. Fields that only other clients have set stay.
  - The result is changed if labels, annotations or the spec differ afterwards.
  - It fails with the message of the operator if the NIMCache has the condition C(Stalled), if it is paused before it is Ready, or on a
    timeout.
  - With O(state=absent), it deletes the NIMCache and waits until it is gone. If its finalizer is left by an operator that no longer
    runs, it is removed. A NIMCache that another resource controls is refused.
notes:
  - In check mode, the API server validates the result without storing it.
  - A text, such as the result of a template, becomes a number or a boolean where the API has one. A number never becomes a text, so
    quote tags such as V("1.10").
  - Ansible evaluates templates in the options, as everywhere. Untrusted text belongs into files of M(nimops.nim.nim_apply), or into
    a variable that its option O(nimops.nim.nim_apply#module:definition_variable) names.
attributes:
  diff_mode:
    description: Will return details on what has changed or possibly needs changing in C(check_mode).
    support: full
seealso:
  - module: nimops.nim.nim_apply
  - module: nimops.nim.nim_resource_info
  - name: Kubernetes API
    description: The fields of the options that refer to it.
    link: https://kubernetes.io/docs/reference/kubernetes-api/
options:
  spec:
    description:
      - The spec of the NIMCache, with the names of the API. Required with O(state=present).
      - Defaults are those of the API server, which fills them in.
    type: dict
    suboptions:
      certConfig:
        description:
          - Deprecated and no longer supported, use proxy.
        type: dict
        suboptions:
          mountPath:
            description:
              - Where to mount them.
            type: str
            required: true
          name:
            description:
              - ConfigMap with certificates.
            type: str
            required: true
      env:
        description:
          - Environment of the download.
          - See C(EnvVar) of the Kubernetes API.
        type: list
        elements: dict
      groupID:
        description:
          - Group id of the pods and of their volume, 2000 by default.
        type: int
      initContainers:
        description:
          - Containers that run before the download.
        type: list
        elements: dict
        suboptions:
          args:
            description:
              - Arguments of the entry point.
            type: list
            elements: str
          command:
            description:
              - Replaces the entry point of the image.
            type: list
            elements: str
          env:
            description:
              - Environment; takes precedence over what the operator adds.
              - See C(EnvVar) of the Kubernetes API.
            type: list
            elements: dict
          image:
            description:
              - Its image; without a pull policy, it uses the main image's.
            type: dict
            required: true
            suboptions:
              pullPolicy:
                description:
                  - 'When to pull: Always, IfNotPresent or Never.'
                type: str
              pullSecrets:
                description:
                  - Names of image pull secrets in the same namespace.
                type: list
                elements: str
              repository:
                description:
                  - Image name with its registry, without the tag.
                type: str
                required: true
              tag:
                description:
                  - Tag of the image.
                type: str
                required: true
          name:
            description:
              - Name of the container.
            type: str
            required: true
          workingDir:
            description:
              - Working directory of the container.
            type: str
      nodeSelector:
        description:
          - Labels of the nodes that the pods may run on; by default nodes with an NVIDIA GPU, with {} any.
        type: dict
      proxy:
        description:
          - How the containers reach the network through a proxy.
        type: dict
        suboptions:
          certConfigMap:
            description:
              - ConfigMap of the CA certificates (.crt or .pem) that containers must trust.
            type: str
          httpProxy:
            description:
              - Proxy for http URLs.
            type: str
          httpsProxy:
            description:
              - Proxy for https URLs.
            type: str
          noProxy:
            description:
              - Comma-separated hosts, domains, addresses and networks reached directly.
            type: str
      resources:
        description:
          - Requests and limits of the download.
        type: dict
        suboptions:
          cpu:
            description:
              - CPU of the download.
            type: raw
          memory:
            description:
              - Memory of the download.
            type: raw
      runtimeClassName:
        description:
          - Runtime class of the pods.
        type: str
      source:
        description:
          - Where the model comes from; exactly one of these.
        type: dict
        required: true
        suboptions:
          dataStore:
            description:
              - A model or dataset of a NeMo DataStore.
            type: dict
            suboptions:
              authSecret:
                description:
                  - Secret with HF_TOKEN.
                type: str
                required: true
              datasetName:
                description:
                  - Name of the dataset.
                type: str
              endpoint:
                description:
                  - URL of the Hugging Face API of the DataStore.
                type: str
                required: true
              modelName:
                description:
                  - Name of the model.
                type: str
              modelPuller:
                description:
                  - Image that downloads.
                type: str
                required: true
              namespace:
                description:
                  - Namespace of the model or dataset.
                type: str
                default: default
              pullSecret:
                description:
                  - Image pull secret of the image.
                type: str
                required: true
              revision:
                description:
                  - 'Revision: a commit, branch or tag.'
                type: str
          hf:
            description:
              - A model or dataset of Hugging Face.
            type: dict
            suboptions:
              authSecret:
                description:
                  - Secret with HF_TOKEN.
                type: str
                required: true
              datasetName:
                description:
                  - Name of the dataset.
                type: str
              endpoint:
                description:
                  - URL of Hugging Face.
                type: str
                required: true
              modelName:
                description:
                  - Name of the model.
                type: str
              modelPuller:
                description:
                  - Image that downloads.
                type: str
                required: true
              namespace:
                description:
                  - Owner of the model or dataset.
                type: str
                required: true
              pullSecret:
                description:
                  - Image pull secret of the image.
                type: str
                required: true
              revision:
                description:
                  - 'Revision: a commit, branch or tag.'
                type: str
          ngc:
            description:
              - A NIM of NVIDIA's registry NGC.
            type: dict
            suboptions:
              authSecret:
                description:
                  - Secret with NGC_API_KEY; not needed for models that are public.
                type: str
              model:
                description:
                  - Which profiles to download; all given conditions must hold.
                type: dict
                suboptions:
                  buildable:
                    description:
                      - Whether profiles must be such that an engine can be built for them.
                    type: bool
                  engine:
                    description:
                      - Backend, such as tensorrt_llm or vllm.
                    type: str
                  gpus:
                    description:
                      - GPUs to download for; by default those of the nodes.
                    type: list
                    elements: dict
                    suboptions:
                      ids:
                        description:
                          - PCI device ids.
                        type: list
                        elements: str
                      product:
                        description:
                          - Part of the product name, such as h100.
                        type: str
                  lora:
                    description:
                      - Whether profiles must support LoRA adapters, or must not.
                    type: bool
                  precision:
                    description:
                      - Precision, such as fp8 or bf16.
                    type: str
                  profiles:
                    description:
                      - Ids of the profiles, or all; the other fields then have no effect.
                    type: list
                    elements: str
                  qosProfile:
                    description:
                      - The optimization goal of the profile.
                    type: str
                  tensorParallelism:
                    description:
                      - Number of GPUs that share the model.
                    type: str
              modelEndpoint:
                description:
                  - URI of a model for a NIM that serves any model.
                type: str
              modelPuller:
                description:
                  - Image that downloads the model.
                type: str
                required: true
              pullSecret:
                description:
                  - Image pull secret of the image.
                type: str
      storage:
        description:
          - Where the model is stored.
        type: dict
        required: true
        suboptions:
          hostPath:
            description:
              - Deprecated, was never supported.
            type: str
          pvc:
            description:
              - The volume claim.
            type: dict
            suboptions:
              annotations:
                description:
                  - Annotations of a created claim.
                type: dict
              create:
                description:
                  - Create the claim if there is none of that name; if false, it must exist.
                type: bool
              name:
                description:
                  - Name of the claim; a created one is called <name of this resource>-pvc by default.
                type: str
              size:
                description:
                  - Size of a created claim, such as 50Gi.
                type: str
              storageClass:
                description:
                  - Storage class of a created claim; empty means the default class of the cluster.
                type: str
              subPath:
                description:
                  - Directory inside the volume to mount instead of its root.
                type: str
              volumeAccessMode:
                description:
                  - Access mode of a created claim.
                type: str
      tolerations:
        description:
          - Taints that the pods tolerate.
          - See C(Toleration) of the Kubernetes API.
        type: list
        elements: dict
      userID:
        description:
          - User id of the pods, 1000 by default.
        type: int
"""

EXAMPLES = r"""
- name: Download the profiles of a model for the GPUs of the cluster
  nimops.nim.nim_cache:
    name: llm
    namespace: nim
    spec:
      source:
        ngc:
          modelPuller: nvcr.io/nim/meta/llama-3.1-8b-instruct:1.13
          pullSecret: ngc-secret
          authSecret: ngc-api-secret
          model:
            engine: tensorrt_llm
            tensorParallelism: "1"
      storage:
        pvc:
          create: true
          size: 50Gi
          volumeAccessMode: ReadWriteMany
    wait_timeout: 7200

- name: Remove it with its volume
  nimops.nim.nim_cache:
    name: llm
    namespace: nim
    state: absent
"""

RETURN = r"""
resource:
  description: The NIMCache as the API server returns it, without its field managers. In check mode, as it would be stored.
  returned: with O(state=present), on success
  type: dict
state:
  description: Its state, empty before the first reconcile.
  returned: with O(state=present), on success
  type: str
  sample: Ready
ready:
  description: Whether it is Ready with its current spec.
  returned: with O(state=present), on success
  type: bool
reason:
  description: The reason of a problem, which a Ready resource may have as well; otherwise empty.
  returned: with O(state=present), on success
  type: str
message:
  description: The message with the reason.
  returned: with O(state=present), on success
  type: str
endpoint:
  description: The address of its API, from outside the cluster if it is exposed; empty if there is none.
  returned: with O(state=present), on success
  type: str
  sample: 10.0.0.1:8000
models:
  description: The models that it serves or downloads.
  returned: with O(state=present), on success
  type: list
  elements: str
kind:
  description: Always V(NIMCache).
  returned: with O(state=present), on success
  type: str
namespace:
  description: Its namespace.
  returned: with O(state=present), on success
  type: str
name:
  description: Its name.
  returned: with O(state=present), on success
  type: str
msg:
  description: What has changed, or why it failed.
  returned: always
  type: str
  sample: 1 to create
"""
