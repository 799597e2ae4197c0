# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The table of verbs, compared with the commands."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest
from ansible_collections.nimops.nim.plugins.module_utils import _commands
from ansible_collections.nimops.nim.plugins.module_utils._commands.command import Command
from kubectl_nim.app import make_root
from kubectl_nim.run import load_command
from kubectl_nim.verbs import GROUPS, VERBS

COMMON = {"namespace", "kubeconfig", "context", "output"}
OMITTED = {
    "definition": "files and stdin contain objects",
    "definition_variable": "Ansible's variables",
    "gpus": "a list of objects, for playbooks",
    "lora": "a criterion with three values, for playbooks",
    "buildable": "a criterion with three values, for playbooks",
    "tolerations": "a list of objects, for playbooks",
    "operator": "follows from --image",
}
TYPES = {
    "text": ("str", "path"), "path": ("path", "str"), "number": ("int",), "seconds": ("int",),
    "switch": ("bool",), "list": ("list",), "pairs": ("dict",),
}  # fmt: skip
IDS = [verb.name for verb in VERBS]
WITHOUT_VERB = {
    "ResourcesCommand": "a base class",
    "ResourceCommand": "a base class",
    **dict.fromkeys(
        ("ServiceCommand", "CacheCommand", "PipelineCommand", "BuildCommand"),
        "modules for playbooks: apply and delete do the same",
    ),
    "ResourceInfoCommand": "a module for playbooks: status shows the same",
    "StatusCommand": "the verb has a table for terminals, from the same rows",
}


@pytest.mark.parametrize("verb", VERBS, ids=IDS)
def test_options_of_command(verb):
    spec = load_command(verb).spec
    given = {item.key for item in (*verb.arguments, *verb.options)} | set(verb.fixed or {})
    assert given <= spec.keys()
    shared = {
        item.key
        for other in VERBS
        if other.path == verb.path
        for item in (*other.arguments, *other.options)
    }
    assert spec.keys() - given - shared <= COMMON | OMITTED.keys()
    assert ("output" in spec) == bool(verb.outputs)
    assert ("kubeconfig" in spec) != verb.is_local
    assert ("namespace" in spec) == (verb.scope != "cluster")


@pytest.mark.parametrize("verb", VERBS, ids=IDS)
def test_option_types(verb):
    spec = load_command(verb).spec
    for option in verb.options:
        assert spec[option.key]["type"] in TYPES[option.type], option.key
        choices = spec[option.key].get("choices", ())
        assert not option.choices or option.choices == tuple(choices), option.key


@pytest.mark.parametrize("verb", VERBS, ids=IDS)
def test_switch_changes_default(verb):
    spec = load_command(verb).spec
    for option in verb.options:
        if option.type == "switch":
            is_negative = option.names[-1].startswith("--no-")
            assert bool(spec[option.key].get("default")) == is_negative, option.key


def test_all_commands_have_verbs():
    root = Path(inspect.getfile(importlib.import_module(f"{_commands.__name__}.command"))).parent
    for file in root.rglob("*command.py"):
        name = ".".join(file.relative_to(root).with_suffix("").parts)
        importlib.import_module(f"{_commands.__name__}.{name}")
    served = {base for verb in VERBS for base in load_command(verb).__mro__}
    # Tests in the same process may have imported action plugins, which have commands of their own.
    commands = {
        item for item in _all_subclasses(Command) if item.__module__.startswith(_commands.__name__)
    }
    missing = {item.__name__ for item in commands - served}
    assert missing <= WITHOUT_VERB.keys()


def _all_subclasses(kind):
    found = set(kind.__subclasses__())
    return found | {item for sub in found for item in _all_subclasses(sub)}


def test_names_are_unique():
    assert len(set(IDS)) == len(IDS)


def test_groups():
    assert {verb.name.split()[0] for verb in VERBS if " " in verb.name} == GROUPS.keys()


@pytest.mark.parametrize("verb", VERBS, ids=IDS)
def test_help(verb, nim):
    done = nim(*verb.name.split(), "--help")
    assert (done.code, done.err) == (0, "")
    assert verb.help in " ".join(done.out.split())
    for option in verb.options:
        assert option.names[-1] in done.out


@pytest.mark.parametrize("verb", VERBS, ids=IDS)
def test_examples_parse(verb):
    words = verb.example.split()
    assert words[:2] == ["kubectl", "nim"]
    assert words[2 : 2 + len(verb.name.split())] == verb.name.split()
    command = make_root()
    for word in verb.name.split():
        command = command.get_command(None, word)
    command.make_context("x", words[2 + len(verb.name.split()) :])


def test_help_imports_no_collection(tmp_path):
    """Help must start fast."""
    import subprocess
    import sys

    code = (
        "import sys; from kubectl_nim.app import run; run(['status', '--help']);"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in"
        " ('ansible', 'kubernetes', 'yaml', 'rich', 'urllib3')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(Path(inspect.getfile(run_module())).parents[1])},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[]"


def test_status_imports_neither_ansible_nor_kubernetes(cluster, tmp_path):
    import os
    import subprocess
    import sys

    code = (
        "import sys; from kubectl_nim.app import run; run(['status', '-A']);"
        "print(sorted(m for m in sys.modules if m in ('ansible', 'kubernetes', 'rich')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
             "KUBECONFIG": cluster.kubeconfig(tmp_path)},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def run_module():
    import kubectl_nim.app

    return kubectl_nim.app
