# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Takes a cluster over from the reference operator, or returns it."""

from __future__ import annotations

import os
import typing as t
from datetime import UTC, datetime
from pathlib import Path

from ..._base.errors import ApiError, NimError
from ..._base.types import Json
from ..command import CONNECTION_SPEC, Command
from ..files import read_objects
from ..release.release import describe as describe_finalizer
from .backup import (
    Backup,
    sort_backup,
    write_backup,
)
from .handover import (
    Order,
    Situation,
    Takeover,
    describe,
)
from .snapshot import (
    Comparison,
)


class TakeoverCommand(Command):
    """Hands over the cluster; in check mode it only reports."""

    spec = CONNECTION_SPEC | {
        "manifests": {"type": "list", "elements": "str"},
        "back": {"type": "bool", "default": False},
        "backup": {"type": "str"},
        "operator_namespace": {"type": "str"},
        "wait_timeout": {"type": "int", "default": 300},
    }

    def act(self, arguments: Json) -> Json:
        """Report the changes, and make them unless in check mode."""
        manifests = read_objects(arguments["manifests"] or [])
        namespace = arguments["operator_namespace"] or ""
        order = Order(manifests, namespace, arguments["wait_timeout"])
        takeover = Takeover(self.connect(arguments), order, self.print_message)
        now = takeover.inspect()
        return (self._back if arguments["back"] else self._there)(takeover, now, arguments)

    def _there(self, takeover: Takeover, now: Situation, arguments: Json) -> Json:
        takeover.check(now)
        found = takeover.preview(now, self.find_filters())
        self.print_data(describe(now, found))
        result: Json = {"changes": [change.to_dict() for change in found.changes]}
        if now.is_taken_over:
            self.print_message(
                "nothing to do: the reference operator is stopped, and ours is running"
            )
            return result | {"changed": False}
        if self.is_dry:
            self.print_message(
                f"nothing was written: run it again with {self.console.name_option('yes', 'true')}"
            )
            return result | {"changed": True}
        file = self._save(takeover.backup(now), arguments["backup"])
        way_back = self._way_back(file, arguments)
        announced = {change.key for change in found.changes if change.restarts}
        return result | self._run(lambda: takeover.take_over(now, announced), file, way_back)

    def _back(self, takeover: Takeover, now: Situation, arguments: Json) -> Json:
        takeover.check_return(now)
        obstacles = takeover.obstacles()
        for item in obstacles.removable:
            metadata = item["metadata"]
            self.print_data(f"- delete {item['kind']} {metadata['namespace']}/{metadata['name']}")
        for item in takeover.foreign_finalizers():
            self.print_data(describe_finalizer(item))
        for text in obstacles.describe():
            self.print_data(f"! {text}")
        saved = sort_backup(read_objects([arguments["backup"]])) if arguments["backup"] else None
        if saved is None:
            self.print_message(
                "backup: not set, so CRDs and webhooks are not changed: restore them with the"
                " reference operator's chart"
            )
        if self.is_dry:
            self.print_message(
                f"nothing was written: run it again with {self.console.name_option('yes', 'true')}"
            )
            return {"changed": True, "obstacles": obstacles.describe()}
        result = self._run(lambda: takeover.give_back(now, saved or Backup()), "", "")
        return result | {"obstacles": obstacles.describe()}

    def _run(self, do: t.Callable[[], Comparison], file: str, way_back: str) -> Json:
        """The result of a takeover; a failure message contains the way back."""
        advice = f". To go back: {way_back}" if way_back else ""
        try:
            found = do()
        except (ApiError, NimError) as error:
            return {"failed": True, "changed": True, "msg": f"{error}{advice}", "backup": file}
        for text in found.lost:
            self.print_message(f"! {text}")
        self.print_message(found.kept)
        if way_back:
            self.print_message(f"to go back: {way_back}")
        return {"changed": True, "msg": found.kept, "lost": found.lost, "backup": file}

    def _save(self, backup: Backup, given: str | None) -> str:
        """Write the backup to a new file; returns its path."""
        name = given or f"nimops-takeover-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.yaml"
        file = Path(name).expanduser()
        try:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as stream:
                stream.write(write_backup(backup))
        except FileExistsError as error:
            raise NimError(f"backup: {file} exists; name another file") from error
        except OSError as error:
            raise NimError(f"backup: {file}: {error.strerror}") from error
        self.print_message(f"wrote the backup {file}")
        return str(file.absolute())

    def _way_back(self, file: str, arguments: Json) -> str:
        passed = {key: arguments[key] for key in _PASSED_ON if arguments[key]}
        return self.console.name_command("takeover", back="true", yes="true", backup=file, **passed)


_PASSED_ON = ("operator_namespace", "kubeconfig", "context")
