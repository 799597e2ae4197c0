# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Avoid repeated or unnecessary work of kubernetes.core's modules.

For each object that it applies, a module reads the versions of four libraries, two of which are rarely installed. It
parses the kubeconfig with the YAML parser written in Python. A server-side apply starts with a GET whose result only a
client-side apply uses.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from typing import Any

UTILS = "ansible_collections.kubernetes.core.plugins.module_utils"
# Digests of each `k8s_apply` that is known to ignore the result of the GET: kubernetes.core 5.4 to 6.6.
KNOWN_APPLY = frozenset(("47c2eafe61b7c8f9",))


def install() -> None:
    """Patch the already imported modules of the package and of the collection."""
    _gather_versions_once(sys.modules.get(f"{UTILS}.k8s.core"))
    _parse_kubeconfig_faster(sys.modules.get("kubernetes.config.kube_config"))
    _apply_without_reading(sys.modules.get(f"{UTILS}.apply"))


def _replace(name: str, stock: Any, wanted: Any) -> None:
    """Replace a function wherever kubernetes.core imported it by name."""
    for module in [item for key, item in sys.modules.items() if key.startswith(f"{UTILS}.")]:
        if vars(module).get(name) is stock:
            setattr(module, name, wanted)


def _gather_versions_once(module: Any) -> None:
    """Read the versions once; a warm interpreter is replaced when an installed version changes."""
    stock = getattr(module, "gather_versions", None)
    if stock is not None:
        versions = stock()
        _replace("gather_versions", stock, lambda: dict(versions))


class _FasterYaml:
    """The module yaml with a safe_load that uses libyaml, with the same results and errors."""

    def __init__(self, stock: Any) -> None:
        self._stock = stock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stock, name)

    def safe_load(self, stream: Any) -> Any:
        return self._stock.load(stream, Loader=self._stock.CSafeLoader)


def _parse_kubeconfig_faster(reader: Any) -> None:
    stock = getattr(reader, "yaml", None)
    if hasattr(stock, "CSafeLoader"):
        reader.yaml = _FasterYaml(stock)


def _apply_without_reading(module: Any) -> None:
    stock, read = getattr(module, "k8s_apply", None), getattr(module, "apply_object", None)
    if stock is None or read is None or _digest(stock) not in KNOWN_APPLY:
        return

    def apply(resource: Any, definition: Any, **options: Any) -> Any:
        module.apply_object = _read_nothing if options.get("server_side") else read
        return stock(resource, definition, **options)

    _replace("k8s_apply", stock, apply)


def _digest(function: Any) -> str:
    try:
        return hashlib.sha256(inspect.getsource(function).strip().encode()).hexdigest()[:16]
    except OSError:
        return ""


def _read_nothing(_resource: Any, _definition: Any) -> tuple[None, None]:
    """Replaces `apply_object`: reports no existing object, as its result is not used."""
    return None, None
