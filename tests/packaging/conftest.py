# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Fixtures with the project's artifacts for users, built once."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "release"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from nimops_release.manifests import LOADER, Manifest, Project
from nimops_release.programs import run_program
from nimops_release.releases import write_chart

ROOT = Path(__file__).resolve().parents[2]
Render = Callable[..., list[Manifest]]


@pytest.fixture(scope="session")
def project() -> Project:
    return Project(ROOT)


@pytest.fixture(scope="session")
def config(project: Project) -> Callable[[str], Sequence[Manifest]]:
    return project.build


@pytest.fixture(scope="session")
def chart(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("dist")
    write_chart(project, output)
    return output / "chart/nimops"


@pytest.fixture(scope="session")
def render(chart: Path, tmp_path_factory: pytest.TempPathFactory) -> Render:
    """Renders the chart with the given values, once per set of values."""
    done: dict[str, list[Manifest]] = {}

    def run(values: dict[str, Any] | None = None) -> list[Manifest]:
        key = json.dumps(values or {}, sort_keys=True)
        if key not in done:
            file = tmp_path_factory.mktemp("values") / "values.yaml"
            file.write_text(key)
            text = run_program(
                "helm", "template", "nimops", str(chart), "-n", "nimops-system", "-f", str(file)
            )
            done[key] = [item for item in yaml.load_all(text, LOADER) if item]
        return done[key]

    return run
