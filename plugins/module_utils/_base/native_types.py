# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Converts the data that Ansible passes to plugins to plain types."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping


def to_native_types(value: t.Any) -> t.Any:
    """The same data as plain dicts, lists and strings.

    Ansible passes lazy and tagged subclasses, which cannot be copied by type, dumped as YAML or
    compared cheaply.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (dict, Mapping)):
        return {to_native_types(key): to_native_types(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_native_types(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return float(value)
    return value
