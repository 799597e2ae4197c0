# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""python -m nimops_supervisor: run ansible-operator, guard its runs, start it again when it dies."""

from __future__ import annotations

import argparse
import os
import sys

from nimops_supervisor import settings
from nimops_supervisor.runtime import StartError, Supervisor

_USAGE = 2
_EPILOG = """
environment:
  NIMOPS_RUN_SECONDS     seconds that one run may take (300; 0: no limit)
  NIMOPS_RUN_MEMORY_MIB  MiB of data that each process of a run may have (512; 0: no limit)
  PREFORK=off            runs are the stock programs; they are guarded all the same

exit codes: 0 ended as asked by a signal, 2 cannot start as it is called, else that of a command
that keeps dying
"""


def address(text: str) -> tuple[str, int]:
    """Host and port of `127.0.0.1:8082` or `:8082`."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no address such as :8082 or 127.0.0.1:8082")
    return host.strip("[]"), int(port)


def make_parser() -> argparse.ArgumentParser:
    """The arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m nimops_supervisor",
        description=(__doc__ or "").partition(": ")[2],
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--liveness-bind-address",
        type=address,
        metavar="ADDRESS",
        help="where GET /livez tells whether the runtime answers and its runs end (default: nowhere)",
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help="-- ansible-operator run …")
    return parser


def main() -> int:
    """Run until a signal or the runtime ends it; the exit code."""
    parser = make_parser()
    arguments = parser.parse_args()
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not command:
        parser.error("name the command to run, as in: -- ansible-operator run")
    try:
        settings.run_seconds(), settings.run_mebibytes()
        return Supervisor(command, dict(os.environ), arguments.liveness_bind_address).run()
    except (StartError, settings.SettingsError, OSError) as error:
        print(f"supervisor: {error}", file=sys.stderr)
        return _USAGE


if __name__ == "__main__":
    sys.exit(main())
