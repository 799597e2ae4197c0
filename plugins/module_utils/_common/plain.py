# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Plain data out of what Ansible hands to plugins."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping


def to_plain(value: t.Any) -> t.Any:
    """The same data as plain dicts, lists and strings.

    Ansible passes lazy and tagged subclasses, which cannot be copied by type, dumped as YAML or
    compared cheaply.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (dict, Mapping)):
        return {to_plain(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return float(value)
    return value
