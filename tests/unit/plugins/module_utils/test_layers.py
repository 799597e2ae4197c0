# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Arrows point down: docs/develop/architecture.md has the floors."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[4]
ROOT = REPOSITORY / "plugins/module_utils"
FAMILIES = {file.parents[1].name for file in ROOT.glob("_*/*/kind.py")}
KINDS = {".".join(file.parent.relative_to(ROOT).parts) for file in ROOT.glob("_*/*/kind.py")}
FLOORS = ["_base", "_engine", "_builders", "families", "_http", "_cluster", "_kinds", "_commands"]
MODULES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts): file for file in ROOT.rglob("*.py")
}
PLUGINS = sorted(file.relative_to(REPOSITORY) for file in REPOSITORY.glob("plugins/**/*.py"))

GPU_KINDS = re.compile("NVIDIADriver|ClusterPolicy|clusterpolic|nvidiadriver")
GENERATED = {
    "plugins/module_utils/_kinds.py",
    "plugins/module_utils/_engine/served_kinds.py",
    "packages/nimops-apiproxy/internal/nodes/declared.go",
}
METRICS = {
    "hack/generate_dashboards.py",
    "hack/generate_effects.py",
    "packages/nimops-apiproxy/internal/fleet/write.go",
    "packages/nimops-apiproxy/internal/proxy/metrics.go",
}
"""Files that name kinds in metrics of NVIDIA's operators, in titles and in the reference."""


@cache
def imports_of(module: str) -> set[str]:
    """The modules of ours that one imports."""
    found = set()
    package = module.split(".")[:-1]
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] + (node.module or "").split(".")
            home = ".".join(part for part in base if part)
            for name in node.names:
                longer = f"{home}.{name.name}" if home else name.name
                found.add(longer if longer in MODULES else home)
    return found


def floor_of(module: str) -> int:
    top = module.split(".", maxsplit=1)[0]
    return FLOORS.index("families" if top in FAMILIES else top)


def kind_of(module: str) -> str | None:
    """The folder of a kind that a module is in."""
    folder = ".".join(module.split(".")[:2])
    return folder if folder in KINDS else None


@pytest.mark.parametrize("module", sorted(MODULES))
def test_layers_import_only_below(module: str) -> None:
    above = {other for other in imports_of(module) if floor_of(other) > floor_of(module)}
    assert above == set()


@pytest.mark.parametrize(
    "module", sorted(name for name in MODULES if name.split(".")[0] in FAMILIES)
)
def test_layers_families_and_kinds_are_independent(module: str) -> None:
    """A kind may import its family, a family lower layers, and neither imports a kind."""
    family = module.split(".", maxsplit=1)[0]
    found = imports_of(module)
    assert {other.split(".")[0] for other in found} & (FAMILIES - {family}) == set()
    assert {kind for other in found if (kind := kind_of(other))} <= {kind_of(module)}


def test_layers_io_is_independent_of_kinds() -> None:
    for module in MODULES:
        if module.startswith(("_cluster.", "_http.")):
            assert not {name.split(".")[0] for name in imports_of(module)} & (FAMILIES | {"_kinds"})


@pytest.mark.parametrize("file", PLUGINS, ids=str)
def test_layers_import_what_ansible_core_has(file: Path) -> None:
    """A file imports other packages only in functions, or where it catches ImportError.

    Modules may run on a host without PyYAML; plugins run where ansible-core is installed.
    """
    packages = set()
    for node in ast.parse((REPOSITORY / file).read_text()).body:
        if isinstance(node, ast.Import):
            packages |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            packages.add(str(node.module).split(".")[0])
    is_for_hosts = file.parts[1] in ("modules", "module_utils")
    of_core = {"ansible", "ansible_collections"} | (set() if is_for_hosts else {"yaml"})
    assert packages <= sys.stdlib_module_names | of_core


@pytest.mark.parametrize(
    "folder",
    [
        *("plugins/action", "plugins/filter", "plugins/module_utils", "plugins/plugin_utils"),
        *("hack", "packages"),
    ],
)
def test_layers_gpu_kinds_named_only_in_gpu(folder: str) -> None:
    files = [
        file.relative_to(REPOSITORY)
        for file in (REPOSITORY / folder).rglob("*")
        if file.suffix in (".py", ".go", ".sh")
    ]
    assert files
    assert not [
        str(file)
        for file in files
        if not {"_gpu", "tests"} & set(file.parts)
        and not file.name.endswith("_test.go")
        and file.as_posix() not in GENERATED | METRICS
        and GPU_KINDS.search((REPOSITORY / file).read_text())
    ]


def test_layers_without_import_cycle() -> None:
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join([*path[path.index(module) :], module])
        if module in done:
            return
        for other in imports_of(module):
            if other in MODULES:
                visit(other, (*path, module))
        done.add(module)

    for module in MODULES:
        visit(module, ())


def test_layers_without_folder_cycle_in_kind() -> None:
    """The dependencies of a sub-package of a kind do not depend on it."""
    arrows: dict[str, set[str]] = {}

    def room(module: str) -> str:
        parts = module.split(".")
        return ".".join(parts[:3])

    for module in MODULES:
        if kind_of(module) == "_nim.service":
            mine = room(module)
            arrows.setdefault(mine, set()).update(
                room(other) for other in imports_of(module) if room(other) != mine
            )
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name not in done:
            for other in arrows.get(name, ()):
                visit(other, (*path, name))
            done.add(name)

    for name in arrows:
        visit(name, ())
