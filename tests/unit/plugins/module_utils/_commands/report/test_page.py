# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A report as HTML: text of a cluster stays text, whatever it contains."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from html.parser import HTMLParser

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.page import write_page
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.parts import (
    DOCUMENTATION,
)
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

VOID = {"input", "meta"}
HOSTILE = [
    "<script>alert(1)</script>", "</script><script>", "</style>", "<!--", "-->", "<![CDATA[", "]]>",
    '"', "'", '" onload="x', "' onfocus='x", "javascript:alert(1)", "&lt;b&gt;", "&#60;b&#62;", "<",
    ">", "&", "<img src=x onerror=x>", "<svg/onload=x>", "{{ 7 * 7 }}", "</title>", "\x00", "\x1b[2J",
    "\u202e", "\ud800", "\u2028", "[x](javascript:x)", "`", "\n<b>", "url(#x)", "</textarea>",
]  # fmt: skip


class Outline(HTMLParser):
    """The elements with the names of their attributes; all elements must be closed."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.texts = [], [], []
        self.values = {}
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, tuple(name for name, _value in attrs)))
        for name, value in attrs:
            self.values.setdefault(name, set()).add(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def handle_comment(self, data):
        pytest.fail(f"comment {data!r}")

    handle_pi = unknown_decl = handle_comment

    def text(self, *, of=""):
        return "".join(data for tag, data in self.texts if tag == of or not of)


@pytest.fixture
def benign(make_report):
    return Outline(write_page(make_report("x")))


texts = st.lists(
    st.sampled_from(HOSTILE) | st.text(st.characters(exclude_characters="\n"), max_size=12),
    min_size=1,
    max_size=6,
).map(lambda parts: "x" + "".join(parts))


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=texts)
@example(text="x" + "".join(HOSTILE))
def test_text_is_never_markup(text, make_report, benign):
    found = Outline(write_page(make_report(text)))
    assert found.elements == benign.elements
    assert found.values.keys() == benign.values.keys()
    assert found.values["href"] == benign.values["href"]
    assert found.values["class"] == benign.values["class"]
    assert found.values["id"] == benign.values["id"]
    assert found.text(of="script") == benign.text(of="script")
    assert found.text(of="style") == benign.text(of="style")


@pytest.mark.parametrize("text", ["<script>x(1)</script>", '" onload="x', "a&amp;b", "<b>ü</b>"])
def test_text_is_shown_as_it_is(text, make_report):
    found = Outline(write_page(make_report(text)))
    for element in ("title", "h1", "td", "h3", "text", "li", "p", "strong", "code", "pre"):
        assert text in found.text(of=element), element


def test_names_of_elements_and_attributes(benign):
    assert not [name for name in benign.values if name.startswith("on") or name == "style"]
    assert [tag for tag, _names in benign.elements].count("script") == 1
    assert [tag for tag, _names in benign.elements].count("style") == 1
    assert not {"a", "form", "iframe", "img", "object", "base", "link"} & {
        tag for tag, names in benign.elements if "src" in names
    }


def test_nothing_is_loaded(make_report, benign):
    html = write_page(make_report())
    (policy,) = (item for item in benign.values["content"] if "default-src" in item)
    assert policy.startswith("default-src 'none'; ")
    for element in ("style", "script"):
        digest = hashlib.sha256(benign.text(of=element).encode()).digest()
        assert f"{element}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert "src" not in benign.values
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttp|import\(", html)
    assert all(item.startswith(("#", DOCUMENTATION)) for item in benign.values["href"])
    assert f"{DOCUMENTATION}user/troubleshooting.md" not in html or "rel" in benign.values


def test_identifiers_are_unique(make_report):
    html = write_page(make_report(size=3))
    found = re.findall(r' id="([^"]*)"', html)
    assert len(found) == len(set(found))
    targets = set(re.findall(r' href="#([^"]*)"', html)) | set(
        re.findall(r' aria-labelledby="([^"]*)"', html)
    )
    assert targets <= set(found)


def test_500_services_in_time_and_size(make_report, make_line):
    lines = [
        make_line(number, **({"state": "Ready", "reason": "", "message": ""} if number % 3 else {}))
        for number in range(500)
    ]
    found = make_report("a-rather-long-name-of-a-service", size=100, lines=lines)
    begun = time.process_time()
    html = write_page(found)
    assert time.process_time() - begun < 2
    assert len(html.encode()) < 3 << 20
    assert html.count("data-item") > 1000


def test_empty_report(make_report):
    from dataclasses import replace

    empty = replace(
        make_report(), resources=(), nodes=None, caches=(), volumes=(), pipelines=(), plan=None,
        notes=(), faults=(), namespace="",
    )  # fmt: skip
    text = Outline(write_page(empty)).text()
    for part in (
        "All resources are Ready", "There are no custom resources", "nodes could not be read",
        "no caches and no volumes", "has no plan", "all namespaces",
    ):  # fmt: skip
        assert part in text
