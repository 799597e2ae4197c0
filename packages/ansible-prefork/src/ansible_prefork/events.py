# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Events of a play in the process of ansible-runner: from its callback plugin to its Runner without a file between.

The callback plugin writes the data of an event to a file and names it in the output; the Runner, which is usually
another process, reads and removes that file. Here the text stays in memory. What is made of it is the same.
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
# Whether each event is written to the artifacts, too. ansible-operator does not read these files.
FILES = b"PREFORK_EVENT_FILES"
# Names of events that nobody reads, unless the run is a verbose one.
UNREAD = "PREFORK_UNREAD_EVENTS"


class EventStore:
    """The data of events that are under way."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._has_files = not client.is_off(dict(os.environb), FILES)
        self._unread = frozenset() if is_verbose(sys.argv) else frozenset(os.environ.get(UNREAD, "").split())

    def take_over(self, callback: Any) -> None:
        """Be what the callback plugin of ansible-runner, just loaded as that module, writes to."""
        encoder = callback.AnsibleJSONEncoderLocal

        def keep(key: str, value: Any) -> None:
            self._texts[key.removeprefix(PREFIX)] = json.dumps(value, cls=encoder)

        callback.event_context.cache.set = keep

    def meet_callback(self, plugins: Any) -> None:
        """In this process, before the play: ``plugins`` are the loader of callback plugins."""
        from ansible_runner import utils

        directory = utils.get_callback_dir()
        stock = plugins._load_module_source

        def load(*arguments: Any, **named: Any) -> Any:
            module = stock(*arguments, **named)
            if os.path.dirname(getattr(module, "__file__", None) or "") == directory:
                self.take_over(module)
            return module

        plugins._load_module_source = load

    def meet_runner(self) -> None:
        """In this process, before it has a Runner."""
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
        """What Runner.event_callback does with the event."""
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
    """Whether ansible-runner was asked for a verbose play."""
    return any(argument.startswith("-v") for argument in argv[1:])


def _write(path: Path, event: dict[str, Any]) -> None:
    """As a whole, readable for its owner only."""
    temporary = f"{path}.tmp"
    with open(temporary, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(json.dumps(event))
    os.rename(temporary, path)
