# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Write a picture of the report of a fleet: `picture.py FILE`, on the sandbox of KUBECONFIG.

It removes the nodes of the sandbox. Exit code 1 if the picture is too large for the README.
"""

from __future__ import annotations

import sys
from pathlib import Path

from nimops_browser.chromium import Browser, find_chromium
from nimops_browser.fleet import create_fleet, kubectl, run_nim

_MAX_BYTES = 200 << 10
_WIDTH, _HEIGHT = 1100, 1500
_SHOWN = ("problems", "gpus", "pipelines")
"""The sections of the picture."""


def main() -> int:
    """Create the fleet, write its report, and take the picture."""
    target = Path(sys.argv[1])
    kubectl("delete", "node", "--all", "--wait=false")
    create_fleet(run_nim)
    report = target.parent.parent.parent / "build/report.html"
    run_nim("report", "--all-namespaces", "--output", str(report))
    browser = Browser(find_chromium())
    try:
        browser.resize(_WIDTH, _HEIGHT)
        browser.open(report)
        shown = ", ".join(f"#{name}" for name in _SHOWN)
        browser.run(f"""document.querySelectorAll("section").forEach((item) => {{
          item.hidden = !item.matches({shown!r});
        }})""")
        height = browser.run("document.querySelector('main').getBoundingClientRect().bottom")
        browser.resize(_WIDTH, int(height) + 20)
        picture = browser.take_screenshot()
    finally:
        browser.close()
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(picture)
    print(f"{target}: {len(picture) >> 10} KiB", file=sys.stderr)
    return int(len(picture) > _MAX_BYTES)


if __name__ == "__main__":
    sys.exit(main())
