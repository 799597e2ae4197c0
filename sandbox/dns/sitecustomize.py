# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Resolves names of Services in each Python process that has this folder on PYTHONPATH.

The file that NIMOPS_SANDBOX_NAMES names is written by `model_server.py --names`: {host: {port:
[address, port]}}. Only KServe reports URLs with such names, for the operator to query.
"""

from __future__ import annotations

import json
import os
import socket
import typing as t
from pathlib import Path

_look_up = socket.getaddrinfo


def find(names: dict[str, dict[str, list[t.Any]]], host: t.Any, port: t.Any) -> list[t.Any]:
    """Address and port behind a Service's name in any cluster domain, or else these themselves."""
    found = [routes for name, routes in names.items() if f"{host}.".startswith(f"{name}.")]
    return next((routes.get(str(port)) or [host, port] for routes in found), [host, port])


def look_up(host: t.Any, port: t.Any, *args: t.Any, **kwargs: t.Any) -> t.Any:
    # Read each time: prefork's parents start without the variable, and their runs have it.
    path = Path(os.environ.get("NIMOPS_SANDBOX_NAMES") or os.devnull)
    names = json.loads(path.read_text() or "{}") if path.exists() else {}
    return _look_up(*find(names, host, port), *args, **kwargs)


socket.getaddrinfo = look_up
