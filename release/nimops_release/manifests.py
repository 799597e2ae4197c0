# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The objects built from config/, the only source of all installation methods."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .errors import ReleaseError
from .programs import find_program

PUBLISHER = "release/publisher.yaml"
PLACEHOLDERS = "placeholders"
CAPABILITY = "Seamless Upgrades"
"""the level that the operator claims, in the words of OLM and of Artifact Hub"""

Manifest = dict[str, Any]
Notify = Callable[[str], None]

NAMESPACE = "nimops-system"
"""the namespace of config/default"""
MANAGER = "nimops-controller-manager"
"""the name of the Deployment and of its ServiceAccount"""
_EXAMPLES = ("apps_*.yaml", "nemo_*.yaml")
"""samples, one for each kind"""
MANAGER_ROLE = "nimops-manager-role"
"""the ClusterRole of the operator; a Role if it serves selected namespaces"""


@dataclass(frozen=True)
class Project:
    """A checkout, or a copy of a checkout."""

    root: Path

    @property
    def galaxy(self) -> dict[str, Any]:
        loaded: dict[str, Any] = yaml.safe_load((self.root / "galaxy.yml").read_text())
        return loaded

    @property
    def publisher(self) -> dict[str, str]:
        """Who publishes the project, and where."""
        return {key: value for key, value in self._publisher().items() if key != PLACEHOLDERS}

    @property
    def placeholders(self) -> list[str]:
        """The keys of the publisher's values that are not real yet."""
        return list(self._publisher()[PLACEHOLDERS])

    def _publisher(self) -> dict[str, Any]:
        loaded: dict[str, Any] = yaml.safe_load((self.root / PUBLISHER).read_text())
        return loaded

    @property
    def version(self) -> str:
        return str(self.galaxy["version"])

    # Callers must not modify the result.
    @functools.cache  # noqa: B019 there is one project
    def build(self, folder: str) -> Sequence[Manifest]:
        """Return the objects of a kustomization below config/, in kustomize's order."""
        # kustomize is built into kubectl, which the sandbox needs anyway.
        command = [str(find_program("kubectl")), "kustomize", str(self.root / "config" / folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ReleaseError(f"config/{folder} does not build:\n{done.stderr.strip()}")
        return tuple(yaml.load_all(done.stdout, LOADER))


LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Dumper(yaml.SafeDumper):
    """A dumper without anchors, which cannot be shared between documents."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    )


_Dumper.add_representer(str, _represent_text)


def to_yaml(item: Any) -> str:
    """Return one document, with keys in the given order."""
    # Unlimited width: folded text would be hard to compare.
    return yaml.dump(item, Dumper=_Dumper, sort_keys=False, width=1_000_000, allow_unicode=True)


def to_yaml_stream(items: Iterable[Any]) -> str:
    """Return all documents of a file."""
    return "---\n".join(to_yaml(item) for item in items)


def read_samples(project: Project) -> list[Manifest]:
    """Return one example for each kind of config/default."""
    folder = project.root / "config/samples"
    files = [file for name in _EXAMPLES for file in sorted(folder.glob(name))]
    return [item for file in files for item in yaml.safe_load_all(file.read_text())]


def key_of(item: Manifest) -> tuple[str, str]:
    """Return kind and name: no two objects of ours share both."""
    return str(item["kind"]), str(item["metadata"]["name"])


def by_key(items: Iterable[Manifest]) -> dict[tuple[str, str], Manifest]:
    return {key_of(item): item for item in items}


def of_kind(items: Iterable[Manifest], *kinds: str) -> list[Manifest]:
    return [item for item in items if item["kind"] in kinds]


def manager_of(items: Sequence[Manifest]) -> Manifest:
    """Return the Deployment."""
    return by_key(items)["Deployment", MANAGER]
