# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The steps of tutorials, and what is wrong with an outcome."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from nimops_harness.errors import HarnessError
from nimops_tutorials.markdown import Block, Command
from nimops_tutorials.page import attempt, find_fault, is_read, read_tutorial
from nimops_tutorials.stage import describe_model
from nimops_tutorials.substitutes import SUBSTITUTES, find_substitute
from nimops_tutorials.terminal import Done

ROOT = Path(__file__).resolve().parents[3]
PAGES = {path.stem: path for path in (ROOT / "docs/tutorials").glob("*.md")}
TUTORIALS = sorted(PAGES.keys() - {"README"})
FILE = '```yaml title="a.yaml"\na: 1\n```\n'
CONSOLE = "```console\n$ kubectl apply -f a.yaml\n```\n"
COMMAND = Command("kubectl get pods", ("a  1/1",), 3)


def test_read_tutorial():
    assert read_tutorial(FILE + CONSOLE + "```mermaid\n```\n") == [
        Block("yaml", "a.yaml", "a: 1\n", 2),
        Command("kubectl apply -f a.yaml", (), 5),
    ]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        pytest.param(FILE, "no command", id="no command"),
        pytest.param("```sh\na\n```\n" + CONSOLE, "line 2: neither a console", id="a script"),
        pytest.param("```yaml\na\n```\n" + CONSOLE, "line 2: neither", id="a file without a name"),
        pytest.param("```console\na\n```\n", "line 2: output without", id="output only"),
    ],
)
def test_read_tutorial_invalid(page, text):
    with pytest.raises(HarnessError, match=re.escape(text)):
        read_tutorial(page)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("kubectl get pods", True),
        ("kubectl -n nim get pods", True),
        ("kubectl nim status -n nim", True),
        ("curl -s http://localhost", True),
        ("kubectl -n nim apply -f a.yaml", False),
        ("kubectl delete pod a", False),
    ],
)
def test_is_read(command, expected):
    assert is_read(command) is expected


def test_find_fault():
    assert find_fault(COMMAND, Done("a 1/1\n", "", 0)) == ""
    assert find_fault(COMMAND, Done("b\n", "", 0), compare=False) == ""
    fault = find_fault(COMMAND, Done("a 0/1\n", "", 0))
    assert fault == (
        "line 3: $ kubectl get pods\n  the page shows:\n    a  1/1\n  the command prints:\n    a 0/1"
    )
    assert ", exit code 1:" in find_fault(COMMAND, Done("a 1/1\n", "", 1), compare=False)


def test_attempt_repeats_reads():
    outputs = iter(["", "a 0/1", "a 1/1"])
    assert attempt(COMMAND, lambda: Done(next(outputs), "", 0), lambda: True) == ""
    assert next(outputs, None) is None


def test_attempt_ends():
    outputs, times = iter(["x", "y", "z"]), iter([True, False])
    assert "\n    y" in attempt(COMMAND, lambda: Done(next(outputs), "", 0), lambda: next(times))
    other = Command("kubectl apply -f a", ("a",), 1)
    assert "\n    z" in attempt(other, lambda: Done(next(outputs), "", 0), lambda: True)


@pytest.mark.parametrize(
    ("image", "kind", "name"),
    [
        ("nvcr.io/nim/meta/llama:1", "models", "meta/llama"),
        ("nvcr.io/nim/nvidia/nv-embedqa:1.3@sha256:0", "embedding", "nvidia/nv-embedqa"),
        ("nvcr.io/nim/nvidia/nv-rerankqa:1", "rerank", "nvidia/nv-rerankqa"),
        ("registry.example.com/acme/tiny:1", "models", "acme/tiny"),
    ],
)
def test_describe_model(image, kind, name):
    assert list(describe_model(image).values()) == [kind, name]


@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorials_are_tested(name):
    """Each block of a page is a step, and each is in the index and in the README."""
    read_tutorial(PAGES[name].read_text())
    assert f"({name}.md)" in PAGES["README"].read_text()
    assert f"docs/tutorials/{name}.md" in (ROOT / "README.md").read_text()


def test_substitutes_are_documented_and_used():
    rows = "\n".join(f"| {it.page} | {it.here} |" for it in SUBSTITUTES)
    assert rows in (ROOT / "docs/develop/testing.md").read_text()
    texts = [PAGES[name].read_text() for name in TUTORIALS]
    commands = [it.text for text in texts for it in read_tutorial(text) if isinstance(it, Command)]
    assert {find_substitute(text) for text in commands} >= set(SUBSTITUTES)
