# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Leftovers of the operator, and processes that stop or exit."""

from __future__ import annotations

import os
import subprocess
import sys

from nimops_harness.errors import HarnessError
from nimops_harness.files import list_paths
from nimops_harness.proc import stopped
from nimops_harness.workload import make_nimbuild, make_nimservice

from .harness import Scene, attack

PLAIN = "plain-value-of-an-environment-4715"
_QUITTER = """\
import sys

class FilterModule:
    def filters(self):
        return {"quit": lambda value: sys.exit(0)}
"""
_QUITTING = """\
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.debug:
        msg: "{{ 'a' | quit }}"
    - ansible.builtin.file:
        path: "{{ path }}"
        state: touch
        mode: "0600"
"""


@attack("leftovers", "the work folder is as before when resources are gone")
def attack_leftovers(scene: Scene) -> str:
    """Create and delete resources."""
    operator = scene.harness.ensure()
    count = 10 if scene.quick else 20 if scene.side == "stock" else 200
    for number in range(count):
        resource = (make_nimbuild if number % 4 else make_nimservice)(f"s{number}")
        resource["spec"]["env"] = [{"name": "A", "value": PLAIN}]
        scene.make(resource)
    scene.expect_answered(300)
    scene.expect_deleted(300)

    def list_rest() -> list[str]:
        """The files in the folder of the namespace."""
        inside = f"/{scene.namespace}/"
        return [path for path in list_paths(operator.tmp) if path.partition(inside)[2]]

    scene.wait_for(lambda: not list_rest(), 60)
    if rest := list_rest():
        scene.expect(False, f"{len(rest)} files and empty folders are left, such as {rest[0]}")
    for where, text in scene.list_own_texts():
        scene.expect(PLAIN not in text, f"a plain value of env is left in {where}")
    return f"{count} resources made and deleted: nothing of them is left in /tmp"


@attack("prefork-stopped", "runs go on as stock", sides=("prefork",))
def attack_stopped_parent(scene: Scene) -> str:
    operator = scene.harness.ensure()
    if wrong := scene.serve("before"):
        raise HarnessError(wrong)
    parents = [*operator.parent_pids(), *operator.run_pids()]
    if not parents:
        raise HarnessError("no parent of prefork runs")
    with stopped(parents):
        scene.expect_served(120)
    return f"{len(parents)} parents stopped: an ordinary NIMService was served"


@attack("prefork-exit", "a play that a plugin ended has failed, as stock", sides=("prefork",))
def attack_exit(scene: Scene) -> str:
    """A plugin exits its process with code 0."""
    folder = scene.harness.sandbox.folder / "exit"
    (folder / "filter_plugins").mkdir(parents=True, exist_ok=True)
    (folder / "filter_plugins" / "quitter.py").write_text(_QUITTER)
    (folder / "play.yml").write_text(_QUITTING)
    seen: dict[str, tuple[int, bool]] = {}
    for mode, extra in (("off", {"PREFORK": "off"}), ("on", {})):
        later = folder / f"later-{mode}"
        later.unlink(missing_ok=True)
        command = [sys.executable, "-m", "ansible_prefork", "exec", "--"]
        done = subprocess.run(
            [*command, "ansible-playbook", "play.yml", "--extra-vars", f"path={later}"],
            cwd=folder, env=os.environ | extra, capture_output=True, check=False, timeout=120,
        )  # fmt: skip
        code, came = seen[mode] = (done.returncode, later.exists())
        scene.expect(code or came, f"prefork {mode}: exit code 0 without the later task")
    scene.expect(seen["on"] == seen["off"], f"prefork differs, exit code and later task: {seen}")
    return f"as stock: exit code {seen['on'][0]}"
