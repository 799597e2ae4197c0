# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Waits until custom resources are Ready, deleted, or have a condition."""

from __future__ import annotations

from ..._base.errors import NimError
from ..._base.types import Json
from ..command import CONNECTION_SPEC, Command
from ..references import Reference
from ..text import name_of
from .goal import Outcome, parse_goal
from .wait import FAILED, MET, TIMEOUT, Wait, find_awaited

_MAX_NAMED = 5


class WaitCommand(Command):
    """Waits, and writes nothing. Exit codes: 0 met, 1 failed or stalled, 2 timeout."""

    spec = CONNECTION_SPEC | {
        "resources": {"type": "list", "elements": "str", "default": []},
        "for": {"type": "str", "default": "Ready"},
        "namespace": {"type": "str", "default": ""},
        "selector": {"type": "str", "default": ""},
        "timeout": {"type": "int", "default": 1800},
    }

    def act(self, arguments: Json) -> Json:
        """Print what is met, and report progress."""
        goal, seconds = parse_goal(arguments["for"]), arguments["timeout"]
        given, selector = arguments["resources"] or [], arguments["selector"] or ""
        if selector and any("/" in text for text in given):
            raise NimError("selector: selects among kinds; name no resources besides")
        client = self.connect(arguments)
        namespace, notify = arguments["namespace"] or "", self.print_message
        awaited = find_awaited(client, given, namespace, selector, goal, notify)
        wait = Wait(client, goal, awaited, notify)
        code = wait.run(seconds)
        for kind, _namespace, name in wait.of(Outcome.MET):
            what = "deleted" if goal.is_deletion else f"{goal} condition met"
            self.print_data(f"{Reference(kind, name)}: {what}")
        result: Json = {
            "changed": False,
            "exit_code": code,
            "resources": [
                dict(zip(("kind", "namespace", "name"), key, strict=True)) | state.to_dict()
                for key, state in wait.states.items()
            ],
        }
        return (
            result
            if code == MET
            else result | {"failed": True, "msg": explain_wait(wait, code, seconds)}
        )


def explain_wait(wait: Wait, code: int, seconds: float) -> str:
    """Which resources are not there, and why."""
    states = wait.of(Outcome.FAILED if code == FAILED else Outcome.WAITING)
    shown = [f"{name_of(key)}: {state}" for key, state in states.items()]
    more = len(shown) - _MAX_NAMED
    text = "; ".join(shown[:_MAX_NAMED]) + (f"; and {more} more" if more > 0 else "")
    if code == TIMEOUT:
        hint = "" if any(state.state for state in states.values()) else _NO_OPERATOR
        return f"not {wait.goal} after {seconds:g} s: {text}{hint}"
    return f"stopped waiting, as this needs a change: {text}"


_NO_OPERATOR = (
    ". Nothing reconciles them: install an operator, or use kubectl nim apply or the module"
    " nimops.nim.nim_apply, which need none"
)
