# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Ansible itself, with the collection that ANSIBLE_COLLECTIONS_PATH finds."""

from __future__ import annotations

import base64
import functools
import json
import os
import re
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def play(warm):
    """Run a playbook of this folder with prefork; (its process, the results that it showed)."""
    if not os.environ.get("ANSIBLE_COLLECTIONS_PATH"):
        pytest.skip("ANSIBLE_COLLECTIONS_PATH does not say where this collection is installed")
    return functools.partial(run_playbook, warm)


def run_playbook(warm, name, cluster, folder, *, seconds=120, **variables):
    (folder / "tmp").mkdir()
    (folder / "vars.json").write_text(json.dumps(variables))
    kept = {key: value for key, value in os.environ.items() if not key.startswith("K8S_AUTH_")}
    environment = kept | {
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        "ANSIBLE_NOCOLOR": "true",
        "K8S_AUTH_KUBECONFIG": cluster.kubeconfig(folder, token="s3cr3t"),
        "NIMOPS_REGISTRIES": "",
        "OPERATOR_VERSION": "1.2.3",
        "TMPDIR": str(folder / "tmp"),
    }
    environment = warm(environment)
    playbook = Path(__file__).parent / f"{name}.yml"
    process = subprocess.run(
        [
            f"{environment['PREFORK_DIR']}/bin/ansible-playbook",
            playbook,
            "--extra-vars",
            f"@{folder}/vars.json",
        ],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    (shown,) = re.findall(r"results=(\S+?)=end", process.stdout)
    return process, json.loads(base64.b64decode(shown))
