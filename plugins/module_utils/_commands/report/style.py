# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The style of a report: two palettes, and print."""

from __future__ import annotations

import typing as t

LIGHT = {
    "page": "#ffffff", "panel": "#f4f6f8", "text": "#1c2127", "muted": "#57606a",
    "line": "#d0d7de", "edge": "#7b8590", "link": "#0a4da3", "focus": "#0a4da3",
    "ok": "#d8f5df", "ok-text": "#0f5323", "bad": "#ffe4e1", "bad-text": "#9a0f25",
    "warn": "#fff3bf", "warn-text": "#6a4700", "info": "#dbeeff", "info-text": "#0a3468",
    "off": "#e7ebef", "off-text": "#40474f",
    "used": "#2468c9", "used-too": "#7a4bc4", "broken": "#c4212f",
    "plus": "#0f5323", "minus": "#9a0f25",
}  # fmt: skip
DARK = {
    "page": "#0f1318", "panel": "#181d24", "text": "#e6eaef", "muted": "#a3adb8",
    "line": "#333b45", "edge": "#75808c", "link": "#84bdff", "focus": "#84bdff",
    "ok": "#12331e", "ok-text": "#86e29b", "bad": "#43161b", "bad-text": "#ffb0aa",
    "warn": "#3a2d05", "warn-text": "#f3cf6b", "info": "#10304f", "info-text": "#aad4ff",
    "off": "#262c34", "off-text": "#bac3cd",
    "used": "#5b9bf0", "used-too": "#b08ae8", "broken": "#f2656f",
    "plus": "#86e29b", "minus": "#ffb0aa",
}  # fmt: skip
"""Colors by role. `line` only decorates."""

TEXTS = tuple(
    (text, behind)
    for text in ("text", "muted", "link", "plus", "minus")
    for behind in ("page", "panel")
) + tuple((f"{name}-text", name) for name in ("ok", "bad", "warn", "info", "off"))
"""Pairs of text and background: a contrast of 4.5 or more."""
SHAPES = tuple(
    (shape, behind)
    for shape in ("edge", "focus", "used", "used-too", "broken")
    for behind in ("page", "panel")
)
"""Pairs of shape and background: a contrast of 3 or more."""

_RULES = """
* { box-sizing: border-box; }
html { scroll-padding-top: 5rem; }
[hidden] { display: none !important; }
body { margin: 0 auto; padding: 1rem 1.5rem 3rem; max-width: 90rem; background: var(--page);
  color: var(--text); font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; margin: 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 0; }
p { margin: .3rem 0; }
a { color: var(--link); }
code, pre { font: .87em/1.45 ui-monospace, "DejaVu Sans Mono", monospace; }
code { background: var(--off); color: var(--off-text); padding: .05em .3em; border-radius: 3px;
  overflow-wrap: anywhere; }
pre { margin: .4rem 0; padding: .5rem .7rem; background: var(--page); border: 1px solid var(--line);
  border-radius: 6px; overflow-x: auto; }
.plus { color: var(--plus); }
.minus { color: var(--minus); }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { position: static; }
.muted { color: var(--muted); }
.whole { white-space: nowrap; }
nav ul, .plain { list-style: none; margin: 0; padding: 0; }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .6rem 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: .8rem;
  margin: 1rem 0 0; }
.tile { background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  padding: .6rem .9rem; }
.tile b { display: block; font-size: 1.5rem; line-height: 1.3; }
.bar { display: block; width: 100%; height: .5rem; margin-top: .4rem; }
.tools { display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: center; margin-top: 1rem;
  position: sticky; top: 0; background: var(--page); padding: .6rem 0; z-index: 1;
  border-bottom: 1px solid var(--line); }
input, button { font: inherit; color: var(--text); background: var(--page);
  border: 1px solid var(--edge); border-radius: 6px; padding: .3rem .6rem; }
input[type=search] { width: 20rem; max-width: 70vw; }
input[type=checkbox] { accent-color: var(--used); }
details { background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  margin: .5rem 0; padding: 0 .9rem; }
summary { padding: .5rem 0; cursor: pointer; }
details > :last-child:not(summary) { margin-bottom: .8rem; }
details details { background: none; border: 0; padding: 0; margin: 0; }
summary h3 { display: inline; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; color: var(--muted); }
th, td { text-align: left; vertical-align: top; padding: .3rem .7rem .3rem 0;
  border-top: 1px solid var(--line); overflow-wrap: anywhere; }
th { color: var(--muted); font-weight: 600; border-top: 0; white-space: nowrap; }
td:first-child { white-space: nowrap; }
.badge { display: inline-block; padding: 0 .5em; border-radius: 1em; white-space: nowrap;
  background: var(--off); color: var(--off-text); }
.ok { background: var(--ok); color: var(--ok-text); fill: var(--ok-text); }
.bad { background: var(--bad); color: var(--bad-text); fill: var(--bad-text); }
.warn { background: var(--warn); color: var(--warn-text); fill: var(--warn-text); }
.info { background: var(--info); color: var(--info-text); fill: var(--info-text); }
.off { background: var(--off); color: var(--off-text); fill: var(--off-text); }
.advice { border-left: 4px solid var(--edge); margin: .4rem 0; padding: .1rem .8rem; }
.nodes { display: grid; grid-template-columns: repeat(auto-fill, minmax(22rem, 1fr)); gap: .8rem; }
.node { background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  padding: .6rem .9rem; break-inside: avoid; }
.cells { display: flex; flex-wrap: wrap; gap: 3px; margin: .3rem 0; }
.cells i { width: 1.1rem; height: 1.1rem; border-radius: 3px; border: 2px solid var(--edge); }
.cells .u { background: var(--used); border-color: var(--used); }
.cells .v { background: var(--used-too); border-color: var(--used-too); }
.cells .x { border-color: var(--broken); background: repeating-linear-gradient(45deg,
  var(--broken) 0 3px, transparent 3px 6px); }
.slice i { width: .7rem; }
.scroll { overflow-x: auto; }
.graph rect { stroke-width: 2; }
.graph text { font-size: 13px; fill: currentColor; }
.graph .kind { font-size: 11px; }
.graph g { background: none; }
.graph .box { stroke: currentColor; }
.graph .ok .box { fill: var(--ok); }
.graph .bad .box { fill: var(--bad); }
.graph .warn .box { fill: var(--warn); }
.graph .info .box { fill: var(--info); }
.graph .off .box { fill: var(--off); stroke-dasharray: 5 4; }
.graph path { fill: none; stroke: var(--edge); stroke-width: 1.8; }
.tip { fill: var(--edge); }
.defs { position: absolute; }
footer { margin-top: 3rem; color: var(--muted); border-top: 1px solid var(--line); }
"""
_PRINT = """
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  .tools, nav, .skip { display: none !important; }
  details, .tile, .node { break-inside: auto; background: none; }
  tr, .node, .advice { break-inside: avoid; }
  h2, summary { break-after: avoid; }
  .nodes { grid-template-columns: 1fr 1fr; }
  details::details-content { content-visibility: visible !important; display: block !important;
    block-size: auto !important; }
  .scroll { overflow: visible; }
  pre { white-space: pre-wrap; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""


def write_style() -> str:
    """The style sheet. Print always uses the light palette."""
    light, dark = _declare(LIGHT), _declare(DARK)
    return (
        f":root {{ color-scheme: light dark; {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
        f"{_RULES}{_PRINT}"
    )


def _declare(palette: t.Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {color};" for name, color in palette.items())
