#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name. Written by `make generate`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_pipeline
author: The nimops.nim authors (@nimops)
short_description: Serve several models with a NIMPipeline, or remove it
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.custom_resource
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
  - nimops.nim._cluster.command
description:
  - A NIMPipeline creates several NIMServices that belong together.
  - Creates, changes or deletes one, and waits until an operator has made it Ready.
  - It writes the custom resource only, so it needs an operator in the cluster, such as M(nimops.nim.nim_install) installs.
    M(nimops.nim.nim_apply) needs no operator.
  - The write is a server-side apply with the same field manager as M(nimops.nim.nim_apply). Fields of O(spec) that were set by
    either module before and are missing now are removed. Fields that only other clients have set stay.
  - The result is changed if labels, annotations or the spec differ afterwards.
  - It fails with the message of the operator if the NIMPipeline has the condition C(Stalled), if it is paused before it is Ready, or on a
    timeout.
  - With O(state=absent), it deletes the NIMPipeline and waits until it is gone. If its finalizer is left by an operator that no longer
    runs, it is removed. A NIMPipeline that another resource controls is refused.
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
      - The spec of the NIMPipeline, with the names of the API. Required with O(state=present).
      - Defaults are those of the API server, which fills them in.
    type: dict
    suboptions:
      services:
        description:
          - The services, each of which becomes a NIMService of the same namespace.
        type: list
        elements: dict
        suboptions:
          dependencies:
            description:
              - Other services that this one calls.
            type: list
            elements: dict
            suboptions:
              envName:
                description:
                  - Environment variable with the other service's address, for this service.
                type: str
              envValue:
                description:
                  - Its value, such as http://llm:8000; without a name or a value, none is set.
                type: str
              name:
                description:
                  - Name of the other service; for information only.
                type: str
                required: true
              port:
                description:
                  - Port of the other service; for information only.
                type: int
                required: true
          enabled:
            description:
              - Whether to create the service; by default it is not created.
            type: bool
          name:
            description:
              - Name of the NIMService.
            type: str
          spec:
            description:
              - Spec of the NIMService.
              - It has the suboptions of O(nimops.nim.nim_service#module:spec).
            type: dict
"""

EXAMPLES = r"""
- name: Serve an embedding model and a model that answers
  nimops.nim.nim_pipeline:
    name: rag
    namespace: nim
    spec:
      services:
        - name: embedding
          enabled: true
          spec: "{{ common | combine({'image': {'repository': 'nvcr.io/nim/nvidia/nv-embedqa-e5-v5', 'tag': '1.6'}}) }}"
        - name: llm
          enabled: true
          spec: "{{ common | combine({'image': {'repository': 'nvcr.io/nim/meta/llama-3.1-8b-instruct', 'tag': '1.13'}}) }}"
          dependencies:
            - name: embedding
              port: 8000
              envName: EMBEDDING_URL
              envValue: http://embedding:8000/v1
  vars:
    common:
      authSecret: ngc-api-secret
      storage:
        pvc:
          create: true
          size: 50Gi
          volumeAccessMode: ReadWriteOnce
      resources:
        limits:
          nvidia.com/gpu: 1
      expose:
        service:
          port: 8000

- name: Remove it with its NIMServices
  nimops.nim.nim_pipeline:
    name: rag
    namespace: nim
    state: absent
"""

RETURN = r"""
resource:
  description: The NIMPipeline as the API server returns it, without its field managers. In check mode, as it would be stored.
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
  description: Always V(NIMPipeline).
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
