#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name. Written by `make generate`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_build
author: The nimops.nim authors (@nimops)
short_description: Build an engine with a NIMBuild, or remove it
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.custom_resource
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
  - nimops.nim._cluster.command
description:
  - A NIMBuild builds an engine for the GPUs of the cluster from a downloaded profile.
  - Creates, changes or deletes one, and waits until an operator has made it Ready.
  - It writes the custom resource only, so it needs an operator in the cluster, such as M(nimops.nim.nim_install) installs.
    M(nimops.nim.nim_apply) needs no operator.
  - The write is a server-side apply with the same field manager as M(nimops.nim.nim_apply). Fields of O(spec) that were set by
    either module before and are missing now are removed. Fields that only other clients have set stay.
  - The result is changed if labels, annotations or the spec differ afterwards.
  - It fails with the message of the operator if the NIMBuild has the condition C(Stalled), if it is paused before it is Ready, or on a
    timeout.
  - With O(state=absent), it deletes the NIMBuild and waits until it is gone. If its finalizer is left by an operator that no longer
    runs, it is removed. A NIMBuild that another resource controls is refused.
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
      - The spec of the NIMBuild, with the names of the API. Required with O(state=present).
      - Defaults are those of the API server, which fills them in.
    type: dict
    suboptions:
      annotations:
        description:
          - Annotations of the build pod; they take precedence over those of this resource.
        type: dict
      env:
        description:
          - Environment of the build; takes precedence over what the operator sets.
          - See C(EnvVar) of the Kubernetes API.
        type: list
        elements: dict
      image:
        description:
          - Image of the NIM that builds.
        type: dict
        required: true
        suboptions:
          pullPolicy:
            description:
              - Ignored.
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
      labels:
        description:
          - Labels of the build pod; they take precedence over those of this resource.
        type: dict
      modelName:
        description:
          - Name of the model that the engine serves; by default that of this resource.
        type: str
      nimCache:
        description:
          - The NIMCache of the same namespace that has the profile, and that gets the engine.
        type: dict
        required: true
        suboptions:
          name:
            description:
              - Name of the NIMCache.
            type: str
            required: true
          profile:
            description:
              - Id of the profile to build; by default the only one that can be built.
            type: str
      nodeSelector:
        description:
          - Labels of the nodes that the pods may run on; by default any.
        type: dict
      resources:
        description:
          - Resources of the build; GPUs only if the profile does not define their number.
        type: dict
        suboptions:
          limits:
            description:
              - Maximum that the build may use.
            type: dict
          requests:
            description:
              - Minimum that the build needs.
            type: dict
      tolerations:
        description:
          - Taints that the pods tolerate.
          - See C(Toleration) of the Kubernetes API.
        type: list
        elements: dict
"""

EXAMPLES = r"""
- name: Build an engine from the only profile of a NIMCache that needs one
  nimops.nim.nim_build:
    name: engine
    namespace: nim
    spec:
      nimCache:
        name: llm
      image:
        repository: nvcr.io/nim/meta/llama-3.1-8b-instruct
        tag: "1.13"
        pullSecrets: [ngc-secret]
      resources:
        limits:
          nvidia.com/gpu: 1
    wait_timeout: 7200

- name: Remove it, but not the engine
  nimops.nim.nim_build:
    name: engine
    namespace: nim
    state: absent
"""

RETURN = r"""
resource:
  description: The NIMBuild as the API server returns it, without its field managers. In check mode, as it would be stored.
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
  description: Always V(NIMBuild).
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
