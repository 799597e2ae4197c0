# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from pathlib import Path

import pytest
from nimops_sandbox import components, thirdparty, tools
from nimops_sandbox.errors import SandboxError, SetupError
from nimops_sandbox.node import components as node
from nimops_sandbox.settings import REPOSITORY, SANDBOX
from nimops_sandbox.tools import PACKAGING_TOOLS, TOOLS, Tool

GO_MOD = """module m

require example.org/one v1.2.3

require (
	example.org/two v0.4.1-rc.1
	example.org/three/v2 v2.0.0 // indirect
)

replace example.org/four => example.org/four v0.0.9
"""


@pytest.mark.parametrize(
    ("module", "version"),
    [
        pytest.param("example.org/one", "v1.2.3", id="single line"),
        pytest.param("example.org/two", "v0.4.1-rc.1", id="block"),
        pytest.param("example.org/three/v2", "v2.0.0", id="indirect"),
    ],
)
def test_read_version(module: str, version: str) -> None:
    assert tools.read_version(GO_MOD, module) == version


@pytest.mark.parametrize("module", ["example.org/three", "example.org/four", "example.org/tw"])
def test_read_version_missing(module: str) -> None:
    with pytest.raises(SandboxError, match=module):
        tools.read_version(GO_MOD, module)


def test_linker_flags() -> None:
    assert tools.linker_flags(Tool("t", {"t": "."}), GO_MOD) == "-s -w"
    stamped = Tool(
        "t", {"t": "."}, "example.org/one", ("v.full=v{major}.{minor}.{patch}", "v.m={major}")
    )
    assert tools.linker_flags(stamped, GO_MOD) == "-s -w -X v.full=v1.2.3 -X v.m=1"


def test_of_release() -> None:
    usual, older = tools.of_release(TOOLS, ""), tools.of_release(TOOLS, "1.30")
    assert usual == TOOLS
    differ = [tool.name for tool, former in zip(older, usual, strict=True) if tool != former]
    assert differ == ["kubernetes-1.30"]


@pytest.mark.parametrize(
    "tool",
    [
        *TOOLS,
        *tools.of_release(tools.select_tools(["kubectl"]), "1.30"),
        *tools.NEIGHBOR_TOOLS.values(),
        *tools.NODE[len(tools.CONTROL_PLANE) :],
        *PACKAGING_TOOLS,
    ],
    ids=lambda tool: "-".join(tool.packages),
)
def test_tool_versions(tool: Tool) -> None:
    source = tool.source
    tools.linker_flags(tool, (source / "go.mod").read_text())
    for package in tool.packages.values():
        assert (source / package / "main.go").exists() == package.startswith(".")


def test_component_tools() -> None:
    programs = {program for tool in TOOLS for program in tool.packages}
    assert (
        set(components.NAMES) | {"kubectl", "ansible-operator", "nimops-apiproxy", "pki"}
        == programs
    )


def test_node_component_tools() -> None:
    programs = {program for tool in tools.NODE for program in tool.packages}
    names = {*components.NAMES, *node.NAMES}
    assert names - {"containerd"} | {"kubectl", "pki", "pause"} == programs


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("docs/operate/install.md", "All tests run on @;"),
        ("docs/user/tested.md", "| Kubernetes | @;"),
        ("hack/generate_crds.py", 'KUBERNETES = "@"'),
        ("sandbox/README.md", "does not serve DRA | @ |"),
        ("sandbox/nimops_sandbox/cli.py", "(default: @)"),
    ],
    ids=lambda value: value if "/" in value else "",
)
def test_documented_kubernetes(file: str, text: str) -> None:
    minor = tools.kubernetes_version().removeprefix("v").rpartition(".")[0]
    assert text.replace("@", minor) in (REPOSITORY / file).read_text()


@pytest.mark.parametrize("file", ["sandbox/README.md", "sandbox/nimops_sandbox/cli.py"])
def test_documented_releases(file: str) -> None:
    [shown] = re.findall(r"SANDBOX_KUBERNETES=([\d., `]+\d)", (REPOSITORY / file).read_text())
    others = {path.name.partition("-")[2] for path in (SANDBOX / "tools").glob("kubernetes-*")}
    assert set(re.findall(r"[\d.]+", shown)) == others
    for release in others:
        assert tools.kubernetes_version(release).startswith(f"v{release}.")


def test_select_tools() -> None:
    by_name = {tool.name: tool for tool in TOOLS + PACKAGING_TOOLS}
    assert tools.select_tools([]) == TOOLS
    lws = tools.NEIGHBOR_TOOLS["lws"]
    assert tools.select_tools(["lws-controller-manager"]) == (lws,)
    assert tools.select_tools(["opm", "kubectl", "olm"]) == (by_name["olm"], by_name["kubernetes"])
    with pytest.raises(SetupError, match=r"tiller: not one of .*helm"):
        tools.select_tools(["helm", "tiller"])


def test_definition_modules() -> None:
    go_mod = (SANDBOX / "tools/crds/go.mod").read_text()
    for module in thirdparty.FILES:
        assert tools.read_version(go_mod, module)


@pytest.mark.parametrize("tool", tools.NEIGHBOR_TOOLS.values(), ids=lambda tool: tool.name)
def test_neighbor_versions(tool: Tool) -> None:
    """The resource definitions that all instances have are those of the controller."""
    if tool.versioned in thirdparty.FILES:
        pinned = [
            tools.read_version((SANDBOX / "tools" / folder / "go.mod").read_text(), tool.versioned)
            for folder in (tool.name, "crds")
        ]
        assert pinned[0] == pinned[1]


def test_find_program(tmp_path: Path) -> None:
    for name, mode in (("a", 0o644), ("b", 0o755), ("c", 0o755)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "etcd").touch(mode)
    folders = [tmp_path / name for name in ("missing", "a", "b", "c")]
    assert tools.find_program("etcd", folders) == tmp_path / "b/etcd"
    assert tools.find_program("kwok", folders) is None


def test_split_json() -> None:
    assert list(thirdparty.split_json('{"a": "1"}\n{\n"b": "}"\n}\n')) == [{"a": "1"}, {"b": "}"}]
    assert list(thirdparty.split_json("\n")) == []
