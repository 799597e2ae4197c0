# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Writes a report about custom resources and GPUs as one HTML file."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ..._base.errors import NimError
from ..command import CONNECTION_SPEC, Command
from ..files import atomic_file
from ..gather.command import collection_version
from .page import write_page
from .reading import Reading, read_report

_STDOUT = "-"


class ReportCommand(Command):
    """Reads the cluster and writes one file, readable only by its owner."""

    spec = CONNECTION_SPEC | {
        "namespace": {"type": "str", "default": ""},
        "path": {"type": "str", "default": "nim-report.html"},
        "plan": {"type": "bool", "default": True},
    }

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Write the file, and print its path; for `-`, print the report."""
        file = None if arguments["path"] == _STDOUT else Path(arguments["path"]).expanduser()
        if file and file.is_dir():
            raise NimError(f"path: {file}: is a folder; name a file")
        if self.is_dry:
            self.print_message(f"would write {file or 'the report to stdout'}")
            return {"changed": False, "skipped": True}
        reading = Reading(self.connect(arguments), arguments["namespace"] or "", self.print_message)
        versions = {"nimops.nim": collection_version()}
        report = read_report(reading, versions, self.find_filters(), with_plan=arguments["plan"])
        html = write_page(report)
        if file is None:
            self.print_data(html)
        else:
            with atomic_file(file.absolute()) as stream:
                stream.write(html.encode())
            self.print_data(str(file))
        return {
            "changed": file is not None,
            "path": str(file or _STDOUT),
            "bytes": len(html.encode()),
            "problems": sum(item.has_problem for item in report.resources),
            "missing": list(report.notes),
        }
