# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Write a picture of the report of a fleet: `picture.py FILE`, on the sandbox of KUBECONFIG.

It removes the nodes of the sandbox. Exit code 1 if the picture is too large for the README.
"""

from __future__ import annotations

import sys
from pathlib import Path

from nimops_browser.chromium import Browser, find_chromium
from nimops_browser.fleet import ROOT, create_fleet, kubectl, run_nim

_MAX_BYTES = 200 << 10
_WIDTH, _HEIGHT = 1240, 1500
_LEFT_OUT = "nav, #tools, #fleet, #storage, #plan, #problems details:nth-of-type(n+3)"
"""Elements that are not in the picture."""


def main() -> int:
    """Create the fleet, write its report, and take the picture."""
    report = ROOT / "build/report.html"
    kubectl("delete", "node", "--all", "--wait=false")
    create_fleet(run_nim)
    run_nim("report", "--all-namespaces", "--output", str(report))
    picture = take_picture(report)
    target = Path(sys.argv[1])
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(picture)
    print(f"{target}: {len(picture) >> 10} KiB", file=sys.stderr)
    return int(len(picture) > _MAX_BYTES)


def take_picture(report: Path) -> bytes:
    """A part of a report as PNG."""
    browser = Browser(find_chromium())
    try:
        browser.resize(_WIDTH, _HEIGHT)
        browser.open(report)
        browser.run(f"""document.querySelectorAll({_LEFT_OUT!r}).forEach((item) => {{
          item.hidden = true;
        }})""")
        height = browser.run("document.querySelector('main').getBoundingClientRect().bottom")
        browser.resize(_WIDTH, int(height) + 20)
        return browser.take_screenshot()
    finally:
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
