# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Writes YAML that every reader parses to the same data, and loads external YAML."""

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
    """Quotes strings that only YAML 1.2 parses as numbers, such as `1e3`; writes no anchors."""

    def ignore_aliases(self, _data: t.Any) -> bool:
        """Equal parts are written out, as Kubernetes' own tools do."""
        return True


if _BASE is not object:
    _Dumper.add_implicit_resolver(
        "tag:yaml.org,2002:float", _NUMBER_OF_YAML_1_2, list("-+.0123456789")
    )


def dump_yaml(data: t.Any, *, sort_keys: bool = True) -> str:
    """The data as YAML, keys sorted at every level or in their given order."""
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
    """All documents of a stream; ValueError says where it is invalid."""
    try:
        return list(yaml.load_all(text, Loader=_LOADER))
    except yaml.YAMLError as error:
        problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
        if problem and mark:
            said = f"line {mark.line + 1}, column {mark.column + 1}: {problem}"
            raise ValueError(said) from error
        raise ValueError(" ".join(str(error).split())) from error
