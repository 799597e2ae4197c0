# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Images of the GPU stack: defaults, and overrides by the spec or the operator's environment."""

from __future__ import annotations

from .._engine.observed import OPERATOR, Observed
from .fields import SpecError
from .operand_spec import OperandSpec

_DRIVER_MANAGER = "nvcr.io/nvidia/cloud-native/k8s-driver-manager:v0.12.0"
_DEVICE_PLUGIN = "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"

IMAGES: dict[str, str] = {
    "CONTAINER_TOOLKIT_IMAGE": "nvcr.io/nvidia/k8s/container-toolkit:v1.20.0",
    "DCGM_EXPORTER_IMAGE": "nvcr.io/nvidia/k8s/dcgm-exporter:4.6.0-4.8.3-distroless",
    "DCGM_IMAGE": "nvcr.io/nvidia/cloud-native/dcgm:4.6.0-1-ubuntu24.04",
    "DEVICE_PLUGIN_IMAGE": _DEVICE_PLUGIN,
    "DRIVER_IMAGE": "nvcr.io/nvidia/driver:595.91.07",
    "DRIVER_MANAGER_IMAGE": _DRIVER_MANAGER,
    "GDRCOPY_IMAGE": "nvcr.io/nvidia/cloud-native/gdrdrv:v2.6",
    "GDS_IMAGE": "nvcr.io/nvidia/cloud-native/nvidia-fs:2.29.4",
    "GFD_IMAGE": _DEVICE_PLUGIN,
    "MIG_MANAGER_IMAGE": "nvcr.io/nvidia/cloud-native/k8s-mig-manager:v0.15.0",
    "VALIDATOR_IMAGE": "nvcr.io/nvidia/gpu-operator:v26.7.0",
}
"""Default image by the variable of the operator that overrides it. The operating system is appended
to the images of the driver and of its side containers."""

_DIGEST = "sha256:"
_SETTING = "images"


def resolve_image(operand: OperandSpec, variable: str, observed: Observed) -> str:
    """Return the image reference of an operand; NimError if the spec sets only a part of it."""
    given = (operand.repository, operand.image, operand.version)
    if any(given):
        return given_image(operand)
    replaced = (observed.get(OPERATOR) or {}).get(_SETTING) or {}
    return str(replaced.get(variable) or IMAGES[variable])


def given_image(operand: OperandSpec) -> str:
    """Return the image reference in a spec; NimError if it is incomplete."""
    repository, image, version = operand.repository, operand.image, operand.version
    if image and not repository and not version:
        return image
    if not (repository and image and version):
        raise SpecError(
            "invalid image specification: repository, image and version must all be set"
            f" (repository={repository}, image={image}, version={version})"
        )
    sign = "@" if version.startswith(_DIGEST) else ":"
    return f"{repository}/{image}{sign}{version}"


def tagged_image(operand: OperandSpec) -> str:
    """Return the image reference in a spec; NimError if it is incomplete, or has no version."""
    image = given_image(operand)
    if ":" not in image.rpartition("/")[2]:
        raise SpecError(
            f"version: the image {image} has neither a tag nor a digest: set repository, image and"
            " version, or an image with a tag"
        )
    return image


def with_os(image: str, os_tag: str) -> str:
    """Append the operating system to an image, unless it has a digest."""
    return image if _DIGEST in image else f"{image}-{os_tag}"


def precompiled_image(
    operand: OperandSpec, kernel: str, os_tag: str, *, field: str = "driver"
) -> str:
    """Return the image with modules for a kernel; NimError if the spec sets none.

    ``field``: the block of the spec.
    """
    if not any((operand.repository, operand.image, operand.version)):
        raise SpecError(
            "unable to resolve driver image path for pre-compiled drivers, driver.repository,"
            " driver.image and driver.version have to be specified in the ClusterPolicy"
            if field == "driver"
            else f"{field}.usePrecompiled: no image has modules for all kernels: set"
            f" {field}.repository, {field}.image and {field}.version"
        )
    image = given_image(operand)
    if _DIGEST in image:
        raise SpecError(
            f"{field}.version: {operand.version or image} is a digest, which identifies the image"
            " of one kernel: set a version for precompiled drivers"
        )
    return f"{image}-{kernel}-{os_tag}"
