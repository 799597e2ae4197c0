# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The tests mirror the modules: plugins/module_utils/A/b.py is tested by A/test_b.py here."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = HERE.parents[3] / "plugins/module_utils"

UNTESTED = {
    "_base/errors.py": "exceptions without logic",
    "_base/types.py": "names of types",
    "_commands/apply/command.py": "tests/unit/plugins/playbooks runs it",
    "_commands/bundle/command.py": "_commands/bundle/test_transfer.py runs it",
    "_commands/bundle/unbundle_command.py": "_commands/bundle/test_transfer.py runs it",
    "_commands/gather/command.py": "tests/unit/plugins/playbooks runs it",
    "_commands/gpu/status_command.py": "tests/unit/plugins/playbooks runs it",
    "_commands/gpu/upgrade_plan_command.py": "tests/unit/plugins/playbooks runs it",
    "_commands/images/command.py": "tests/unit/plugins/playbooks runs it",
    "_commands/install/command.py": "tests/unit/plugins/playbooks runs it",
    "_commands/model_files/command.py": "_commands/model_files/test_model_files.py runs it",
    "_commands/plan/command.py": "tests/unit/plugins/playbooks runs it",
    "_commands/preflight/command.py": "tests/unit/plugins/playbooks runs it",
    "_commands/profiles/command.py": "tests/unit/plugins/playbooks runs it",
    "_commands/release/command.py": "tests/unit/plugins/playbooks runs it",
    "_commands/render/command.py": "tests/unit/plugins/playbooks runs it",
    "_commands/status/command.py": "tests/unit/plugins/playbooks runs it",
    "_commands/takeover/command.py": "tests/unit/plugins/playbooks runs it",
    "_commands/wait/command.py": "_commands/wait/test_wait.py runs it",
    "_commands/files.py": "tests/unit/plugins/playbooks runs it",
    "_commands/signals.py": "tests/unit/plugins/playbooks runs it",
    "_commands/gather/command_lines.py": "a part of redact.py, whose formats test_secret_formats.py lists",
    "_commands/gather/known_formats.py": "a part of redact.py, whose formats test_secret_formats.py lists",
    "_commands/gather/named_values.py": "a part of redact.py, whose formats test_secret_formats.py lists",
    "_commands/gather/sensitive_names.py": "a part of redact.py, whose formats test_secret_formats.py lists",
    "_commands/gather/value_ends.py": "a part of redact.py, whose formats test_secret_formats.py lists",
    "_commands/gather/confusables.py": "a part of redact.py, whose formats test_secret_formats.py lists",
    "_commands/gather/tables.py": "a part of redact.py, whose formats test_secret_formats.py lists",
    "_gpu/upgrade/labels.py": "constants",
    "_gpu/upgrade/states.py": "constants",
    "_engine/generated_keys.py": "one constant; _cluster/test_private_keys.py uses it",
    "_engine/served_kinds.py": "generated table; test_kinds.py compares it",
    "_nim/build/kind.py": "declaration; tests/unit/config checks what is generated from it",
    "_nim/build/constants.py": "constants",
    "_nim/cache/kind.py": "declaration, as that of NIMBuild",
    "_nim/cache/constants.py": "constants",
    "_nim/pipeline/kind.py": "declaration, as that of NIMBuild",
    "_nim/service/kind.py": "declaration, as that of NIMBuild",
    "_nim/service/pod/variant.py": "a data class without logic",
}
"""Module -> why it needs no tests."""

OF_FOLDERS = {
    "test_air_gap.py": "bundle, unbundle and the download in a pod, without a route to another network",
    "test_bad_input.py": "what every kind of a floor says of bad input",
    "test_conformance.py": "a kind against recorded objects of the reference operator",
    "test_foreign.py": "all kinds where children are somebody else's",
    "test_layers.py": "which module imports which",
    "test_mirror.py": "this file",
    "test_patterns.py": "regular expressions on all versions of Python",
    "test_passes.py": "several passes over a resource of a kind",
    "test_products.py": "every field of every kind: what becomes large with another",
    "test_secret_documents.py": "documents of random shape, in which gather leaves no secret",
    "test_secret_formats.py": "the formats in which gather finds secrets",
    "test_secret_snippets.py": "texts as programs print them, in which gather leaves no secret",
    "test_spec_reads.py": "where specs are read",
    "test_takeover.py": "a kind takes over objects of the reference operator",
    "test_user_env.py": "all kinds whose spec has `env`",
}
"""Test file → its subject, instead of one module."""


def modules() -> set[str]:
    return {
        file.relative_to(MODULES).as_posix()
        for file in MODULES.rglob("*.py")
        if file.name != "__init__.py"
    }


def mirrors() -> set[str]:
    return {
        file.relative_to(HERE).as_posix()
        for file in HERE.rglob("test_*.py")
        if file.name not in OF_FOLDERS
    }


def mirror_of(module: str) -> str:
    """The test file of a module; `_kinds.py` has `test_kinds.py`."""
    path = Path(module)
    return path.with_name(f"test_{path.name.lstrip('_')}").as_posix()


def test_modules_have_test_files() -> None:
    assert modules(), MODULES
    missing = {mirror_of(module) for module in modules() - UNTESTED.keys()} - mirrors()
    assert missing == set()


def test_test_files_have_modules() -> None:
    assert mirrors() - {mirror_of(module) for module in modules()} == set()


def test_mirror_exemptions_are_needed() -> None:
    assert UNTESTED.keys() - modules() == set(), "these modules do not exist"
    tested = {module for module in UNTESTED if mirror_of(module) in mirrors()}
    assert tested == set(), "these modules have tests"
    used = {file.name for file in HERE.rglob("test_*.py")}
    assert OF_FOLDERS.keys() - used == set(), "these files do not exist"
