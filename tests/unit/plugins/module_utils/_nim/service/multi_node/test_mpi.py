# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import os
import signal
import subprocess

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.multi_node import mpi
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.multi_node.mpi import (
    build_start_script,
)

MPI = {"multiNode": {"parallelism": {"pipeline": 3, "tensor": 8}}, "annotations": {"a": "1"}}
LABELS = {"app.kubernetes.io/name", "app.kubernetes.io/managed-by"}
INTERPRETER = "/opt/nim/llm/.venv/bin/python3"
SERVER = "-m nim_llm_sdk.entrypoints.openai.api_server"
FAKE = r"""#!/usr/bin/env bash
case "$*" in
"-c import nim_llm_sdk.logging.pack_all_logs_into_json") echo noise; exit "$IMPORT_CODE" ;;
"-m nim_llm_sdk.logging.pack_all_logs_into_json") while read -r line; do echo "{$line}"; done ;;
*) echo "ran $* jsonl=$NIM_JSONL_LOGGING"; echo "to stderr" >&2; ${SERVE:-exit 7} ;;
esac
"""


@pytest.mark.parametrize(
    ("groups", "wanted"),
    [
        pytest.param(0, {}, id="none"),
        pytest.param(
            2,
            {
                f"hostfile-{group}": "localhost slots=8\n"
                f"llm-lws-{group}-1.llm-lws.ns.svc slots=8\n"
                f"llm-lws-{group}-2.llm-lws.ns.svc slots=8\n"
                for group in (0, 1)
            },
            id="two",
        ),
    ],
)
def test_build_hostfiles(make, groups, wanted):
    made = mpi.build_hostfiles(make.app(MPI), groups)
    assert (made["metadata"]["name"], made["data"]) == ("llm-mpi-config", wanted)


@pytest.mark.parametrize(
    ("groups", "pipeline"),
    [(2**31, 2), (1, 2**31 - 1), (200, 200)],
    ids=["groups", "nodes", "both"],
)
def test_build_hostfiles_too_large(make, groups, pipeline):
    cr = make.cr({"multiNode": {"parallelism": {"pipeline": pipeline}}})
    with pytest.raises(NimError, match=r"spec\.replicas: .* do not fit into a ConfigMap"):
        mpi.build_hostfiles(make.app(cr), groups)


def test_build_hostfiles_default_slots(make):
    cr = make.cr({"multiNode": {"parallelism": {"pipeline": 2}}})
    made = mpi.build_hostfiles(make.app(cr), 1)
    assert made["data"]["hostfile-0"].splitlines()[0] == "localhost slots=1"


def test_build_start_script(make):
    made = mpi.build_start_script(make.app(MPI))
    ((key, script),) = made["data"].items()
    assert (made["metadata"]["name"], key) == ("llm-mpi-start-script", "start-mpi-cluster.sh")
    assert script.startswith("#!/usr/bin/env bash\n")
    assert script.endswith("\n")
    assert not script.endswith("\n\n")


def test_build_ssh_key_placeholder(make):
    made = mpi.build_ssh_key(make.app(MPI))
    assert (made["metadata"]["name"], made["type"]) == ("llm-ssh-pk", "Opaque")
    assert made["data"] == {"private.key": "<generated>"}


def test_mpi_objects_metadata(make):
    cr, observed = make.cr(MPI), make.observe()
    for made in (
        mpi.build_hostfiles(NIMServiceApp(cr, observed), 1),
        mpi.build_start_script(NIMServiceApp(cr, observed)),
        mpi.build_ssh_key(NIMServiceApp(cr, observed)),
    ):
        metadata = made["metadata"]
        assert set(metadata["labels"]) >= LABELS
        assert metadata["annotations"] == {"a": "1", "openshift.io/required-scc": "nonroot"}
        assert [owner["uid"] for owner in metadata["ownerReferences"]] == ["u1"]


def test_mpi_volumes_and_mounts(make):
    cr = make.cr(MPI)
    shared = [
        {"name": "ssh-dotfiles", "emptyDir": {}},
        {"name": "ssh-pk", "secret": {"secretName": "llm-ssh-pk", "defaultMode": 256}},
        {"name": "start-mpi-script", "configMap": {"name": "llm-mpi-start-script"}},
    ]
    mounted = [
        {"name": "ssh-dotfiles", "mountPath": "/opt/nim/llm/.ssh"},
        {"name": "ssh-pk", "mountPath": "/opt/nim/llm/pk"},
        {
            "name": "start-mpi-script",
            "mountPath": "/opt/nim/start-mpi-cluster.sh",
            "subPath": "start-mpi-cluster.sh",
        },
    ]
    hostfiles = {"name": "mpi-config", "configMap": {"name": "llm-mpi-config"}}
    assert mpi.leader_volumes(make.app(cr)) == [hostfiles, *shared]
    assert mpi.leader_mounts() == [{"name": "mpi-config", "mountPath": "/etc/mpi"}, *mounted]
    assert mpi.worker_volumes(make.app(cr)) == [{"name": "ssh-confs", "emptyDir": {}}, *shared]
    assert mpi.worker_mounts() == [{"name": "ssh-confs", "mountPath": "/ssh-confs"}, *mounted]


@pytest.fixture
def start(make, tmp_path):
    """Start the script with the given variables and PATH."""
    python, script = tmp_path / "python3", tmp_path / "start.sh"
    python.write_text(FAKE)
    python.chmod(0o755)
    (text,) = build_start_script(make.app())["data"].values()
    assert INTERPRETER in text
    script.write_text(text.replace(INTERPRETER, str(python)))

    def run(**variables):
        return subprocess.Popen(
            ["bash", script],
            env={"PATH": os.environ["PATH"], "IMPORT_CODE": "0"} | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return run


@pytest.mark.parametrize(
    ("variables", "jsonl", "packed"),
    [
        pytest.param({}, "0", False, id="by default"),
        pytest.param({"NIM_JSONL_LOGGING": "0"}, "0", False, id="off"),
        pytest.param({"NIM_JSONL_LOGGING": "1"}, "1", True, id="on"),
        pytest.param({"NIM_JSONL_LOGGING": "yes"}, "yes", False, id="anything else"),
        pytest.param(
            {"NIM_JSONL_LOGGING": "1", "IMPORT_CODE": "1"}, "1", False, id="the image cannot"
        ),
    ],
)
def test_start_script_packs_log(start, variables, jsonl, packed):
    process = start(**variables)
    output, errors = process.communicate(timeout=20)
    ran = f"ran {SERVER} jsonl={jsonl}"
    if packed:
        assert sorted(output.splitlines()) == sorted([f"{{{ran}}}", "{to stderr}"])
        assert errors == ""
    else:
        assert (output, errors) == (f"{ran}\n", "to stderr\n")
    assert process.returncode == 7, "the exit code is the server's"


@pytest.mark.parametrize("jsonl", ["0", "1"])
def test_start_script_forwards_signals(start, jsonl):
    process = start(NIM_JSONL_LOGGING=jsonl, SERVE="exec sleep 60")
    assert process.stdout is not None
    assert "ran" in process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == -signal.SIGTERM
    process.communicate(timeout=20)


def test_start_script_without_interpreter(start, tmp_path):
    (tmp_path / "python3").unlink()
    process = start(NIM_JSONL_LOGGING="1")
    process.communicate(timeout=20)
    assert process.returncode == 127
