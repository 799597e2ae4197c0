# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Modules for the warm interpreter run warm, with any of its names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from comparison import PLAYBOOK, RUNNER, Run, has_lock
from test_equivalence import compare, run_both

from ansible_prefork import modules

MODULE = """
import os, sys
from ansible.module_utils.basic import AnsibleModule
module = AnsibleModule({"seen": {"type": "path"}})
with open(module.params["seen"], "w") as file:
    file.write(str(os.getppid()))
module.exit_json(changed=False, executable=sys.executable, prefix=sys.prefix)
"""
PLAY = """
- hosts: all
  gather_facts: false
  vars:
    ansible_python_interpreter: %s
  tasks:
    - who: {seen: "%s"}
      register: who
    - ansible.builtin.debug: {var: who}
"""
OWN = Path(sys.executable)
NAMES = sorted({path.name for path in OWN.parent.glob("python*") if path.samefile(OWN)})


def start(side, name, interpreter, program):
    project = side.prepare(f"as-{name}", "empty", program)
    seen = project.parent.parent / "seen"
    (project / "library").mkdir()
    (project / "library" / "who.py").write_text(MODULE)
    (project / "play.yml").write_text(PLAY % (interpreter, seen))
    side.warm(program)
    return side.play(program, project, Run(), 0), seen


@pytest.mark.parametrize("program", [PLAYBOOK, RUNNER])
@pytest.mark.parametrize("name", NAMES)
def test_module_interpreter_names(sides, name, program):
    path = OWN.parent / name
    stock, forks = run_both(sides, lambda side: start(side, name, path, program)[0])
    assert forks.code == 0, forks.stdout + forks.stderr
    compare(stock, forks)
    assert "<python>" in forks.stdout
    assert has_lock(int((sides[1].root / f"as-{name}" / "seen").read_text())), "no fork of a warm interpreter"


def make_environment(place, name="python3"):
    (place / "bin").mkdir(parents=True)
    (place / "pyvenv.cfg").write_text(f"home = {OWN.resolve().parent}\n")
    (place / "bin" / name).symlink_to(OWN.resolve())
    return place / "bin" / name


def test_is_own_interpreter_virtual_environment(tmp_path, monkeypatch):
    one, two = make_environment(tmp_path / "one"), make_environment(tmp_path / "two")
    (one.parent / "python").symlink_to("python3")
    linked = tmp_path / "linked"
    linked.symlink_to(tmp_path / "one")
    monkeypatch.setattr(modules.sys, "executable", str(one))
    modules.is_own_interpreter.cache_clear()
    try:
        own = [one, one.parent / "python", linked / "bin" / "python3"]
        assert [modules.is_own_interpreter(str(path)) for path in own] == [True] * 3
        others = [two, OWN.resolve(), tmp_path / "none", Path("python3"), Path("/bin/sh")]
        assert [modules.is_own_interpreter(str(path)) for path in others] == [False] * 5
    finally:
        modules.is_own_interpreter.cache_clear()


def test_parse_command_other_interpreter():
    other = f"/bin/sh -c '{OWN.parent}/other && sleep 0'"
    assert modules.parse_command(other) is None
    for name in NAMES:
        words = f"/bin/sh -c 'LC_ALL=C {OWN.parent / name} && sleep 0'"
        assert modules.parse_command(words) == (str(OWN.parent / name), {b"LC_ALL": b"C"})
