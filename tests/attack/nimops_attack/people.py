# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Playbooks and roles for users, with files of a stranger."""

from __future__ import annotations

import json
import os
import subprocess
import typing as t

import yaml
from nimops_harness.runtime import ROOT
from nimops_harness.workload import make_nimservice

from .fields import Json
from .harness import KINDS, Harness, Seen, attack
from .payloads import CLASSES, MARKER_KEYS, apply_defaults, find_evaluated, make_token

_ROLE = """\
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: Hand a resource over
      ansible.builtin.include_role:
        name: nimops.nim.{role}
      vars:
        {role}_resource: "{{{{ lookup('ansible.builtin.file', path) | from_json }}}}"
"""


def play(harness: Harness, playbook: str, variables: Json) -> tuple[int, str]:
    """Exit code and output of ansible-playbook."""
    done = subprocess.run(
        ["ansible-playbook", playbook, "--extra-vars", json.dumps(variables)],
        cwd=harness.sandbox.folder, capture_output=True, text=True, check=False, timeout=180,
        env=os.environ | {"ANSIBLE_LOCALHOST_WARNING": "false", "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "build" / "collections")},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def make_files(harness: Harness, key: str) -> dict[str, Json]:
    """A resource of each kind with a key in a map, and templates in texts."""
    text = apply_defaults(CLASSES[0].text, make_token("people", key), str(harness.canary))
    service = make_nimservice("mine")
    service["spec"]["env"] = [{"name": "A", "value": text}]
    service["spec"] |= {"nodeSelector": {key: text}, "labels": {key: text}}
    found = {"NIMService": service}
    for kind in KINDS:
        if kind != "NIMService":
            resource = json.loads(json.dumps(harness.bases[kind][0]))
            resource["metadata"]["annotations"] = {key: text, "a": text}
            resource["spec"].setdefault("nodeSelector", {})
            if kind == "NIMPipeline":
                del resource["spec"]["nodeSelector"]
                resource["spec"]["services"][0]["spec"] |= {"nodeSelector": {key: text}}
            else:
                resource["spec"]["nodeSelector"] = {key: text}
            found[kind] = resource
    return found


@attack(
    "people-verbs",
    "files and resources with keys of Ansible are refused by a message about such keys",
    sides=("prefork",),
)
def attack_verbs(harness: Harness) -> Seen:
    """render, plan and apply with files of a stranger."""
    namespace = harness.namespace("people")
    folder = harness.sandbox.folder / "files"
    folder.mkdir(exist_ok=True)
    problems: list[str] = []
    plays = 0
    for number, key in enumerate(MARKER_KEYS[: 1 if harness.quick else 3]):
        path = folder / f"{number}.yaml"
        path.write_text(yaml.safe_dump_all(make_files(harness, key).values()))
        for verb in ("render", "plan", "apply"):
            variables = {"files": [str(path)], "nim_namespace": namespace, "wait": False}
            code, said = play(harness, f"nimops.nim.{verb}", variables)
            plays += 1
            if verb == "render":  # it talks to no cluster: what it prints is text
                problems += (
                    [f"{verb} with {key}: a template was evaluated"] if find_evaluated(said) else []
                )
            else:
                problems += judge(f"{verb} with {key}", code, said)
    problems += harness.evaluated(namespace)
    return Seen.of(
        problems,
        f"{plays} plays: rendered as text, refused by a message about such keys, nothing evaluated",
    )


@attack(
    "people-roles",
    "files and resources with keys of Ansible are refused by a message about such keys",
    sides=("prefork",),
)
def attack_roles(harness: Harness) -> Seen:
    """The roles, with resources of a stranger."""
    folder = harness.sandbox.folder / "files"
    folder.mkdir(exist_ok=True)
    problems: list[str] = []
    plays = 0
    namespace = harness.namespace("roles")
    for kind in KINDS:
        for key in MARKER_KEYS[: 1 if harness.quick else 2]:
            resource = make_files(harness, key)[kind]
            resource["metadata"]["namespace"] = namespace
            path = folder / f"{kind}.json"
            path.write_text(json.dumps(resource))
            playbook = folder / f"{kind}.yml"
            playbook.write_text(_ROLE.format(role=kind.lower()))
            code, said = play(harness, str(playbook), {"path": str(path)})
            plays += 1
            problems += judge(f"{kind} with {key}", code, said)
    problems += harness.evaluated(namespace)
    return Seen.of(
        problems, f"{plays} plays: refused by a message about such keys, nothing evaluated"
    )


def judge(what: str, code: int, said: str) -> t.Iterator[str]:
    """Problems unless it was refused by a message about such keys, and nothing was evaluated."""
    if find_evaluated(said):
        yield f"{what}: a template was evaluated"
    if not code:
        yield f"{what}: accepted"
    elif "__ansible" not in (message := find_message(said)):
        yield f"{what}: refused without naming such keys: {message}"


def find_message(said: str) -> str:
    """The message of the task that failed."""
    lines = [line for line in said.splitlines() if line.startswith(("fatal:", "[ERROR]"))]
    return " ".join(lines)[:300]
