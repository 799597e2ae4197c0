# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The texts that an argument can have, by the ways in which the code passes it."""

from __future__ import annotations

import pytest
from site_flow import Flow

BASE = """
NAMED, OTHER = "Named", "Other"

def report(kind, reason, message=""):
    return {"kind": kind, "reason": reason}

class Problem(Exception):
    def __init__(self, message, *, reason="Failed"):
        self.reason = reason

@dataclass
class Step:
    name: str
    waiting: tuple[str, str] | None = None
    problem: Problem | None = None
"""
CASES = {
    "a constant": ('report("A", "Plain")', {"Plain"}),
    "an imported constant": ('report("A", NAMED)', {"Named"}),
    "a choice": ('report("A", "Done" if done else OTHER or "Else")', {"Done", "Other", "Else"}),
    "a variable": ('def f():\n  why = "Early"\n  why = "Late"\n  report("A", why)', {"Early", "Late"}),
    "a tuple": ('P = ("Made", "text")\nreport("A", *P)', {"Made"}),
    "an unpacked tuple": ('def f():\n  why, text = ("Made", 1) if x else ("Kept", 2)\n  report("A", why)', {"Made", "Kept"}),
    "a mapping": ('BY = {1: "One", 2: "Two"}\nreport("A", BY[x])\nreport("A", BY.get(x, "No"))', {"One", "Two", "No"}),
    "a loop": ('def f():\n  for a, b in (("x", "First"), ("y", "Second")):\n    report(a, b)', {"First", "Second"}),
    "a caller": ('def f(why="Default"):\n  report("A", why)\nf("Given")\nf(why="Named2")\nf()', {"Given", "Named2", "Default"}),
    "a returned value": ('def why():\n  return "Returned"\nreport("A", why())', {"Returned"}),
    "an f-string": ('def f(kind):\n  report("A", f"{kind}NotFound")\nf("Secret")\nf("ConfigMap")', {"SecretNotFound", "ConfigMapNotFound"}),
    "format": ('D = "{kind}Failed"\ndef f(kind):\n  report("A", D.format(kind=kind))\nf("Role")', {"RoleFailed"}),
    "an error": ('def f():\n  try: pass\n  except Problem as error:\n    report("A", error.reason)\nraise Problem("m", reason="Wrong")\nraise Problem("m")', {"Wrong", "Failed"}),
    "an error below": ('class Bad(Problem):\n  def __init__(self, m):\n    super().__init__(m, reason="Bad")\ndef f(error: Problem):\n  report("A", error.reason)\nBad("m")', {"Bad"}),
    "a field": ('def f(step: Step):\n  report("A", *step.waiting)\nStep("s", ("Waiting", "m"))\nStep("s", waiting=("Asked", "m"))', {"Waiting", "Asked"}),
    "a changed field": ('def f(step: Step):\n  report("A", step.waiting[0])\ng = replace(step, waiting=("Late", "m"))', {"Late"}),
    "a field of a field": ('def f(step: Step):\n  report("A", step.problem.reason)\nStep("s", problem=Problem("m", reason="Deep"))', {"Deep"}),
}  # fmt: skip


def read(tmp_path, text):
    folder = tmp_path / "_family"
    folder.mkdir()
    (tmp_path / "base.py").write_text(BASE)
    (folder / "a.py").write_text(
        f"from ..base import NAMED, OTHER, Problem, Step, report\n{text}\n"
    )
    return Flow(tmp_path)


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_find_texts(tmp_path, text, expected):
    flow = read(tmp_path, text)
    assert {reason for reason, _part in flow.find_texts("base.py", "report", "reason")} == expected
    assert flow.unknown == set()


def test_row_is_of_one_call(tmp_path):
    flow = read(tmp_path, 'def f(kind, why):\n  report(kind, why)\nf("A", "One")\nf("B", "Two")')
    assert flow.find_texts("base.py", "report", "kind", "reason") == {
        ("A", "One", "family"),
        ("B", "Two", "family"),
    }


@pytest.mark.parametrize("text", ["read()", "answer['reason']", "a + b", "item.reason"])
def test_unknown(tmp_path, text):
    flow = read(tmp_path, f'report("A", {text})')
    assert flow.find_texts("base.py", "report", "reason") == set()
    assert len(flow.unknown) == 1
