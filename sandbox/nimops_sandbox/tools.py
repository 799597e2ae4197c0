# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The programs of the sandbox, found or built."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from .errors import SandboxError, SetupError
from .gocache import GoCache
from .settings import REPOSITORY, SANDBOX

_OPERATOR = "github.com/operator-framework/ansible-operator-plugins"
_HELM = "helm.sh/helm/v3"
_HELM_4 = "helm.sh/helm/v4"
_COSIGN = "github.com/sigstore/cosign/v3"
_REGISTRY = "github.com/google/go-containerregistry"
_LWS = "sigs.k8s.io/lws"
_KEDA = "github.com/kedacore/keda/v2"
_KSERVE = "github.com/kserve/kserve"
_KNATIVE = "knative.dev/serving"
_EPP = "sigs.k8s.io/gateway-api-inference-extension"
_PROMETHEUS = "github.com/prometheus/prometheus"
_GATEWAY = "github.com/envoyproxy/gateway"
_GATEWAY_VERSION = f"{_GATEWAY}/internal/cmd/version.envoyGatewayVersion"
_METRICS_SERVER = "sigs.k8s.io/metrics-server"
_PIP = (
    "-m",
    "pip",
    "download",
    "--quiet",
    "--disable-pip-version-check",
    "--no-deps",
    "--require-hashes",
    "--only-binary=:all:",
    "--requirement=requirements.txt",
)
_KUBERNETES = "kubernetes"
_KUBERNETES_VERSION = (
    "gitVersion=v{major}.{minor}.{patch}",
    "gitMajor={major}",
    "gitMinor={minor}",
)


@dataclass(frozen=True)
class Tool:
    """A Go module and packages to build from it, by program name.

    The module is in `folder` (by default, under tools/). A package that is built as a dependency
    does not know its version: `variables` are set to the version of the module `versioned`.
    With `cgo`, the build needs a C compiler. `wheels` are programs that are not written in Go: by
    name, the path in a Python package of the folder's requirements.txt.
    """

    name: str
    packages: dict[str, str]
    versioned: str = ""
    variables: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    folder: Path | None = None
    cgo: bool = False
    wheels: dict[str, str] = field(default_factory=dict)

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of all programs."""
        return (*self.packages, *self.wheels)

    @property
    def source(self) -> Path:
        """The module's folder."""
        return self.folder or SANDBOX / "tools" / self.name


def read_version(go_mod: str, module: str) -> str:
    """Return the version of `module` that a go.mod requires, such as v1.2.3."""
    match = re.search(rf"^(?:require\s+|\s+){re.escape(module)} (v\S+)", go_mod, re.MULTILINE)
    if match is None:
        raise SandboxError(f"go.mod does not require {module}")
    return match[1]


def kubernetes_version(release: str = "") -> str:
    """Return the version of this release of Kubernetes, such as 1.30; empty for the default."""
    folder = SANDBOX / "tools" / "-".join(filter(None, (_KUBERNETES, release)))
    return read_version((folder / "go.mod").read_text(), "k8s.io/kubernetes")


def _of_kubernetes(*programs: str) -> Tool:
    return Tool(
        _KUBERNETES,
        {program: f"k8s.io/kubernetes/cmd/{program}" for program in programs},
        "k8s.io/kubernetes",
        tuple(
            f"{package}.{variable}"
            for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
            for variable in _KUBERNETES_VERSION
        ),
    )


CONTROL_PLANE = (
    Tool("pki", {"pki": "."}),
    Tool("etcd", {"etcd": "."}),
    _of_kubernetes("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"),
    Tool("kwok", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"}),
)
TOOLS = (
    *CONTROL_PLANE,
    Tool(
        "ansible-operator",
        {"ansible-operator": f"{_OPERATOR}/cmd/ansible-operator"},
        _OPERATOR,
        (
            f"{_OPERATOR}/internal/version.Version=v{{major}}.{{minor}}.{{patch}}",
            f"{_OPERATOR}/internal/version.GitVersion=v{{major}}.{{minor}}.{{patch}}",
        ),
    ),
    Tool(
        "apiproxy",
        {"nimops-apiproxy": "./cmd/nimops-apiproxy"},
        folder=REPOSITORY / "packages/nimops-apiproxy",
    ),
)
NODE = (
    *CONTROL_PLANE,
    _of_kubernetes("kubelet", "kube-proxy"),
    Tool("node", {name: f"./{name}" for name in ("coredns", "local-path", "pause")}),
)


_DEFAULT = kubernetes_version().removeprefix("v").split(".")
# Programs that no control plane needs, but the checks and the release do: `build NAME`.
PACKAGING_TOOLS = (
    Tool(
        "helm",
        {"helm": f"{_HELM}/cmd/helm"},
        _HELM,
        (
            f"{_HELM}/internal/version.version=v{{major}}.{{minor}}.{{patch}}",
            # Without a cluster, `template` assumes this Kubernetes.
            *(
                f"{_HELM}/pkg/{package}.k8sVersion{part}={value}"
                for package in ("chartutil", "lint/rules")
                for part, value in zip(("Major", "Minor"), _DEFAULT, strict=False)
            ),
        ),
    ),
    # Without a cluster, this one assumes the Kubernetes of its client.
    Tool(
        "helm4",
        {"helm4": f"{_HELM_4}/cmd/helm"},
        _HELM_4,
        (f"{_HELM_4}/internal/version.version=v{{major}}.{{minor}}.{{patch}}",),
    ),
    Tool(
        "olm",
        {"olm": ".", "opm": "github.com/operator-framework/operator-registry/cmd/opm"},
        # Image signatures are not checked; the alternative implementation needs C.
        tags=("containers_image_openpgp",),
    ),
    Tool("crdify", {"crdify": "sigs.k8s.io/crdify"}),
    Tool("licenses", {"licenses": "."}),
    # It parses comments with grammars in C.
    Tool("vale", {"vale": "github.com/vale-cli/vale/v3/cmd/vale"}, cgo=True),
    Tool(
        "signing",
        {"cosign": f"{_COSIGN}/cmd/cosign", "crane": f"{_REGISTRY}/cmd/crane"},
        _COSIGN,
        ("sigs.k8s.io/release-utils/version.gitVersion=v{major}.{minor}.{patch}",),
    ),
)
# Controllers of other projects, by name: see neighbors.py.
NEIGHBOR_TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "lws",
            {"lws-controller-manager": f"{_LWS}/cmd"},
            _LWS,
            (f"{_LWS}/pkg/version.GitVersion=v{{major}}.{{minor}}.{{patch}}",),
        ),
        Tool(
            "epp",
            {"epp": f"{_EPP}/cmd/epp", "epp-client": "./epp-client"},
            _EPP,
            (f"{_EPP}/version.BuildRef=v{{major}}.{{minor}}.{{patch}}",),
        ),
        Tool(
            "prometheus",
            {it: f"{_PROMETHEUS}/cmd/{it}" for it in ("prometheus", "promtool")},
            _PROMETHEUS,
            # Targets come from files only: discovery in clouds would double the build.
            tags=("remove_all_sd",),
        ),
        Tool("kserve", {"kserve-controller-manager": "."}, _KSERVE),
        Tool(
            "metrics",
            {
                "metrics-server": f"{_METRICS_SERVER}/cmd/metrics-server",
                "prometheus-adapter": "./prometheus-adapter",
            },
            _METRICS_SERVER,
            ("k8s.io/component-base/version.gitVersion=v{major}.{minor}.{patch}",),
        ),
        Tool(
            "gateway",
            {"envoy-gateway": f"{_GATEWAY}/cmd/envoy-gateway", "grpc-backend": "./grpc-backend"},
            _GATEWAY,
            (f"{_GATEWAY_VERSION}=v{{major}}.{{minor}}.{{patch}}",),
            wheels={"envoy": "envoy/_bin/envoy"},
        ),
        Tool(
            "keda",
            {
                "keda-operator": f"{_KEDA}/cmd/operator",
                "keda-metrics-apiserver": "./keda-metrics-apiserver",
            },
            _KEDA,
            (f"{_KEDA}/version.Version=v{{major}}.{{minor}}.{{patch}}",),
        ),
        Tool("knative", {"knative-serving": "."}, _KNATIVE),
    )
}


def select_tools(names: Sequence[str]) -> tuple[Tool, ...]:
    """Return the tools that provide these programs; without names, those of a control plane."""
    tools = (*TOOLS, *NEIGHBOR_TOOLS.values(), *PACKAGING_TOOLS)
    known = {name: tool for tool in tools for name in tool.programs}
    for name in names:
        if name not in known:
            raise SetupError(f"{name}: not one of {', '.join(sorted(known))}")
    return tuple({known[name].name: known[name] for name in names}.values()) or TOOLS


def of_release(tools: Iterable[Tool], kubernetes: str) -> tuple[Tool, ...]:
    """Return the tools, with this release of Kubernetes, such as 1.30; empty for the default."""
    return tuple(
        replace(tool, name=f"{tool.name}-{kubernetes}")
        if kubernetes and tool.name == _KUBERNETES
        else tool
        for tool in tools
    )


def provide_programs(
    cache: GoCache, folders: Sequence[Path], tools: Iterable[Tool] = TOOLS
) -> dict[str, Path]:
    """Return each program's path: from the first folder that has it, or built."""
    programs: dict[str, Path] = {}
    for tool in tools:
        found = {program: find_program(program, folders) for program in tool.programs}
        missing = [program for program, path in found.items() if path is None]
        built = _build(cache, tool) if missing else None
        for program, path in found.items():
            programs[program] = path or Path(str(built), program)
    return programs


def find_program(program: str, folders: Sequence[Path]) -> Path | None:
    """Return the first executable file of that name."""
    for folder in folders:
        path = folder / program
        if path.is_file() and os.access(path, os.X_OK):
            return path
    return None


def linker_flags(tool: Tool, go_mod: str) -> str:
    """Return the flags that omit debug tables and set the tool's variables."""
    flags = ["-s", "-w"]
    if tool.variables:
        version = read_version(go_mod, tool.versioned)
        major, minor, patch = version.removeprefix("v").split(".", 2)
        for variable in tool.variables:
            flags += ["-X", variable.format(major=major, minor=minor, patch=patch)]
    return " ".join(flags)


def _build(cache: GoCache, tool: Tool) -> Path:
    source = tool.source
    flags = linker_flags(tool, (source / "go.mod").read_text())
    # No debug tables from the start: they take a fifth of the compile time.
    lean = ["-gcflags=all=-dwarf=false", f"-ldflags={flags}"]
    tags = [f"-tags={','.join(tool.tags)}"] if tool.tags else []
    programs = list(tool.packages)
    command = ["go", "build", "-mod=readonly", "-buildvcs=false", *tags, *lean]

    def make(result: Path) -> None:
        target = str(result / programs[0]) if len(programs) == 1 else f"{result}{os.sep}"
        output = ["-o", target, *tool.packages.values()]
        doing = f"building {', '.join(tool.packages)}"
        cache.run(command + output, source, doing, CGO_ENABLED=str(int(tool.cgo)))
        for program, package in tool.packages.items() if len(programs) > 1 else ():
            (result / (Path(package).name or program)).rename(result / program)
        if tool.wheels:
            _unpack_wheels(cache, tool, result)

    recipe = [*command, *tool.packages.values(), *tool.wheels.values()]
    return cache.provide(source, " ".join(recipe), make)


def _unpack_wheels(cache: GoCache, tool: Tool, result: Path) -> None:
    with tempfile.TemporaryDirectory(dir=result) as folder:
        command = [sys.executable, *_PIP, f"--dest={folder}"]
        cache.run(command, tool.source, f"fetching {', '.join(tool.wheels)}")
        for wheel in Path(folder).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                for program, path in tool.wheels.items():
                    if path in archive.namelist():
                        (result / program).write_bytes(archive.read(path))
                        (result / program).chmod(0o755)
    missing = [program for program in tool.wheels if not (result / program).is_file()]
    if missing:
        raise SandboxError(f"no package of {tool.source}/requirements.txt has {missing[0]}")
