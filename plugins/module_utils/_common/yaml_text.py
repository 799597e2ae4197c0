# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""YAML for ConfigMaps, that every reader takes for the same data."""

from __future__ import annotations

import re
import typing as t

try:
    import yaml

    _BASE: t.Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
except ImportError:  # every file must import on a bare Python; Ansible itself needs PyYAML
    _BASE = object

_NUMBER_OF_YAML_1_2 = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$|0o[0-7]+$")


class _Dumper(_BASE):  # type: ignore[misc]
    """Quotes what is a number to YAML 1.2 alone, such as the text `1e3`."""


if _BASE is not object:
    _Dumper.add_implicit_resolver(
        "tag:yaml.org,2002:float", _NUMBER_OF_YAML_1_2, list("-+.0123456789")
    )


def dump_yaml(data: t.Any) -> str:
    """The data as text, keys sorted at every level."""
    return str(yaml.dump(data, Dumper=_Dumper, default_flow_style=False, allow_unicode=True))
