# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Playbooks and roles for users, with files of a stranger."""

from __future__ import annotations

import copy
import json
import os
import subprocess
from pathlib import Path

import yaml
from nimops_harness.cluster import Json
from nimops_harness.runtime import ROOT
from nimops_harness.workload import make_nimservice

from .harness import KINDS, Scene, attack
from .payloads import CLASSES, MARKER_KEYS, apply_defaults, find_evaluated, make_token

REFUSED = "files and resources with keys of Ansible are refused by a message about such keys"
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


def play(scene: Scene, playbook: str, variables: Json) -> tuple[int, str]:
    """Exit code and output of ansible-playbook."""
    collections = str(ROOT / "build" / "collections")
    environment = {"ANSIBLE_LOCALHOST_WARNING": "false", "ANSIBLE_COLLECTIONS_PATH": collections}
    done = subprocess.run(
        ["ansible-playbook", playbook, "--extra-vars", json.dumps(variables)],
        cwd=scene.harness.sandbox.folder, env=os.environ | environment,
        capture_output=True, text=True, check=False, timeout=180,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def make_files(scene: Scene, key: str) -> dict[str, Json]:
    """A resource of each kind with a key in a map, and templates in texts."""
    text = apply_defaults(CLASSES[0].text, make_token("people", key), scene.canary)
    env, marked = [{"name": "A", "value": text}], {key: text}
    found = {"NIMService": make_nimservice("mine", env=env, nodeSelector=marked, labels=marked)}
    for kind in KINDS:
        if kind != "NIMService":
            resource = found[kind] = copy.deepcopy(scene.harness.bases[kind][0])
            resource["metadata"]["annotations"] = {key: text, "a": text}
            is_pipeline = kind == "NIMPipeline"
            inner = resource["spec"]["services"][0] if is_pipeline else resource
            inner["spec"]["nodeSelector"] = {key: text}
    return found


def make_folder(scene: Scene) -> Path:
    folder = scene.harness.sandbox.folder / "files"
    folder.mkdir(exist_ok=True)
    return folder


@attack("people-verbs", REFUSED, sides=("prefork",))
def attack_verbs(scene: Scene) -> str:
    """render, plan and apply with files of a stranger."""
    keys = MARKER_KEYS[: 1 if scene.quick else 3]
    for number, key in enumerate(keys):
        path = make_folder(scene) / f"{number}.yaml"
        path.write_text(yaml.safe_dump_all(make_files(scene, key).values()))
        variables = {"files": [str(path)], "nim_namespace": scene.namespace, "wait": False}
        _, said = play(scene, "nimops.nim.render", variables)
        # It talks to no cluster, and prints text.
        scene.expect(not find_evaluated(said), f"render with {key}: a template was evaluated")
        for verb in ("plan", "apply"):
            expect_refused(scene, f"{verb} with {key}", f"nimops.nim.{verb}", variables)
    scene.expect_unevaluated()
    return f"{3 * len(keys)} plays: rendered as text, refused by a message about such keys"


@attack("people-roles", REFUSED, sides=("prefork",))
def attack_roles(scene: Scene) -> str:
    """The roles, with resources of a stranger."""
    keys = MARKER_KEYS[: 1 if scene.quick else 2]
    for key in keys:
        for kind, resource in make_files(scene, key).items():
            resource["metadata"]["namespace"] = scene.namespace
            path = make_folder(scene) / f"{kind}.json"
            path.write_text(json.dumps(resource))
            playbook = path.with_suffix(".yml")
            playbook.write_text(_ROLE.format(role=kind.lower()))
            expect_refused(scene, f"{kind} with {key}", str(playbook), {"path": str(path)})
    scene.expect_unevaluated()
    return f"{len(keys) * len(KINDS)} plays: refused by a message about such keys"


def expect_refused(scene: Scene, what: str, playbook: str, variables: Json) -> None:
    """A problem unless a message about such keys refuses it, and nothing is evaluated."""
    code, said = play(scene, playbook, variables)
    scene.expect(not find_evaluated(said), f"{what}: a template was evaluated")
    failed = [line for line in said.splitlines() if line.startswith(("fatal:", "[ERROR]"))]
    message = " ".join(failed)[:300]
    is_refused = code and "__ansible" in message
    scene.expect(is_refused, f"{what}: not refused by the name of such keys: {code} {message}")
