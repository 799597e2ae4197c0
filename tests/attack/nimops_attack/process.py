# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Leftovers of the operator, and processes that stop or exit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from nimops_harness.files import list_paths
from nimops_harness.workload import make_nimbuild, make_nimservice

from .harness import Harness, Seen, attack

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
def attack_leftovers(harness: Harness) -> Seen:
    """Create and delete resources."""
    namespace = harness.namespace("leftovers")
    operator = harness.ensure()
    count = 10 if harness.quick else 20 if harness.side == "stock" else 200
    made = {"NIMService": list[str](), "NIMBuild": list[str]()}
    for number in range(count):
        kind, make = ("NIMBuild", make_nimbuild) if number % 4 else ("NIMService", make_nimservice)
        resource = make(f"s{number}")
        resource["spec"]["env"] = [{"name": "A", "value": PLAIN}]
        if refusal := harness.create(namespace, resource):
            return Seen(False, f"not created: {refusal}")
        made[kind].append(f"s{number}")
    problems = []
    for kind, names in made.items():
        problems += harness.find_unanswered(kind, namespace, names, 300)
    for kind, names in made.items():
        problems += harness.find_undeleted(kind, namespace, names, 300)

    def list_rest() -> list[str]:
        """The files in the folder of the namespace."""
        inside = f"/{namespace}/"
        return [path for path in list_paths(operator.tmp) if path.partition(inside)[2]]

    harness.wait_for("an empty work folder", lambda: not list_rest(), 60)
    rest = list_rest()
    if rest:
        problems.append(f"{len(rest)} files and empty folders are left in /tmp, such as {rest[0]}")
    reported = [where for where, text in harness.list_own_texts() if PLAIN in text]
    problems += [f"a plain value of env is left in {where}" for where in reported]
    return Seen.of(problems, f"{count} resources made and deleted: nothing of them is left in /tmp")


@attack("prefork-stopped", "runs go on as stock", sides=("prefork",))
def attack_stopped_parent(harness: Harness) -> Seen:
    namespace = harness.namespace("stopped")
    operator = harness.ensure()
    if wrong := harness.serves(namespace, "before"):
        return Seen(False, wrong)
    parents = [*operator.parent_pids(), *operator.run_pids()]
    if not parents:
        return Seen(False, "no parent of prefork runs: the attack did not take place")
    for pid in parents:
        os.kill(pid, signal.SIGSTOP)
    try:
        wrong = harness.serves(namespace, "during", limit=120)
    finally:
        for pid in parents:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                continue
    return Seen(
        not wrong, wrong or f"{len(parents)} parents stopped: an ordinary NIMService was served"
    )


@attack("prefork-exit", "a play that a plugin ended has failed, as stock", sides=("prefork",))
def attack_exit(harness: Harness) -> Seen:
    """A plugin exits its process with code 0."""
    folder = harness.sandbox.folder / "exit"
    (folder / "filter_plugins").mkdir(parents=True, exist_ok=True)
    (folder / "filter_plugins" / "quitter.py").write_text(_QUITTER)
    (folder / "play.yml").write_text(_QUITTING)
    codes: dict[str, tuple[int, bool]] = {}
    for mode in ("off", ""):
        later = folder / f"later-{mode}"
        later.unlink(missing_ok=True)
        extra = {"PREFORK": mode} if mode else {}
        command = [sys.executable, "-m", "ansible_prefork", "exec", "--"]
        done = subprocess.run(
            [*command, "ansible-playbook", "play.yml", "--extra-vars", f"path={later}"],
            cwd=folder, env=os.environ | extra, capture_output=True, check=False, timeout=120,
        )  # fmt: skip
        codes[mode or "on"] = (done.returncode, later.exists())
    problems = [
        f"with prefork {mode}, exit code 0 and the later task is missing"
        for mode, (code, came) in codes.items()
        if code == 0 and not came
    ]
    if codes["on"] != codes["off"]:
        problems.append(
            f"prefork differs: exit code and later task {codes['on']}, stock {codes['off']}"
        )
    return Seen.of(problems, f"as stock: exit code {codes['on'][0]}")
