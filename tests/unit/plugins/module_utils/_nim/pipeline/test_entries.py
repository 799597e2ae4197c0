# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline.app import NIMPipelineApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.pipeline.entries import (
    enabled_entries,
    find_problems,
    served_entries,
)

LONG = "a" * 254
SYNTAX = "cannot be the name of a NIMService: use lower-case letters, digits and dashes"


def twice(first, last):
    return (
        "NameDuplicate",
        f'spec.services[{first}].name: "a" is also in spec.services[{last}], and the last one'
        " counts: rename or remove one of them",
    )


@pytest.mark.parametrize(
    ("entries", "served", "problems"),
    [
        pytest.param([], [], [], id="none"),
        pytest.param(["b", "a.b-c"], ["b", "a.b-c"], [], id="in order"),
        pytest.param([{"name": "a"}], [], [], id="disabled by default"),
        pytest.param([{"name": "a", "enabled": False}], [], [], id="disabled"),
        pytest.param([{}, {"name": ""}], [], [], id="disabled, without a name"),
        pytest.param(
            [{"enabled": True}, "b"],
            ["b"],
            [
                (
                    "NameMissing",
                    "spec.services[0].name: missing; set the name of the NIMService",
                )
            ],
            id="without a name",
        ),
        pytest.param(
            [{"name": "", "enabled": True}, {"enabled": True}],
            [],
            [
                (
                    "NameMissing",
                    f"spec.services[{index}].name: missing; set the name of the NIMService",
                )
                for index in (0, 1)
            ],
            id="without a name, twice",
        ),
        *(
            pytest.param(
                [name, "b"],
                ["b"],
                [("NameInvalid", f'spec.services[0].name: "{name}" {SYNTAX}')],
                id=f"bad name {name[:12]!r}",
            )
            for name in ("A", "a/b", "../x", "a_b", "-a", "a.", "a\n", " ", LONG)
        ),
        pytest.param([{"name": "A/B"}], [], [], id="disabled, with a bad name"),
        pytest.param(["a", "b", "a"], ["a", "b"], [twice(0, 2)], id="twice"),
        pytest.param(["a", {"name": "a"}], [], [twice(0, 1)], id="twice, the last is disabled"),
        pytest.param([{"name": "a"}, "a"], ["a"], [twice(0, 1)], id="twice, the first is disabled"),
        pytest.param(["a", "a", "a"], ["a"], [twice(0, 2), twice(1, 2)], id="three times"),
    ],
)
def test_served_entries_and_problems(make, entries, served, problems):
    cr = make.pipeline(*entries)
    assert list(served_entries(NIMPipelineApp(cr))) == served
    assert [
        (problem.reason, problem.message) for problem in find_problems(NIMPipelineApp(cr))
    ] == problems


def test_served_entries_duplicate_name(make):
    cr = make.pipeline(make.entry("a", spec={"first": 1}), make.entry("a", spec={"last": 1}))
    assert served_entries(NIMPipelineApp(cr))["a"].service_spec == {"last": 1}


def test_enabled_entries_invalid_name(make):
    assert list(enabled_entries(NIMPipelineApp(make.pipeline("a", "A", {"enabled": True})))) == [
        "a",
        "A",
    ]
