# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The collection, built, installed into an empty folder, and used in ten lines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import ansible_collections.kubernetes.core as kubernetes_core

ROOT = Path(__file__).resolve().parents[4]

PLAYBOOK = """\
- hosts: localhost
  gather_facts: false
  tasks:
    - nimops.nim.nim_render:
        files: [nim.yaml]
        output_dir: rendered
    - nimops.nim.nim_apply:
        files: [nim.yaml]
        namespace: nim
        wait: false
"""
NIM = """\
apiVersion: apps.nvidia.com/v1alpha1
kind: NIMService
metadata: {name: llm}
spec:
  image: {repository: registry.example/llm, tag: "1"}
  storage: {emptyDir: {}}
"""


def ansible(program, *options, cwd, **environment):
    process = subprocess.run(
        [sys.executable, "-m", "ansible", program, *options],
        cwd=cwd,
        env=os.environ
        | {"ANSIBLE_HOME": str(cwd / "home"), "ANSIBLE_NOCOLOR": "true", "PYTHONPATH": ""}
        | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    message = process.stdout + process.stderr
    assert process.returncode == 0, message
    return message


def test_install_artifact_and_serve(cluster, tmp_path):
    ansible(
        "galaxy", "collection", "build", "--output-path", str(tmp_path), str(ROOT), cwd=tmp_path
    )
    (artefact,) = tmp_path.glob("nimops-nim-*.tar.gz")
    empty = tmp_path / "collections"
    install = ("collection", "install", "--offline", "--no-deps", "-p", str(empty), str(artefact))
    ansible("galaxy", *install, cwd=tmp_path, ANSIBLE_COLLECTIONS_PATH=str(empty))
    # Otherwise the dependencies come from a registry.
    (empty / "ansible_collections/kubernetes").mkdir()
    (empty / "ansible_collections/kubernetes/core").symlink_to(kubernetes_core.__path__[0])

    (tmp_path / "play.yml").write_text(PLAYBOOK)
    (tmp_path / "nim.yaml").write_text(NIM)
    message = ansible(
        "playbook",
        "play.yml",
        cwd=tmp_path,
        ANSIBLE_COLLECTIONS_PATH=str(empty),
        ANSIBLE_LOCALHOST_WARNING="false",
        ANSIBLE_INVENTORY_UNPARSED_WARNING="false",
        KUBECONFIG=cluster.kubeconfig(tmp_path),
        NIMOPS_REGISTRIES="",
    )
    assert "ok=2    changed=2" in message
    assert "[WARNING]" not in message
    assert "DEPRECATION" not in message
    assert (tmp_path / "rendered/default/deployment-llm.yaml").is_file()
    assert any(path.endswith("/deployments/llm") for path in cluster.objects)
