# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Pods that print a manifest: command and progress."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadLog
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.manifest_pod import (
    follow_pod,
    print_command,
    read_log_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.model_manifest import (
    BEGIN_MARK,
    END_MARK,
    NOT_FOUND,
    read_log,
)

CR = {"kind": "Toy", "metadata": {"name": "a", "namespace": "ns", "uid": "u"}}
LOG = f"{BEGIN_MARK}\na: {{model: m}}\n{END_MARK}\n"


def pod(phase="Running", uid="u", **meta):
    owner = {"kind": "Toy", "name": "a", "uid": uid, "controller": True}
    metadata = {"name": "p", "namespace": "ns", "ownerReferences": [owner], **meta}
    return {"metadata": metadata, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("live", "log", "is_wanted", "waiting"),
    [
        pytest.param(None, None, True, "Pod p to run", id="no pod"),
        pytest.param(pod("Pending"), None, True, "Pod p to run", id="pending"),
        pytest.param(pod("Unknown"), LOG, True, "Pod p to run", id="unknown"),
        pytest.param(pod(), None, True, "Pod p to print the model manifest", id="no log yet"),
        pytest.param(
            pod(), LOG[:-8], True, "Pod p to print the model manifest", id="incomplete log"
        ),
        pytest.param(pod("Failed"), LOG, False, "Pod p to be recreated: it ended", id="failed"),
        pytest.param(pod("Succeeded"), LOG, False, "Pod p to be recreated: it ended", id="ended"),
        pytest.param(pod(deletionTimestamp="now"), LOG, False, "Pod p to be deleted", id="deleted"),
        pytest.param(pod(uid="old"), LOG, False, "Pod p to be deleted", id="of a namesake"),
        pytest.param(pod(), LOG, False, "", id="complete log"),
        pytest.param(pod(), f"{NOT_FOUND}\n", False, "", id="no manifest"),
    ],
)
def test_follow_pod(live, log, is_wanted, waiting):
    found = follow_pod(CR, live, "p", log)
    assert (found.is_wanted, found.waiting) == (is_wanted, waiting)
    assert found.log.complete is (waiting == "")
    assert found.log.text == ("a: {model: m}" if not waiting and log == LOG else "")


def test_follow_pod_not_running():
    live = pod("Pending")
    state = {"waiting": {"reason": "ErrImagePull", "message": "denied"}}
    live["status"]["containerStatuses"] = [{"name": "c", "state": state}]
    waiting = follow_pod(CR, live, "p", None).waiting
    assert waiting == "Pod p to run, container c: ErrImagePull: denied"


def test_follow_pod_foreign():
    with pytest.raises(NimError, match="Pod p exists and was not created for this Toy"):
        follow_pod(CR, {"metadata": {"name": "p"}}, "p", LOG)


@pytest.mark.parametrize(
    ("live", "is_read"),
    [
        pytest.param(None, False, id="no pod"),
        pytest.param(pod("Pending"), False, id="pending"),
        pytest.param(pod("Succeeded"), False, id="ended"),
        pytest.param(pod(uid="old"), False, id="of a namesake"),
        pytest.param(pod(deletionTimestamp="now"), False, id="deleted"),
        pytest.param(pod(), True, id="running"),
    ],
)
def test_read_log_of(live, is_read):
    found = read_log_of(CR, live, "main")
    assert found == ([ReadLog("log", "ns", "p", "main")] if is_read else [])


@pytest.mark.parametrize("text", ["a: {model: m}", "a: {model: m}\n"])
def test_print_command_round_trip(tmp_path, text):
    file = tmp_path / "manifest.yaml"
    file.write_text(text)
    shell, option, script = print_command(f"show {file}\nexit 0\n")
    done = subprocess.run([shell, option, script], capture_output=True, text=True, check=True)
    assert (read_log(done.stdout).complete, read_log(done.stdout).text.strip()) == (
        True, text.strip(),
    )  # fmt: skip


def test_print_command_runs_until_terminated():
    command = print_command('sleep() { echo stays; exec sleep "$@"; }\n')
    process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"stays\n"
        assert process.poll() is None
        process.terminate()
        assert process.wait(10) == 0
    finally:  # a pod's other processes end with its first one
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
