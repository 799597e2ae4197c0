# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The report of a fleet on the sandbox of KUBECONFIG, opened in Chromium."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from nimops_browser.chromium import Browser, open_browser
from nimops_browser.fleet import TOKEN, create_fleet, kubectl, remove_fleet, run_nim


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The report about all namespaces."""
    if not os.environ.get("KUBECONFIG"):
        pytest.fail("KUBECONFIG is not set: run it by make observability")
    file = tmp_path_factory.mktemp("report") / "nim-report.html"
    try:
        create_fleet(run_nim)
        assert run_nim("report", "--all-namespaces", "--output", str(file)) == f"{file}\n"
        yield file
    finally:
        remove_fleet()


@pytest.fixture(scope="module")
def page(report: Path) -> Iterator[Browser]:
    browser = open_browser(pytest)
    browser.open(report)
    yield browser
    browser.close()


def read(page: Browser, selector: str) -> str:
    """The text of all elements, also of closed details."""
    found = page.run(f"[...document.querySelectorAll({selector!r})].map((it) => it.textContent)")
    return "\n".join(found)


def test_page_has_no_problems(page: Browser) -> None:
    assert page.problems() == []
    assert read(page, "#notes") == ""


def test_problems_with_advice(page: Browser) -> None:
    text = read(page, "#problems")
    assert "NIMService: NIMCacheNotFound" in text
    assert "Fix: create it; the service then continues at once" in text
    assert "Insufficient nvidia.com/gpu" in text
    assert "no node fits: GPUs, node selector, taints" in text


def test_gpus(page: Browser) -> None:
    nodes = {node.partition("NVIDIA")[0]: node for node in read(page, "#gpus article").splitlines()}
    assert "4 of 8 in use, 3 free, 1 unhealthy" in nodes["h100-2"]
    assert "NIMService chat/llama-70b: 4" in nodes["h100-2"]
    assert "8 of 8 in use, 0 free" in nodes["h100-1"]
    assert "nvidia.com/mig-2g.20gb (device plugin): 3 of 6 in use" in nodes["a100-1"]
    assert "NIMService rag/rag-answers: 1" in nodes["a100-1"]


def test_devices_of_dra(page: Browser) -> None:
    """The sandbox offers some on its own node."""
    assert "gpu.nvidia.com gpu" in read(page, "#gpus article")


def test_caches_and_volumes(page: Browser) -> None:
    text = read(page, "#storage")
    assert "llama-70b-pvc" in text
    assert "NIMCache embedqa, NIMService rag-embed" in text


def test_pipeline(page: Browser) -> None:
    label = page.run("document.querySelector('#pipelines svg').getAttribute('aria-label')")
    assert "rag-speech (Off)" in label
    assert "rag-answers uses rag-llm; rag-answers uses rag-rerank" in label


def test_plan(page: Browser) -> None:
    text = read(page, "#plan")
    assert "to create" in text
    assert "ConfigMap chat/llama-70b-manifest" in text


def test_no_credentials(report: Path) -> None:
    html = report.read_text()
    assert TOKEN in kubectl("-n", "chat", "get", "nimservice", "coder", "-o", "yaml")
    assert TOKEN not in html
    assert "not-a-real-key" not in html


def test_one_namespace(report: Path, tmp_path: Path) -> None:
    """Users of GPUs in other namespaces are not named."""
    file = tmp_path / "rag.html"
    run_nim("report", "--namespace", "rag", "--no-plan", "--output", str(file))
    html = file.read_text()
    assert "NIMService rag/rag-llm" in html
    assert "other namespaces" in html
    assert "llama-70b" not in html.replace("llama-3.3-70b", "")
    assert "This report has no plan" in html
