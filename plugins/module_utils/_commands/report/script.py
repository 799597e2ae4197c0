# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The script of a report: filter, and all details open while it is printed.

Without it, only the filter is missing.
"""

from __future__ import annotations

SCRIPT = """
(() => {
  "use strict";
  const find = (selector) => [...document.querySelectorAll(selector)];
  const box = document.getElementById("filter");
  const only = document.getElementById("only");
  const shown = document.getElementById("shown");
  const groups = find("[data-group]");
  const all = find("details");
  const items = find("[data-item]").map((item) => {
    const name = item.closest("[data-group]")?.querySelector("[data-name]");
    return [item, `${name ? name.textContent : ""} ${item.textContent}`.toLowerCase()];
  });
  let open = null;
  const remember = () => new Map(all.map((item) => [item, item.open]));
  const restore = (states) => states.forEach((value, item) => { item.open = value; });

  const apply = () => {
    const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
    const isFiltered = words.length > 0 || only.checked;
    let count = 0;
    for (const [item, text] of items) {
      const fits = (!only.checked || item.hasAttribute("data-problem"))
        && words.every((word) => text.includes(word));
      item.hidden = !fits;
      count += fits ? 1 : 0;
    }
    if (isFiltered && !open) open = remember();
    for (const group of groups) {
      const hasSome = group.querySelector("[data-item]:not([hidden])") !== null;
      group.hidden = isFiltered && !hasSome;
      if (isFiltered && hasSome && group.tagName === "DETAILS") group.open = true;
    }
    if (!isFiltered && open) { restore(open); open = null; }
    shown.textContent = isFiltered ? `${count} of ${items.length} entries` : "";
  };

  const setAll = (value) => all.forEach((item) => { item.open = value; });
  let printed = null;
  box.addEventListener("input", apply);
  only.addEventListener("change", apply);
  document.getElementById("open").addEventListener("click", () => setAll(true));
  document.getElementById("close").addEventListener("click", () => setAll(false));
  addEventListener("beforeprint", () => { printed = remember(); setAll(true); });
  addEventListener("afterprint", () => { if (printed) restore(printed); });
  document.getElementById("tools").hidden = false;
  apply();
})();
"""
