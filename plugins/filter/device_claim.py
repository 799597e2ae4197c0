# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The filter that converts device descriptions into the requests of a ResourceClaim."""

from __future__ import annotations

import functools
import typing as t

import yaml
from ansible.errors import AnsibleFilterError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.native_types import to_native_types
from ansible_collections.nimops.nim.plugins.module_utils._nim.dra import devices as shape

DOCUMENTATION = r"""
name: device_claim
author: The nimops.nim authors (@nimops)
short_description: Convert device descriptions into the requests of a ResourceClaim
version_added: 0.1.0
description:
  - Builds a DeviceClaim, which is C(spec.devices) of a ResourceClaim and C(spec.spec.devices) of a ResourceClaimTemplate
    of C(resource.k8s.io/v1), with one request for each device.
  - Devices are described as in C(spec.draResources[].claimCreationSpec.devices) of a NIMService, whose claims are built
    the same way. Selectors become CEL expressions.
  - Reads nothing and writes nothing. Only Kubernetes checks whether an expression compiles, when it gets the claim.
options:
  _input:
    description: The devices. A device must match all of its selectors.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the request.
        type: str
        required: true
      count:
        description: How many devices.
        type: int
        default: 1
      deviceClassName:
        description: DeviceClass of the devices.
        type: str
        default: gpu.nvidia.com
      driverName:
        description: DRA driver of the devices, and the default domain of keys.
        type: str
        default: gpu.nvidia.com
      attributeSelectors:
        description: Conditions on attributes, 20 at most.
        type: list
        elements: dict
        suboptions:
          key:
            description: The attribute, such as V(architecture) or V(gpu.nvidia.com/architecture).
            type: str
            required: true
          op:
            description: How the attribute compares with the value. Booleans and strings have no order.
            type: str
            default: Equal
            choices: [Equal, NotEqual, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual]
          value:
            description: Exactly one of these.
            type: dict
            required: true
            suboptions:
              boolValue:
                description: A boolean.
                type: bool
              intValue:
                description: A number.
                type: int
              stringValue:
                description: A string.
                type: str
              versionValue:
                description: A semantic version, such as V(9.0.0).
                type: str
      capacitySelectors:
        description: Conditions on capacities, 12 at most.
        type: list
        elements: dict
        suboptions:
          key:
            description: The capacity, such as V(memory).
            type: str
            required: true
          op:
            description: How the capacity compares with the value.
            type: str
            default: Equal
            choices: [Equal, NotEqual, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual]
          value:
            description: A quantity, such as V(80Gi).
            type: raw
            required: true
      celExpressions:
        description: Conditions in CEL, used unchanged, 32 at most. They cannot be combined with selectors.
        type: list
        elements: str
"""

EXAMPLES = r"""
- name: Create a template for claims of one large Hopper GPU, and of two more full GPUs
  kubernetes.core.k8s:
    apply: true
    definition:
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaimTemplate
      metadata: {name: big-and-small, namespace: nim}
      spec:
        spec:
          devices: "{{ devices | nimops.nim.device_claim }}"
  vars:
    devices:
      - name: big
        attributeSelectors:
          - {key: architecture, value: {stringValue: Hopper}}
          - {key: cudaComputeCapability, op: GreaterThanOrEqual, value: {versionValue: 9.0.0}}
        capacitySelectors:
          - {key: memory, op: GreaterThanOrEqual, value: 80Gi}
      - name: small
        count: 2
        celExpressions:
          - device.attributes["gpu.nvidia.com"].type == "gpu"

- name: Show the expressions of a selector
  ansible.builtin.debug:
    msg: "{{ (devices | nimops.nim.device_claim).requests[0].exactly.selectors | map(attribute='cel.expression') }}"
    # device.driver == "gpu.nvidia.com"
    # has(device.capacity["gpu.nvidia.com"].memory) && (device.capacity["gpu.nvidia.com"].memory).compareTo(quantity("40Gi")) > 0
  vars:
    devices:
      - name: gpu
        capacitySelectors:
          - {key: memory, op: GreaterThan, value: 40Gi}
"""

RETURN = r"""
_value:
  description: A DeviceClaim. Its C(requests) are in the order of the devices.
  type: dict
"""


_KEPT = ("type", "elements", "required", "default", "choices")


def device_claim(devices: list[dict[str, t.Any]]) -> dict[str, t.Any]:
    """Filter for `devices.device_claim`."""
    try:
        checked = _validator().validate({"devices": to_native_types(devices)})
    except TypeError as error:  # the validator got a number in place of a dictionary
        raise AnsibleFilterError(f"device_claim: devices are not as documented: {error}") from error
    if checked.error_messages:
        raise AnsibleFilterError(f"device_claim: {'; '.join(checked.error_messages)}")
    try:
        return shape.device_claim(checked.validated_parameters["devices"])
    except NimError as error:
        raise AnsibleFilterError(f"device_claim: {error}") from error


@functools.cache
def _validator() -> ArgumentSpecValidator:
    """A validator of the input against the documentation."""
    options = yaml.safe_load(DOCUMENTATION)["options"]
    return ArgumentSpecValidator({"devices": _argument(options["_input"])})


def _argument(option: dict[str, t.Any]) -> dict[str, t.Any]:
    argument = {key: option[key] for key in _KEPT if key in option}
    if "suboptions" in option:
        argument["options"] = {
            name: _argument(below) for name, below in option["suboptions"].items()
        }
    return argument


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file, by name."""
        return {"device_claim": device_claim}
