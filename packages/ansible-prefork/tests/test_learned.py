# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Without any setting, collections in use become warm, and modules are pipelined where they are warm."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
import types

import pytest
from comparison import PLAYBOOK, RUNNER, Run, has_lock, make_sides, wait_for
from test_equivalence import compare, run_both

from ansible_prefork import learned

FILES = {
    "plugins/module_utils/shared.py": "import os\nPID = os.getpid()\n",
    "plugins/modules/who.py": """
import os
from ansible.module_utils.basic import AnsibleModule
from ansible_collections.own.kept.plugins.module_utils import shared
module = AnsibleModule({"seen": {"type": "path", "required": True}})
with open(module.params["seen"], "w") as file:
    file.write(f"{os.getppid()} {shared.PID} {os.getpid()}")
module.exit_json(changed=False, tmpdir=os.path.isdir(module.tmpdir))
""",
    "plugins/filter/process.py": """
import os

class FilterModule:
    def filters(self):
        return {"process": lambda text: f"{text} {os.getpid()}"}
""",
    "plugins/filter/twice.py": "class FilterModule:\n    def filters(self):\n        return {'twice': lambda text: text * 2}\n",
}
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - own.kept.who: {seen: "%s"}
    - ansible.builtin.copy: {content: "{{ 'x' | own.kept.twice }}", dest: "{{ playbook_dir }}/copied", mode: "0600"}
    - ansible.builtin.command: cat {{ playbook_dir }}/copied
      changed_when: false
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Sides without settings."""
    made = make_sides(tmp_path_factory.mktemp("p"))
    for side in made:
        del side.environment["ANSIBLE_PIPELINING"]
        for name, text in FILES.items():
            path = side.root / "home/.ansible/collections/ansible_collections/own/kept" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.lstrip())
    yield made
    for side in made:
        side.close()


def play(side, name, program=RUNNER, **changes):
    project = side.prepare(name, "empty", program)
    seen = project.parent.parent / "seen"
    (project / "play.yml").write_text(PLAY % seen)
    outcome = side.play(program, project, Run(**changes), 0)
    assert outcome.code == 0, outcome.stdout + outcome.stderr
    return outcome, [int(item) for item in seen.read_text().split()]


def status(side):
    command = [sys.executable, "-m", "ansible_prefork", "status", "--json"]
    done = subprocess.run(command, check=False, env=side.environment, capture_output=True, text=True)
    return json.loads(done.stdout)[0]["parents"]


def is_learned(side):
    found = [parent["collections"] for parent in status(side) if parent["state"] == "warm"]
    return len(found) == 2 and all(names == ["own.kept"] for names in found)


def test_learned_collection_becomes_warm(plain):
    forks = plain[1]
    forks.warm(RUNNER)
    _outcome, (parent, shared, own) = play(forks, "before")
    assert has_lock(parent)
    assert shared == own
    assert wait_for(lambda: is_learned(forks), 30), status(forks)
    outcome, (parent, shared, _own) = play(forks, "after")
    assert shared == parent
    assert outcome.files["project/copied"].endswith(" xx")
    assert len(status(forks)) == 2
    assert stat.S_IMODE(next(forks.directory.glob("*.d/collections")).stat().st_mode) == 0o600


@pytest.mark.parametrize("verbose", ["", pytest.param("-vv", marks=pytest.mark.nightly)])
def test_pipelining_same_effects(plain, verbose):
    plain[1].warm(RUNNER)
    more = (verbose,) if verbose else ()
    stock, forks = run_both(plain, lambda side: play(side, f"same{verbose}", args=(*more, "play.yml"))[0])
    compare(stock, forks)


@pytest.mark.parametrize(
    ("env", "envvars"),
    [
        ({"ANSIBLE_PIPELINING": "false"}, {}),
        pytest.param({"ANSIBLE_KEEP_REMOTE_FILES": "true"}, {}, marks=pytest.mark.nightly),
    ],
    ids=["pipelining", "files"],
)
def test_pipelining_setting_wins(plain, env, envvars):
    forks = plain[1]
    forks.environment.update(env)
    try:
        forks.warm(RUNNER)
        _outcome, (parent, _shared, _own) = play(forks, f"set-{next(iter(env))}")
        assert not has_lock(parent)
    finally:
        for name in env:
            del forks.environment[name]


WHERE = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.debug: {msg: "{{ 'one' | own.kept.process }}"}
    - ansible.builtin.debug: {msg: "{{ 'two' | own.kept.process }}"}
"""


@pytest.mark.parametrize(("env", "processes"), [({}, 2), ({"PREFORK_PRELOAD": "own.kept"}, 1)], ids=["", "vouched"])
def test_isolation_vouched_collections(plain, env, processes):
    forks = plain[1]
    project = forks.prepare(f"where-{processes}", "empty", PLAYBOOK)
    (project / "play.yml").write_text(WHERE)
    outcome = forks.play(PLAYBOOK, project, Run(env=env), 0)
    assert outcome.code == 0, outcome.stdout
    assert len(set(re.findall(r"(?:one|two) (\d+)", outcome.stdout))) == processes


def test_note_once_and_bounded(tmp_path, monkeypatch):
    monkeypatch.delenv(learned.SETTING, raising=False)
    monkeypatch.setattr(learned, "_path", None)
    monkeypatch.setattr(learned, "_known", ())
    learned.note()
    own = tmp_path / "ansible-runner-1.d"
    (own / "module-1.d").mkdir(parents=True)
    learned.read(own)
    assert (learned.names(), learned.has_more()) == ([], False)
    for name in ("one.two", "ansible.builtin", "Not.good", *(f"many.c{number}" for number in range(100))):
        module = types.ModuleType(f"ansible_collections.{name}")
        module.__path__ = ["/somewhere"]
        monkeypatch.setitem(sys.modules, module.__name__, module)
    learned.note()
    assert learned.has_more()
    learned.read(own / "module-1.d")
    assert not learned.has_more()
    assert len(learned.names()) == learned.MAXIMUM
    assert not {"ansible.builtin", "Not.good"} & {*learned.names()}
    size = (own / learned.FILE).stat().st_size
    learned.note()
    assert (own / learned.FILE).stat().st_size == size


def test_names_preload_setting(tmp_path, monkeypatch):
    monkeypatch.setattr(learned, "_path", None)
    monkeypatch.setattr(learned, "_known", ())
    (tmp_path / learned.FILE).write_text("one.two\n")
    monkeypatch.setenv(learned.SETTING, "own.kept, other")
    learned.read(tmp_path)
    assert (learned.names(), learned.has_more()) == (["own.kept"], False)
    learned.note()
    assert (tmp_path / learned.FILE).read_text() == "one.two\n"
