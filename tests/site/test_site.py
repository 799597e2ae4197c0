# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The documentation site in Chromium, opened as files and without a network."""

from __future__ import annotations

import time
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest
from nimops_browser.chromium import Browser, open_browser

SITE = Path(__file__).resolve().parents[2] / "build/site"
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
    sent = [
        item["params"]["request"]["url"]
        for item in browser.events
        if item["method"] == "Network.requestWillBeSent"
    ]
    assert sent
    return [url for url in sent if not url.startswith(("file:", "data:"))]


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
