# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Pushes a bundle to a mirror."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from ..._base.errors import NimError
from ..._base.json_size import show_size
from ..._base.types import Json
from ..._http.registry_auth import RegistryError
from ..command import Command
from .hosts import Mirror, hosts_of, save_hosts
from .layout import Entry, Layout
from .registries import REGISTRY_SPEC, Registries, read_authorities
from .transfer import Destination, Meter, Push, parse_destination


class UnbundleCommand(Command):
    """Copies what the mirror lacks, and prints the new references."""

    spec: t.ClassVar[Json] = {
        **REGISTRY_SPEC,
        "bundle": {"type": "path", "required": True},
        "to": {"type": "str", "required": True},
        "hosts_dir": {"type": "path"},
        "output": {"type": "str", "choices": ["text", "json"], "default": "text"},
    }

    def act(self, arguments: Json) -> Json:
        """Push everything; a failure of one image does not stop the others."""
        to = parse_destination(str(arguments["to"] or ""))
        layout = Layout(Path(str(arguments["bundle"])).expanduser())
        entries = _read_entries(layout)
        problems: list[str] = []
        if not self.is_dry:
            push = Push(Registries(arguments), layout, to)
            entries = self._push(push, entries, problems)
        mapping = {entry.name: to.reference_of(entry) for entry in entries}
        if arguments["output"] == "json":
            self.print_data(json.dumps(mapping, indent=2))
        else:
            self.print_data("\n".join(f"{name} {copy}" for name, copy in mapping.items()))
        if arguments["hosts_dir"] and not self.is_dry:
            self._save_hosts(arguments, entries, to)
        result: Json = {"changed": bool(mapping), "images": mapping}
        if problems:
            return result | {"failed": True, "msg": f"not complete: {'; '.join(problems)}"}
        return result

    def _push(self, push: Push, entries: list[Entry], problems: list[str]) -> list[Entry]:
        done = []
        for entry in entries:
            meter = Meter(entry.name, self.print_message)
            try:
                push.push(entry, meter.count)
            except RegistryError as error:
                problems.append(f"{entry.name}: {error}")
                self.print_message(f"failed {entry.name}: {error}")
                continue
            except OSError as error:
                raise NimError(f"bundle: {error.filename}: {error.strerror}") from error
            self.print_message(f"pushed {entry.name}: {show_size(meter.done)}")
            done.append(entry)
        return done

    def _save_hosts(self, arguments: Json, entries: list[Entry], to: Destination) -> None:
        scheme = "http" if to.host in (arguments["plain_http"] or ()) else "https"
        mirror = Mirror(to, scheme, read_authorities(arguments))
        folder = Path(str(arguments["hosts_dir"])).expanduser()
        for file in save_hosts(folder, hosts_of(entries), mirror):
            self.print_message(f"wrote {file}")


def _read_entries(layout: Layout) -> list[Entry]:
    """The images and models of the bundle; NimError if it is none, or empty."""
    try:
        entries = layout.entries()
    except NimError as error:
        raise NimError(f"bundle: {error}") from error
    if not entries:
        raise NimError(f"bundle: {layout.folder} is empty")
    return entries
