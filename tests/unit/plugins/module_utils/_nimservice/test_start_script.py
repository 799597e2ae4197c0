# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The start script, run by bash with a stand-in for the interpreter of the image."""

from __future__ import annotations

import os
import signal
import subprocess
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.mpi import build_start_script

INTERPRETER = "/opt/nim/llm/.venv/bin/python3"
SERVER = "-m nim_llm_sdk.entrypoints.openai.api_server"
FAKE = r"""#!/usr/bin/env bash
case "$*" in
"-c import nim_llm_sdk.logging.pack_all_logs_into_json") echo noise; exit "$IMPORT_CODE" ;;
"-m nim_llm_sdk.logging.pack_all_logs_into_json") while read -r line; do echo "{$line}"; done ;;
*) echo "ran $* jsonl=$NIM_JSONL_LOGGING"; echo "to stderr" >&2; ${SERVE:-exit 7} ;;
esac
"""

Starter = t.Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(make: t.Any, tmp_path: Path) -> Starter:
    """Start the script; its variables are those of the arguments and PATH."""
    python, script = tmp_path / "python3", tmp_path / "start.sh"
    python.write_text(FAKE)
    python.chmod(0o755)
    (text,) = build_start_script(make.cr(), make.observe())["data"].values()
    assert INTERPRETER in text
    script.write_text(text.replace(INTERPRETER, str(python)))

    def run(**variables: str) -> subprocess.Popen[str]:
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
def test_the_log_is_packed_if_wanted_and_possible(
    start: Starter, variables: dict[str, str], jsonl: str, packed: bool
) -> None:
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
def test_signals_reach_the_server(start: Starter, jsonl: str) -> None:
    process = start(NIM_JSONL_LOGGING=jsonl, SERVE="exec sleep 60")
    assert process.stdout is not None
    assert "ran" in process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == -signal.SIGTERM
    process.communicate(timeout=20)


def test_an_image_without_the_interpreter_fails(start: Starter, tmp_path: Path) -> None:
    (tmp_path / "python3").unlink()
    process = start(NIM_JSONL_LOGGING="1")
    process.communicate(timeout=20)
    assert process.returncode == 127
