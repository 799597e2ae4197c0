#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Write docs/reference/chart-values.md from values.schema.json of the Helm chart.

--check writes nothing and exits 1 if the file would change.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from generated_files import make_parser, update

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/chart-values.md"

sys.path.insert(0, str(ROOT / "release"))

from nimops_release.chart import Chart  # noqa: E402  # found by the path above
from nimops_release.manifests import Project  # noqa: E402
from nimops_release.values import write_reference  # noqa: E402


def main() -> int:
    """Write or check the page."""
    options = make_parser(__doc__ or "").parse_args()
    schema = json.loads(Chart(Project(ROOT)).files()["values.schema.json"])
    return update({PAGE: write_reference(schema)}, check=options.check)


if __name__ == "__main__":
    sys.exit(main())
