#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin with the same name. Written by `make generate`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nim_service
author: The nimops.nim authors (@nimops)
short_description: Serve a model with a NIMService, or remove it
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.custom_resource
  - nimops.nim._cluster.kubeconfig
  - nimops.nim._cluster.attributes
  - nimops.nim._cluster.action_group
  - nimops.nim._cluster.command
description:
  - A NIMService serves a model.
  - Creates, changes or deletes one, and waits until an operator has made it Ready.
  - It writes the custom resource only, so it needs an operator in the cluster, such as M(nimops.nim.nim_install) installs.
    M(nimops.nim.nim_apply) needs no operator.
  - The write is a server-side apply with the same field manager as M(nimops.nim.nim_apply). Fields of O(spec) that were set by
    either module before and are missing now are removed. Fields that only other clients have set stay.
  - The result is changed if labels, annotations or the spec differ afterwards.
  - It fails with the message of the operator if the NIMService has the condition C(Stalled), if it is paused before it is Ready, or on a
    timeout.
  - With O(state=absent), it deletes the NIMService and waits until it is gone. If its finalizer is left by an operator that no longer
    runs, it is removed. A NIMService that another resource controls is refused.
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
      - The spec of the NIMService, with the names of the API. Required with O(state=present).
      - Defaults are those of the API server, which fills them in.
    type: dict
    suboptions:
      affinity:
        description:
          - Affinity of the pods.
          - See C(Affinity) of the Kubernetes API.
        type: dict
      annotations:
        description:
          - Annotations added to all objects of the service and to its pods.
        type: dict
      args:
        description:
          - Arguments of the entry point.
        type: list
        elements: str
      authSecret:
        description:
          - Secret with NGC_API_KEY, and HF_TOKEN for Hugging Face models; not needed if the model is already in the store.
        type: str
      command:
        description:
          - Replaces the entry point of the image.
        type: list
        elements: str
      draResources:
        description:
          - Devices by dynamic resource allocation; fixed at creation.
        type: list
        elements: dict
        suboptions:
          claimCreationSpec:
            description:
              - A ResourceClaimTemplate to create.
            type: dict
            suboptions:
              devices:
                description:
                  - Devices to request.
                type: list
                elements: dict
                required: true
                suboptions:
                  attributeSelectors:
                    description:
                      - Conditions on attributes of a device.
                    type: list
                    elements: dict
                    suboptions:
                      key:
                        description:
                          - Name of the attribute, with or without its domain.
                        type: str
                        required: true
                      op:
                        description:
                          - How the device's value must compare with the given one.
                        type: str
                        default: Equal
                        choices:
                          - Equal
                          - NotEqual
                          - GreaterThan
                          - GreaterThanOrEqual
                          - LessThan
                          - LessThanOrEqual
                      value:
                        description:
                          - The value; exactly one of its fields.
                        type: dict
                        required: true
                        suboptions:
                          boolValue:
                            description:
                              - A boolean.
                            type: bool
                          intValue:
                            description:
                              - A number.
                            type: int
                          stringValue:
                            description:
                              - A string.
                            type: str
                          versionValue:
                            description:
                              - A semantic version.
                            type: str
                  capacitySelectors:
                    description:
                      - Conditions on capacities of a device.
                    type: list
                    elements: dict
                    suboptions:
                      key:
                        description:
                          - Name of the capacity, with or without its domain.
                        type: str
                        required: true
                      op:
                        description:
                          - How the device's value must compare with the given one.
                        type: str
                        default: Equal
                        choices:
                          - Equal
                          - NotEqual
                          - GreaterThan
                          - GreaterThanOrEqual
                          - LessThan
                          - LessThanOrEqual
                      value:
                        description:
                          - The quantity.
                        type: raw
                        required: true
                  celExpressions:
                    description:
                      - Conditions in CEL instead of selectors.
                    type: list
                    elements: str
                  count:
                    description:
                      - Number of devices.
                    type: int
                    default: 1
                  deviceClassName:
                    description:
                      - Class of the devices.
                    type: str
                    default: gpu.nvidia.com
                  driverName:
                    description:
                      - Driver of the devices.
                    type: str
                    default: gpu.nvidia.com
                  name:
                    description:
                      - Name of the request.
                    type: str
                    required: true
              generateName:
                description:
                  - Start of the name of the template.
                type: str
          requests:
            description:
              - Requests of the claim that the containers use; by default all.
            type: list
            elements: str
          resourceClaimName:
            description:
              - An existing ResourceClaim; all pods share it.
            type: str
          resourceClaimTemplateName:
            description:
              - An existing ResourceClaimTemplate; each pod gets its own claim.
            type: str
      env:
        description:
          - Environment of the NIM; takes precedence over what the operator adds, except for the proxy.
          - See C(EnvVar) of the Kubernetes API.
        type: list
        elements: dict
      expose:
        description:
          - How the service is reached.
        type: dict
        suboptions:
          ingress:
            description:
              - 'Deprecated, use router: an Ingress given as a whole.'
            type: dict
            suboptions:
              annotations:
                description:
                  - Annotations of the Ingress.
                type: dict
              enabled:
                description:
                  - Create the Ingress.
                type: bool
              spec:
                description:
                  - The Ingress.
                  - See C(IngressSpec) of the Kubernetes API.
                type: dict
          router:
            description:
              - External access to the service, through an Ingress or a Gateway.
            type: dict
            suboptions:
              annotations:
                description:
                  - Annotations added to the Ingress or the routes.
                type: dict
              eppConfig:
                description:
                  - Put an endpoint picker and an InferencePool in front of the replicas.
                type: dict
                suboptions:
                  config:
                    description:
                      - The configuration itself.
                    type: dict
                    suboptions:
                      apiVersion:
                        description:
                          - API version of the configuration.
                        type: str
                      data:
                        description:
                          - The data layer.
                        type: dict
                        suboptions:
                          sources:
                            description:
                              - Where data comes from.
                            type: list
                            elements: dict
                            required: true
                            suboptions:
                              extractors:
                                description:
                                  - The values that are taken from the source.
                                type: list
                                elements: dict
                                required: true
                                suboptions:
                                  pluginRef:
                                    description:
                                      - Name of an extractor plugin.
                                    type: str
                                    required: true
                              pluginRef:
                                description:
                                  - Name of a source plugin.
                                type: str
                                required: true
                      featureGates:
                        description:
                          - Features to enable.
                        type: list
                        elements: str
                      kind:
                        description:
                          - Kind of the configuration.
                        type: str
                      plugins:
                        description:
                          - The plugins that the picker loads.
                        type: list
                        elements: dict
                        required: true
                        suboptions:
                          name:
                            description:
                              - Name by which other parts refer to the plugin; by default its type.
                            type: str
                          parameters:
                            description:
                              - Parameters of the plugin.
                            type: raw
                          type:
                            description:
                              - Type of the plugin.
                            type: str
                            required: true
                      saturationDetector:
                        description:
                          - When an endpoint counts as saturated.
                        type: dict
                        suboptions:
                          kvCacheUtilThreshold:
                            description:
                              - Used share of the KV cache.
                            type: float
                          metricsStalenessThreshold:
                            description:
                              - Age from which metrics are not trusted.
                            type: str
                          queueDepthThreshold:
                            description:
                              - Length of the waiting queue.
                            type: int
                      schedulingProfiles:
                        description:
                          - Which plugins score and pick endpoints.
                        type: list
                        elements: dict
                        required: true
                        suboptions:
                          name:
                            description:
                              - Name of the profile.
                            type: str
                            required: true
                          plugins:
                            description:
                              - Plugins of the profile.
                            type: list
                            elements: dict
                            required: true
                            suboptions:
                              pluginRef:
                                description:
                                  - Name of a plugin.
                                type: str
                                required: true
                              weight:
                                description:
                                  - Weight of a scorer.
                                type: int
                  configMapRef:
                    description:
                      - ConfigMap and key with the configuration.
                      - See C(ConfigMapKeySelector) of the Kubernetes API.
                    type: dict
                  containerSpec:
                    description:
                      - Container of the endpoint picker.
                    type: dict
                    required: true
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
                  livenessProbe:
                    description:
                      - Replaces the default liveness probe.
                      - See C(Probe) of the Kubernetes API.
                    type: dict
                  ports:
                    description:
                      - Ports of the container and the Service; by default 9002, 9003 and 9090.
                      - See C(ContainerPort) of the Kubernetes API.
                    type: list
                    elements: dict
                  readinessProbe:
                    description:
                      - Replaces the default readiness probe.
                      - See C(Probe) of the Kubernetes API.
                    type: dict
                  startupProbe:
                    description:
                      - Startup probe; none by default.
                      - See C(Probe) of the Kubernetes API.
                    type: dict
              gateway:
                description:
                  - Attach routes to a Gateway.
                type: dict
                suboptions:
                  backendRef:
                    description:
                      - Backend of the HTTPRoute instead of the Service, such as an InferencePool.
                    type: dict
                    suboptions:
                      group:
                        description:
                          - API group of the backend; empty is the core group.
                        type: str
                        default: ''
                      kind:
                        description:
                          - Kind of the backend.
                        type: str
                        default: Service
                      name:
                        description:
                          - Name of the backend.
                        type: str
                        required: true
                      namespace:
                        description:
                          - Namespace of the backend; by default the one of the route.
                        type: str
                      port:
                        description:
                          - Port of the backend; a Service needs it.
                        type: int
                      weight:
                        description:
                          - Share of the requests sent to this backend.
                        type: int
                        default: 1
                  grpcRoutesEnabled:
                    description:
                      - Create a GRPCRoute; needs a gRPC port.
                    type: bool
                    default: false
                  httpRoutesEnabled:
                    description:
                      - Create an HTTPRoute.
                    type: bool
                    default: true
                  name:
                    description:
                      - Name of the Gateway.
                    type: str
                    required: true
                  namespace:
                    description:
                      - Namespace of the Gateway.
                    type: str
                    required: true
              hostDomainName:
                description:
                  - Domain of the host name, which is <name>.<namespace>.<this domain>.
                type: str
              ingress:
                description:
                  - Create an Ingress.
                type: dict
                suboptions:
                  ingressClass:
                    description:
                      - Class of the ingress controller.
                    type: str
                    required: true
                  tlsSecretName:
                    description:
                      - Secret with the certificate of the host.
                    type: str
          service:
            description:
              - The Kubernetes Service.
            type: dict
            suboptions:
              annotations:
                description:
                  - Annotations added to the Service.
                type: dict
              grpcPort:
                description:
                  - Port of the gRPC API.
                type: int
              labels:
                description:
                  - Labels added to the Service.
                type: dict
              metricsPort:
                description:
                  - Port of a separate metrics endpoint.
                type: int
              name:
                description:
                  - Name of the Service.
                type: str
              port:
                description:
                  - Port of the HTTP API.
                type: int
                default: 8000
              type:
                description:
                  - Type of the Service; empty means ClusterIP.
                type: str
      groupID:
        description:
          - Group id of the pods and of their volumes, 2000 by default.
        type: int
      image:
        description:
          - Image of the NIM.
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
      inferencePlatform:
        description:
          - The platform of the pods, plain Kubernetes or KServe.
        type: str
        default: standalone
        choices:
          - standalone
          - kserve
      initContainers:
        description:
          - Containers that run before the NIM.
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
      labels:
        description:
          - Labels added to all objects of the service.
        type: dict
      livenessProbe:
        description:
          - Liveness probe of the NIM.
        type: dict
        suboptions:
          enabled:
            description:
              - False disables the probe; true and unset mean the same.
            type: bool
          probe:
            description:
              - Replaces the whole default probe.
              - See C(Probe) of the Kubernetes API.
            type: dict
      metrics:
        description:
          - Scraping by Prometheus.
        type: dict
        suboptions:
          enabled:
            description:
              - Create a ServiceMonitor.
            type: bool
          serviceMonitor:
            description:
              - The ServiceMonitor.
            type: dict
            suboptions:
              additionalLabels:
                description:
                  - Labels of the ServiceMonitor, for example those that a Prometheus selects by.
                type: dict
              annotations:
                description:
                  - Annotations of the ServiceMonitor.
                type: dict
              interval:
                description:
                  - Time between two scrapes.
                type: str
              scrapeTimeout:
                description:
                  - Time after which a scrape has failed.
                type: str
      multiNode:
        description:
          - Run each replica on several nodes.
        type: dict
        suboptions:
          backendType:
            description:
              - The kind that groups the pods, a LeaderWorkerSet.
            type: str
            default: lws
            choices:
              - lws
          computeDomain:
            description:
              - A ComputeDomain for NVLink across nodes.
            type: dict
            suboptions:
              create:
                description:
                  - Create one.
                type: bool
              name:
                description:
                  - Use this one.
                type: str
          mpi:
            description:
              - Connect the nodes by MPI (default).
            type: dict
            suboptions:
              mpiStartTimeout:
                description:
                  - Seconds that the leader waits for its workers.
                type: int
                default: 300
          parallelism:
            description:
              - How the model is split.
            type: dict
            required: true
            suboptions:
              pipeline:
                description:
                  - Nodes of a replica.
                type: int
              tensor:
                description:
                  - GPUs of a node.
                type: int
          ray:
            description:
              - Connect the nodes by Ray.
            type: dict
            suboptions:
              rayPort:
                description:
                  - Port of Ray on the leader.
                type: int
                default: 6379
      nodeSelector:
        description:
          - Labels of the nodes that the pods may run on.
        type: dict
      podAffinity:
        description:
          - Deprecated and ignored, use affinity.
          - See C(PodAffinity) of the Kubernetes API.
        type: dict
      priorityClassName:
        description:
          - Priority class of the pods.
        type: str
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
      readinessProbe:
        description:
          - Readiness probe of the NIM.
        type: dict
        suboptions:
          enabled:
            description:
              - False disables the probe; true and unset mean the same.
            type: bool
          probe:
            description:
              - Replaces the whole default probe.
              - See C(Probe) of the Kubernetes API.
            type: dict
      replicas:
        description:
          - Number of replicas; not together with autoscaling.
        type: int
      resources:
        description:
          - Resources of the main container.
          - See C(ResourceRequirements) of the Kubernetes API.
        type: dict
      runtimeClassName:
        description:
          - Runtime class of the pods.
        type: str
      scale:
        description:
          - Scaling by a HorizontalPodAutoscaler.
        type: dict
        suboptions:
          annotations:
            description:
              - Annotations of the HorizontalPodAutoscaler.
            type: dict
          enabled:
            description:
              - Create a HorizontalPodAutoscaler.
            type: bool
          hpa:
            description:
              - The HorizontalPodAutoscaler.
            type: dict
            suboptions:
              behavior:
                description:
                  - How fast it scales up and down.
                  - See C(HorizontalPodAutoscalerBehavior) of the Kubernetes API.
                type: dict
              maxReplicas:
                description:
                  - Maximum number of replicas.
                type: int
                required: true
              metrics:
                description:
                  - Metrics that determine the number of replicas.
                  - See C(MetricSpec) of the Kubernetes API.
                type: list
                elements: dict
              minReplicas:
                description:
                  - Minimum number of replicas; 0 needs a metric of type External or Object and Kubernetes' HPAScaleToZero.
                type: int
                default: 1
      schedulerName:
        description:
          - Scheduler of the pods.
        type: str
      sidecarContainers:
        description:
          - Containers that run beside the NIM.
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
      startupProbe:
        description:
          - Startup probe of the NIM.
        type: dict
        suboptions:
          enabled:
            description:
              - False disables the probe; true and unset mean the same.
            type: bool
          probe:
            description:
              - Replaces the whole default probe.
              - See C(Probe) of the Kubernetes API.
            type: dict
      storage:
        description:
          - Where the model is stored; exactly one kind of storage.
        type: dict
        suboptions:
          emptyDir:
            description:
              - Use an emptyDir; each pod downloads the model again.
            type: dict
            suboptions:
              sizeLimit:
                description:
                  - Limit of its size.
                type: raw
          hostPath:
            description:
              - Use this directory of the node, which is created if necessary.
            type: str
          nimCache:
            description:
              - Use the model that a NIMCache has downloaded.
            type: dict
            suboptions:
              name:
                description:
                  - Name of a NIMCache in the same namespace.
                type: str
              profile:
                description:
                  - Id of the profile to serve; by default the NIM chooses.
                type: str
          pvc:
            description:
              - Use a volume claim.
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
          readOnly:
            description:
              - Mount the volume claim read-only.
            type: bool
          sharedMemorySizeLimit:
            description:
              - Size of /dev/shm.
            type: raw
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
- name: Serve a model
  nimops.nim.nim_service:
    name: llm
    namespace: nim
    labels:
      team: search
    spec:
      image:
        repository: nvcr.io/nim/meta/llama-3.1-8b-instruct
        tag: "1.13"
        pullSecrets: [ngc-secret]
      authSecret: ngc-api-secret
      storage:
        nimCache:
          name: llm
      resources:
        limits:
          nvidia.com/gpu: 1
      expose:
        service:
          port: 8000
    wait_timeout: 3600
  register: served

- name: Show where
  ansible.builtin.debug:
    msg: "{{ served.models | join(', ') }} at {{ served.endpoint }}"

- name: Show what more replicas would change
  nimops.nim.nim_service:
    name: llm
    namespace: nim
    spec: "{{ served.resource.spec | combine({'replicas': 2}) }}"
  check_mode: true
  diff: true

- name: Remove it
  nimops.nim.nim_service:
    name: llm
    namespace: nim
    state: absent
"""

RETURN = r"""
resource:
  description: The NIMService as the API server returns it, without its field managers. In check mode, as it would be stored.
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
  description: Always V(NIMService).
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
