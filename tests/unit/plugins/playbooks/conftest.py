# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Verbs, called like by users."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest


@pytest.fixture
def start(cluster, tmp_path, warm):
    """Start a verb, or a playbook of a test's own (*.yml); its process."""
    if not os.environ.get("ANSIBLE_COLLECTIONS_PATH"):
        pytest.skip("ANSIBLE_COLLECTIONS_PATH does not say where this collection is installed")
    kept = {key: value for key, value in os.environ.items() if not key.startswith("K8S_AUTH_")}
    environment = kept | {
        "ANSIBLE_HOME": str(tmp_path / "ansible"),
        "ANSIBLE_STDOUT_CALLBACK": "nimops.nim.pipe",
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        "ANSIBLE_NOCOLOR": "true",
        "KUBECONFIG": cluster.kubeconfig(tmp_path),
        "NIMOPS_REGISTRIES": "",
    }

    def start_verb(
        verb, *options, callback="nimops.nim.pipe", pass_fds=(), is_warm=False, **variables
    ):
        playbook = verb if verb.endswith(".yml") else f"nimops.nim.{verb}"
        needed = environment | {"ANSIBLE_STDOUT_CALLBACK": callback}
        program = [sys.executable, "-m", "ansible", "playbook"]
        if is_warm:
            needed = warm(needed)
            program = [f"{needed['PREFORK_DIR']}/bin/ansible-playbook"]
        return subprocess.Popen(
            [*program, playbook, *options, "--extra-vars", json.dumps(variables)],
            env=needed,
            cwd=tmp_path,
            pass_fds=pass_fds,
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start_verb


@pytest.fixture
def call(start):
    """Run a verb with prefork; (exit code, stdout, stderr)."""

    def run(verb, *options, stdin="", **variables):
        with start(verb, *options, is_warm=True, **variables) as process:
            try:
                out, err = process.communicate(stdin, timeout=120)
            finally:
                process.kill()
        # A busy machine can make a run stock, which prefork reports.
        lines = err.splitlines(keepends=True)
        err = "".join(line for line in lines if not line.startswith("prefork: "))
        return process.returncode, out, err

    return run
