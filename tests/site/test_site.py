# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The documentation site in Chromium, opened as files and without a network."""

from __future__ import annotations

import os
import subprocess
import time
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from nimops_browser.chromium import Browser, open_browser

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build/site"
VENV = ROOT / "build/docs-venv"
SECONDS = 60
FOUND = "[...document.querySelectorAll('.md-search-result__item > a')].map((item) => item.href)"

pytestmark = pytest.mark.skipif(not SITE.is_dir(), reason="build/site is missing: make docs")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    browser = open_browser(pytest)
    yield browser
    browser.close()


def wait_for(browser: Browser, expression: str) -> t.Any:
    deadline = time.monotonic() + SECONDS
    while not (found := browser.run(expression)):
        assert time.monotonic() < deadline, f"{expression}: {browser.problems()}"
        time.sleep(0.2)
    return found


def find_foreign(browser: Browser) -> list[str]:
    """The addresses on other hosts that the page requested."""
    return [url for url in find_requests(browser) if not url.startswith(("file:", "data:"))]


def find_requests(browser: Browser) -> list[str]:
    """The addresses that the page requested."""
    sent = [
        item["params"]["request"]["url"]
        for item in browser.events
        if item["method"] == "Network.requestWillBeSent"
    ]
    assert sent
    return sent


@pytest.mark.parametrize(
    "page", ["index.html", "user/nimservice.html", "reference/kinds/nimcache.html"]
)
def test_no_request_to_another_host(browser: Browser, page: str) -> None:
    browser.open(SITE / page)
    assert browser.run("document.styleSheets.length") > 0
    assert find_foreign(browser) == []


def count_drawings(browser: Browser) -> int:
    """The drawings of Mermaid: the theme puts each into a closed shadow root."""
    nodes = [browser.call("DOM.getDocument", depth=-1, pierce=True)["root"]]
    found = 0
    while nodes:
        node = nodes.pop()
        shadows = node.get("shadowRoots", [])
        found += any(item["localName"] == "svg" for root in shadows for item in root["children"])
        nodes += [*node.get("children", ()), *shadows]
    return found


DRAWN = "document.querySelectorAll('div.mermaid').length"


def test_diagrams(browser: Browser) -> None:
    """Each diagram is drawn, by a script of the site."""
    page = SITE / "develop/architecture.html"
    wanted = page.read_text().count('<pre class="mermaid">')
    assert wanted > 1
    browser.open(page)
    wait_for(browser, f"{DRAWN} === {wanted}")
    assert count_drawings(browser) == wanted
    assert find_foreign(browser) == []


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("keep-claim", "user/nimcache.html"),
        ("status.download.percent", "reference/kinds/nimcache.html"),
        ("metricRelabelings", "reference/chart-values.html"),
    ],
)
def test_search(browser: Browser, words: str, page: str) -> None:
    browser.open(SITE / "index.html")
    browser.run("document.querySelector('.md-search__input').focus()")
    for letter in words:
        browser.press(letter)
    links = wait_for(browser, FOUND)
    assert any(f"/{page}" in link for link in links), links


HOST = "http://docs.test/"
PAGE = """\
INHERIT: {site}/mkdocs.yml
docs_dir: {folder}/docs
site_dir: {folder}/built
strict: false
nav: [README.md]
hooks: [{hooks}]
"""


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The branch of two versions of a small site, as files."""
    folder = tmp_path_factory.mktemp("versions")
    (folder / "docs").mkdir()
    (folder / "docs/README.md").write_text("# A page\n")
    site = ROOT / "hack/site"
    for name, hooks in (("1.0", f"{site}/hook.py"), ("1.1", "")):
        (folder / f"{name}.yml").write_text(PAGE.format(site=site, folder=folder, hooks=hooks))
    who = {
        f"GIT_{role}_{key}": "a" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")
    }
    environment = os.environ | who | {"NO_MKDOCS_2_WARNING": "1"}
    environment["PATH"] = f"{VENV}/bin:{environment['PATH']}"
    mike = ("mike", "deploy", "--branch", "site", "--update-aliases")
    for command in (
        ("git", "init", "--quiet"),
        ("git", "commit", "--quiet", "--allow-empty", "--message=first"),
        (*mike, "--config-file", "1.0.yml", "1.0"),
        (*mike, "--config-file", "1.1.yml", "1.1", "latest"),
        ("git", "worktree", "add", "--quiet", "branch", "site"),
    ):
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    return folder / "branch"


def test_selector_of_versions(browser: Browser, versions: Path) -> None:
    browser.serve(HOST, versions)
    browser.open(f"{HOST}1.0/index.html")
    shown = "document.querySelector('.md-version__current')?.textContent.trim()"
    assert wait_for(browser, shown).startswith("1.0")
    links = "[...document.querySelectorAll('.md-version__link')].map((item) => item.href)"
    assert browser.run(links) == [f"{HOST}1.1/", f"{HOST}1.0/"]
    assert [url for url in find_requests(browser) if not url.startswith((HOST, "data:"))] == []
