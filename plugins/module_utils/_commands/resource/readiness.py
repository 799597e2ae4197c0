# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Waits until an operator has made a custom resource Ready."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._base.types import Fields, Json
from ..._cluster.client import Client
from ..._engine.api_resources import identity
from ..plan.preview import path_of
from ..wait.command import explain_wait
from ..wait.goal import Goal, Outcome, judge
from ..wait.wait import MET, Wait

_READY = Goal()


def is_ready(resource: Fields) -> bool:
    """Whether a live custom resource is Ready with its current spec."""
    return judge(_READY, resource, "").outcome is Outcome.MET


def wait_until_ready(
    client: Client, resource: Json, seconds: float, notify: t.Callable[[str], None]
) -> Json:
    """The resource once it is Ready.

    NimError after a timeout, or if it cannot become Ready. ``notify`` is called when its status
    changes.
    """
    uid = str(resource["metadata"].get("uid") or "")
    wait = Wait(client, _READY, {identity(resource): uid}, notify)
    code = wait.run(seconds)
    if code != MET:
        raise NimError(explain_wait(wait, code, seconds))
    return {**resource, **(client.get(path_of(resource)) or {})}
