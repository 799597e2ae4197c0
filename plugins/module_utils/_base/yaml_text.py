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

_TYPED_ELSEWHERE = re.compile(
    r"[-+]?(\.[0-9_]+|[0-9_]+(\.[0-9_]*)?)([eE][-+]?[0-9_]+)?$"
    r"|[-+]?_*0_*[bBoOxX][0-9a-fA-F_]+$|[yYnN]$"
)
_BREAKS_FOR_SOME = ("\x85", "\u2028", "\u2029")


class _Dumper(_BASE):  # type: ignore[misc]
    """Writes no anchors, and quotes strings that only some readers parse as something else.

    Examples are `1e3`, a number of YAML 1.2, and `y`, true in YAML 1.1.
    """

    def ignore_aliases(self, _data: t.Any) -> bool:
        """Equal parts are written out, as Kubernetes' own tools do."""
        return True


class _LineDumper(_Dumper):
    """The same, for people: a text of several lines has a line for each, where YAML allows it."""


def _write_text(dumper: t.Any, text: str) -> t.Any:
    is_clear = not text[:1].isspace() and not any(item in text for item in _BREAKS_FOR_SOME)
    style = "|" if is_clear and "\n" in text.rstrip("\n") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


if _BASE is not object:
    _LineDumper.add_representer(str, _write_text)
    _Dumper.add_implicit_resolver(
        "tag:yaml.org,2002:float", _TYPED_ELSEWHERE, list("-+.0123456789yYnN")
    )


def dump_yaml(data: t.Any, *, sort_keys: bool = True, by_line: bool = False) -> str:
    """The data as YAML, keys sorted at every level or in their given order.

    ``by_line``: people can compare texts of several lines, such as files of a ConfigMap.
    """
    return str(
        yaml.dump(
            data,
            Dumper=_LineDumper if by_line else _Dumper,
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
