# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""YAML that every reader takes for the same data, and YAML of others."""

from __future__ import annotations

import re
import typing as t

try:
    import yaml

    _BASE: t.Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    _LOADER: t.Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
except ImportError:  # every file must import on a bare Python; Ansible itself needs PyYAML
    _BASE = _LOADER = object

_NUMBER_OF_YAML_1_2 = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$|0o[0-7]+$")


class _Dumper(_BASE):  # type: ignore[misc]
    """Quotes what is a number to YAML 1.2 alone, such as the text `1e3`."""


if _BASE is not object:
    _Dumper.add_implicit_resolver(
        "tag:yaml.org,2002:float", _NUMBER_OF_YAML_1_2, list("-+.0123456789")
    )


def dump_yaml(data: t.Any, *, sort_keys: bool = True) -> str:
    """The data as text, keys sorted at every level, or as they stand."""
    return str(
        yaml.dump(
            data,
            Dumper=_Dumper,
            sort_keys=sort_keys,
            default_flow_style=False,
            allow_unicode=True,
        )
    )


def load_yaml(text: str) -> list[t.Any]:
    """All documents of a stream; ValueError says where it is broken."""
    try:
        return list(yaml.load_all(text, Loader=_LOADER))
    except yaml.YAMLError as error:
        problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
        if problem and mark:
            said = f"line {mark.line + 1}, column {mark.column + 1}: {problem}"
            raise ValueError(said) from error
        raise ValueError(" ".join(str(error).split())) from error
