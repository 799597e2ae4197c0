# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Pass events of a play from the callback plugin to the Runner in memory, if both are in one process.

The callback plugin writes the data of an event to a file and names the file in the output. The Runner, usually another
process, reads and removes the file. Here the text stays in memory, with the same result.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from ansible_prefork import client

PREFIX = ":1:ev-"
# Turns off the event files in the artifacts, which ansible-operator does not read.
FILES = b"PREFORK_EVENT_FILES"
# The names of events that the caller does not read, unless the run is verbose.
UNREAD = "PREFORK_UNREAD_EVENTS"


class EventStore:
    """The data of events that the Runner has not handled yet."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._has_files = not client.is_off(dict(os.environb), FILES)
        self._unread = frozenset() if is_verbose(sys.argv) else frozenset(os.environ.get(UNREAD, "").split())

    def replace_cache(self, callback: Any) -> None:
        """Replace the cache to which ansible-runner's callback plugin, the module ``callback``, writes."""
        encoder = callback.AnsibleJSONEncoderLocal

        def keep(key: str, value: Any) -> None:
            self._texts[key.removeprefix(PREFIX)] = json.dumps(value, cls=encoder)

        callback.event_context.cache.set = keep

    def attach_to_callback(self, plugins: Any) -> None:
        """Replace the cache when ``plugins``, the callback loader, loads ansible-runner's plugin. Before the play."""
        from ansible_runner import utils

        directory = utils.get_callback_dir()
        stock = plugins._load_module_source

        def load(*arguments: Any, **named: Any) -> Any:
            module = stock(*arguments, **named)
            if os.path.dirname(getattr(module, "__file__", None) or "") == directory:
                self.replace_cache(module)
            return module

        plugins._load_module_source = load

    def attach_to_runner(self) -> None:
        """Make the Runner read events from this store. Before there is a Runner."""
        from ansible_runner.runner import Runner

        stock = Runner.event_callback

        def event_callback(runner: Any, event: dict[str, Any]) -> None:
            text = self._texts.pop(event.get("uuid", ""), None)
            if text is None:
                stock(runner, event)
            else:
                self._handle(runner, event, text)

        Runner.event_callback = event_callback

    def _handle(self, runner: Any, event: dict[str, Any], text: str) -> None:
        """Handle an event as Runner.event_callback does."""
        import ansible_runner
        from ansible_runner.output import debug

        runner.last_stdout_update = time.time()
        try:
            event["runner_ident"] = str(runner.config.ident)
            event.update(json.loads(text))
            event.setdefault("created", datetime.datetime.now(datetime.UTC).isoformat())
            if event.get("event") not in self._unread:
                for plugin in ansible_runner.plugins.values():
                    plugin.event_handler(runner.config, event)
            if self._has_files:
                _write(
                    Path(runner.config.artifact_dir, "job_events", f"{event['counter']}-{event['uuid']}.json"), event
                )
        except OSError as problem:
            debug(f"Failed writing event data: {problem}")


def is_verbose(argv: list[str]) -> bool:
    """Whether the arguments of ansible-runner ask for a verbose play."""
    return any(argument.startswith("-v") for argument in argv[1:])


def _write(path: Path, event: dict[str, Any]) -> None:
    """Write an event atomically, readable only by its owner."""
    temporary = f"{path}.tmp"
    with open(temporary, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(json.dumps(event))
    os.rename(temporary, path)
