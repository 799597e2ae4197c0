# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Known causes of failures, found in the log or the events of a pod, with advice.

The output contains only fixed texts, because a log may contain secrets.
"""

from __future__ import annotations

MAX_LOG = 64 * 1024
"""The maximum size of the end of a log that is searched."""

_NO_RUNTIME = ("no runtime for", "unknown runtime", "runtime handler")

_CAUSES: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("nouveau",),
        "the kernel module nouveau holds the GPU: blacklist it on the node, and reboot",
    ),
    (
        (
            "required key not available",
            "key was rejected by service",
            "module signature",
            "secure boot",
        ),
        "Secure Boot refuses the module: use precompiled, signed drivers, or disable it",
    ),
    (
        (
            "could not resolve linux kernel version",
            "unable to find kernel headers",
            "failed to find kernel headers",
            "unable to locate package linux-headers",
            "no package kernel-headers",
            "no package kernel-devel",
            "unable to find a match: kernel-devel",
            "kernel source path",
        ),
        "no kernel headers for the node's kernel: use a supported kernel or precompiled drivers, or"
        " set a package mirror in driver.repoConfig",
    ),
    (
        ("driver/library version mismatch",),
        "another driver version is still loaded: stop the processes that use GPUs on the node, or"
        " reboot it",
    ),
    (
        (
            "module nvidia is in use",
            "could not unload nvidia",
            "failed to unload",
            "driver is currently in use",
            "nvidia is in use",
        ),
        "the old driver is still in use: stop the pods and host processes that use GPUs there",
    ),
    (
        (
            "no nvidia gpu",
            "no devices were found",
            "no supported gpu",
            "no nvidia devices",
            "no devices found",
            "fallen off the bus",
            "rm_init_adapter failed",
        ),
        "no GPU is found: check lspci and dmesg on the node; the GPU may be bound to vfio-pci,"
        " broken, or too old or too new for this driver",
    ),
    (
        _NO_RUNTIME,
        "the container runtime does not know the RuntimeClass: check the log of the container"
        " toolkit; its paths for the runtime's configuration may be wrong (toolkit.env)",
    ),
    (
        (
            "could not load nvml library",
            "error_library_not_found",
            "libnvidia-ml.so.1: cannot open",
            "nvml: unknown error",
        ),
        "the container has no driver libraries: the container toolkit has not configured the"
        " runtime, or the runtime was not restarted",
    ),
    (
        ("couldn't communicate with the nvidia driver", "could not communicate with the nvidia"),
        "the driver is not loaded: check dmesg on the node",
    ),
    (
        ("no space left on device",),
        "a disk of the node is full",
    ),
    (
        ("system is not supported", "unsupported distribution", "no driver container"),
        "there is no driver for this operating system: install it on the node, and set"
        " driver.enabled: false",
    ),
    (
        ("temporary failure resolving", "could not resolve host", "connection timed out"),
        "the node cannot reach a package repository: set a mirror (driver.repoConfig) or a proxy",
    ),
    (
        ("cuda_error_system_not_ready", "system not yet initialized"),
        "the NVSwitch fabric is not ready: check nvidia-fabricmanager in the log of the driver",
    ),
    (
        ("cuda driver version is insufficient", "cuda_error_no_device", "no cuda-capable device"),
        "CUDA does not work with this driver: it is too old for the validator's image, or the"
        " container gets no GPU",
    ),
    (
        ("insufficient nvidia.com/gpu", "unexpectedadmissionerror"),
        "all GPUs of the node are in use, so the test pod gets none",
    ),
    (
        ("in use by another client", "mig mode", "mig-parted"),
        "the MIG layout cannot be changed while GPUs are in use: stop the processes that use"
        " them, or check the label nvidia.com/mig.config.state",
    ),
    (
        ("failed to create fsnotify watcher", "too many open files"),
        "the node has too few inotify instances: raise fs.inotify.max_user_instances",
    ),
)

_PULLING: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("not found", "manifest unknown", "does not exist"),
        "the registry has no such image",
    ),
    (
        ("unauthorized", "denied", "forbidden", "authentication required", "401", "403"),
        "the registry refuses the pull: check imagePullSecrets",
    ),
    (
        (
            "no such host",
            "timeout",
            "timed out",
            "connection refused",
            "unreachable",
            "tls",
            "x509",
        ),
        "the node cannot reach the registry: check DNS, proxy and certificates, or use a mirror",
    ),
)


def explain_log(text: str) -> str:
    """Explain a log; empty if it has no known message."""
    return _find(text[-MAX_LOG:], _CAUSES)


def lacks_runtime(text: str) -> bool:
    """Whether an event reports an unknown RuntimeClass on the node."""
    return _has(text.lower(), _NO_RUNTIME)


def explain_pull(text: str) -> str:
    """Explain why an image cannot be pulled; empty if the cause is unknown."""
    return _find(text[-MAX_LOG:], _PULLING)


def _find(text: str, causes: tuple[tuple[tuple[str, ...], str], ...]) -> str:
    lowered = text.lower()
    return next((words for marks, words in causes if _has(lowered, marks)), "")


def _has(lowered: str, marks: tuple[str, ...]) -> bool:
    return any(mark in lowered for mark in marks)
