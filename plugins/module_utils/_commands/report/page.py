# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A report as one HTML file, which loads nothing."""

from __future__ import annotations

import base64
import hashlib
import typing as t
from collections import Counter

from .graph import define_arrow
from .markup import Content, Markup, raw_text, tag
from .model import Report
from .parts import class_of, section
from .script import SCRIPT
from .sections import (
    count_states,
    write_fleet,
    write_nodes,
    write_pipelines,
    write_plan,
    write_problems,
    write_storage,
)
from .style import write_style

_TITLES = {
    "problems": "Problems",
    "fleet": "Resources",
    "gpus": "GPUs",
    "storage": "Caches and volumes",
    "pipelines": "Pipelines",
    "plan": "Next reconcile",
    "notes": "Missing",
}


def write_page(report: Report) -> str:
    """The HTML of a report. ``report``: without credentials (`redact_report`)."""
    sections = {
        "problems": write_problems(report.resources),
        "fleet": write_fleet(report.resources),
        "gpus": write_nodes(report),
        "storage": write_storage(report.caches, report.volumes),
        "pipelines": write_pipelines(report.pipelines),
        "plan": write_plan(report.plan),
        "notes": _write_notes(report.notes),
    }
    shown = {key: item for key, item in sections.items() if item}
    body = (
        tag("a", "Skip to the content", href="#main", class_="skip"),
        define_arrow(),
        _write_header(report),
        _write_navigation(shown),
        _write_tools(),
        tag("main", shown.values(), id="main"),
        _write_footer(report),
        raw_text("script", SCRIPT),
    )
    return f"<!DOCTYPE html>\n{tag('html', _write_head(report), tag('body', body), lang='en')}\n"


def _write_head(report: Report) -> Markup:
    style = write_style()
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(SCRIPT)}';"
        " base-uri 'none'; form-action 'none'"
    )
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", _title_of(report)),
        raw_text("style", style),
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"


def _title_of(report: Report) -> str:
    place = f"namespace {report.namespace}" if report.namespace else "all namespaces"
    return f"NVIDIA NIM: {place}"


def _write_header(report: Report) -> Markup:
    time = report.created.replace("T", " ").replace("+00:00", " UTC")
    tiles = (_tile_of_resources(report), _tile_of_gpus(report), _tile_of_plan(report))
    return tag(
        "header",
        tag("h1", _title_of(report)),
        tag("p", tag("time", time, datetime=report.created), class_="muted"),
        tag("div", tiles, class_="tiles"),
    )


def _tile(number: str, text: str, *more: Content) -> Markup:
    return tag("div", tag("b", number), text, more, class_="tile")


def _tile_of_resources(report: Report) -> Markup:
    total = len(report.resources)
    ready = sum(item.line.state == "Ready" for item in report.resources)
    counts = Counter(class_of(item.line.state) for item in report.resources)
    return _tile(
        f"{ready} of {total}",
        "resources are Ready",
        _draw_bar(counts, total),
        tag("p", count_states(report.resources)),
    )


def _draw_bar(counts: t.Mapping[str, int], total: int) -> Markup | None:
    """The shares of the states."""
    parts, x = [], 0.0
    for name in ("ok", "info", "warn", "bad", "off"):
        width = 100 * counts.get(name, 0) / max(total, 1)
        if width:
            place = {"x": f"{x:.2f}", "y": "0", "width": f"{width:.2f}", "height": "4"}
            parts.append(tag("rect", class_=name, **place))
            x += width
    return tag(
        "svg", parts, class_="bar", viewBox="0 0 100 4", preserveAspectRatio="none",
        aria_hidden="true",
    )  # fmt: skip


def _tile_of_gpus(report: Report) -> Markup:
    if report.nodes is None:
        return _tile("-", "GPUs: the nodes could not be read")
    pools = [pool for node in report.nodes for pool in node.pools if not pool.is_slice]
    total, used = sum(pool.total for pool in pools), sum(pool.used for pool in pools)
    broken = sum(pool.unhealthy for pool in pools)
    free = sum(pool.free for pool in pools)
    text = f"{free} free, {broken} unhealthy, on {len(report.nodes)} nodes"
    return _tile(f"{used} of {total}", "GPUs are in use", tag("p", text, class_="muted"))


def _tile_of_plan(report: Report) -> Markup:
    if report.plan is None:
        return _tile("-", "no plan of the next reconcile")
    count = len(report.plan.changes)
    text = "changes by the next reconcile"
    return _tile(str(count), text, tag("p", report.plan.summary, class_="muted"))


def _write_navigation(sections: t.Iterable[str]) -> Markup:
    links = [tag("li", tag("a", _TITLES[key], href=f"#{key}")) for key in sections]
    return tag("nav", tag("ul", links), aria_label="Sections")


def _write_tools() -> Markup:
    """The filter, which the script shows."""
    return tag(
        "div",
        tag("label", "Filter ", tag("input", id="filter", type="search", autocomplete="off")),
        tag("label", tag("input", id="only", type="checkbox"), " only problems and changes"),
        tag("button", "Open all", id="open", type="button"),
        tag("button", "Close all", id="close", type="button"),
        tag("span", id="shown", role="status", class_="muted"),
        id="tools",
        class_="tools",
        role="search",
        hidden=True,
    )


def _write_notes(notes: t.Sequence[str]) -> Markup | None:
    if not notes:
        return None
    return section("notes", "What is missing, and why", tag("ul", [tag("li", it) for it in notes]))


def _write_footer(report: Report) -> Markup:
    versions = ", ".join(f"{name} {text}" for name, text in report.versions if text)
    return tag(
        "footer",
        tag("p", versions),
        tag(
            "p",
            "No Secret was read, and text like a credential is (redacted). A credential with"
            " neither a typical name nor a typical format cannot be recognized: review the file"
            " before you share it.",
        ),
    )
