# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import decimal
import locale
import logging
import os
import resource
import signal
import socket
import sys
import threading
import warnings

count = 0


def do(how: str) -> object:
    global count
    count += 1
    if how == "change":
        socket.setdefaulttimeout(7)
        logging.getLogger("own").setLevel(17)
        logging.root.addHandler(logging.NullHandler())
        os.nice(1)
        sys.setrecursionlimit(1234)
        sys.path.append("/own")
        warnings.simplefilter("error", UserWarning)
        locale.setlocale(locale.LC_ALL, "C")
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        decimal.getcontext().prec = 9
        os.environ["OWN"] = "own"
        os.umask(0o011)
        os.chdir("/")
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
        threading.Thread(target=threading.Event().wait, name="own", daemon=True).start()
        return how
    return [
        count,
        socket.getdefaulttimeout(),
        logging.getLogger("own").level,
        sum(type(item) is logging.NullHandler for item in logging.root.handlers),
        os.nice(0),
        sys.getrecursionlimit(),
        "/own" in sys.path,
        sum(item[0] == "error" and item[2] is UserWarning for item in warnings.filters),
        locale.setlocale(locale.LC_ALL),
        str(signal.getsignal(signal.SIGUSR1)),
        decimal.getcontext().prec,
        os.environ.get("OWN"),
        os.umask(0o022),
        os.path.basename(os.getcwd()),
        resource.getrlimit(resource.RLIMIT_NOFILE),
        [item.name for item in threading.enumerate() if item.name == "own"],
    ]


class FilterModule:
    def filters(self):
        return {"own_state": do}
