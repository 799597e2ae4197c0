# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of a role, as ansible-operator asks for them (``role:`` in watches.yaml, and finalizers with a role)."""

from __future__ import annotations

import signal

import pytest
from comparison import RUNNER, Run, has_lock
from test_equivalence import compare, run_both

ROLES = {
    "given/tasks/main.yml": """
- name: Where roles are looked for
  ansible.builtin.debug:
    msg: "{{ lookup('ansible.builtin.config', 'DEFAULT_ROLES_PATH') }} {{ role_path }} {{ 'x' | own_word }}"
- name: Who runs a module
  who: {}
  register: who
- name: Who runs the play
  ansible.builtin.copy:
    content: "{{ lookup('who') }} {{ who.pid }}"
    dest: "{{ lookup('ansible.builtin.env', 'SEEN') }}"
    mode: "0644"
  when: lookup('ansible.builtin.env', 'SEEN') | length > 0
- name: Another role of the same directory
  ansible.builtin.include_role:
    name: other
- name: A role that the project has, too
  ansible.builtin.include_role:
    name: twice
""",
    "given/meta/main.yml": "dependencies: [{role: before}]\n",
    "given/filter_plugins/own_word.py": """
class FilterModule:
    def filters(self):
        return {"own_word": lambda text: f"word {text}"}
""",
    "given/lookup_plugins/who.py": """
import os
from ansible.plugins.lookup import LookupBase

class LookupModule(LookupBase):
    def run(self, terms, variables=None, **named):
        with open(f"/proc/{os.getppid()}/stat") as file:
            return [f"{os.getppid()} {file.read().rpartition(')')[2].split()[1]}"]
""",
    "given/library/who.py": """
import os
from ansible.module_utils.basic import AnsibleModule
AnsibleModule({}).exit_json(changed=False, pid=os.getppid())
""",
    "before/tasks/main.yml": "- ansible.builtin.debug: {msg: before}\n",
    "other/tasks/main.yml": "- ansible.builtin.debug: {msg: the other}\n",
    "twice/tasks/main.yml": "- ansible.builtin.debug: {msg: of the path}\n",
    "ends/tasks/main.yml": """
- name: A plugin that ends its process
  ends: {}
""",
    "ends/action_plugins/ends.py": f"""
import os
from ansible.plugins.action import ActionBase

class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        os.kill(os.getppid(), {signal.SIGKILL:d})
""",
}
NEARBY = "- ansible.builtin.debug: {msg: of the project}\n"


def write(place, files):
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text.lstrip())


def start_role(side, name, role="given", project=True, **changes):
    """A run of a role; its private data directory."""
    place = side.prepare(name, "empty", RUNNER)
    write(place.parent.parent / "roles", ROLES)
    for path in place.iterdir():
        path.unlink()
    if project:
        write(place, {"roles/twice/tasks/main.yml": NEARBY})
    else:
        place.rmdir()
    run = Run(
        **changes,
        runner_args=(
            "--role",
            role,
            "--roles-path",
            f"{place.parent.parent}/roles/",
            "--hosts",
            "all",
            "--role-skip-facts",
        ),
    )
    return place, run


def play_role(side, name, is_asked=False, **options):
    place, run = start_role(side, name, **options)
    seen = place.parent.parent / "seen"
    if is_asked:
        run = Run(**{**vars(run), "env": {**run.env, "SEEN": str(seen)}})
    outcome = side.play_role(place, run)
    return outcome, seen.read_text().split() if seen.exists() else []


@pytest.mark.parametrize("project", [True, False], ids=["project", "none"])
@pytest.mark.parametrize(
    "envvars", [pytest.param({}, marks=pytest.mark.nightly), {"GIVEN": "one"}], ids=["plain", "variables"]
)
def test_role_as_stock(sides, project, envvars):
    name = f"role-{project}-{len(envvars)}"
    stock, forks = run_both(sides, lambda side: play_role(side, name, project=project, envvars=envvars)[0])
    compare(stock, forks)
    assert forks.code == 0, forks.stdout
    assert ("of the project" if project else "of the path") in forks.stdout
    for text in ("before", "the other", "word x", "<root>/role"):
        assert text in forks.stdout


def test_role_warm(sides):
    sides[1].warm(RUNNER)
    outcome, (play, parent, of_module) = play_role(sides[1], "role-warm", is_asked=True)
    assert outcome.code == 0, outcome.stdout + outcome.stderr
    assert has_lock(int(parent)), "the play is not a fork of a parent"
    assert has_lock(int(of_module)), "the module is not a fork of a warm interpreter"
    assert play not in (parent, of_module)


def test_role_changed_between_runs(sides):
    one, _seen = play_role(sides[1], "role-one")
    place, run = start_role(sides[1], "role-two")
    write(place.parent.parent / "roles", {"other/tasks/main.yml": "- ansible.builtin.debug: {msg: yet another}\n"})
    two = sides[1].play_role(place, run)
    assert ("the other" in one.stdout, "yet another" in one.stdout) == (True, False)
    assert ("the other" in two.stdout, "yet another" in two.stdout) == (False, True)


@pytest.mark.parametrize("project", [True, False], ids=["project", "none"])
def test_role_finish_as_two_processes(sides, project):
    outcomes = []
    for number, env in enumerate(({}, {"PREFORK_ONE_PROCESS": "off"})):
        outcome, _seen = play_role(sides[1], f"role-lost-{project}-{number}", role="ends", project=project, env=env)
        outcomes.append(outcome)
    one, two = outcomes
    assert one.files.keys() == two.files.keys()
    assert not [name for name in one.files if name.startswith("project/") and "roles" not in name]
    assert one.files["artifacts/0/rc"] == two.files["artifacts/0/rc"]
    assert [post["status"] for post in one.posts if "status" in post][-1] == "failed"
