# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""python -m nimops_supervisor: run ansible-operator, guard its runs, restart it when it crashes."""

from __future__ import annotations

import argparse
import os
import sys

from nimops_supervisor import settings
from nimops_supervisor.runtime import StartError, Supervisor

_USAGE = 2
_EPILOG = """
environment:
  NIMOPS_RUN_SECONDS     time limit of a run in seconds (300; 0: no limit)
  NIMOPS_RUN_MEMORY_MIB  data segment limit of each process of a run in MiB (512; 0: no limit)
  NIMOPS_NEMO=off        do not serve the NeMo kinds
  NIMOPS_COMPONENT       also serve an optional part of the installation, such as gpu (none)
  NIMOPS_RECONCILE=role  reconcile by roles instead of one task (task)
  NIMOPS_API_PROXY=off   connect the runtime to the API server without nimops-apiproxy
  PREFORK=off            run the stock programs; runs are still guarded

exit codes: 0 stopped by a signal, 2 wrong usage or cannot start, otherwise the exit code of the
command that kept crashing
"""


def address(text: str) -> tuple[str, int]:
    """Host and port of `127.0.0.1:8082` or `:8082`."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not an address such as :8082 or 127.0.0.1:8082")
    return host.strip("[]"), int(port)


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
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
        help="where to serve GET /livez (default: nowhere)",
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help="-- ansible-operator run …")
    return parser


def main() -> int:
    """Run the supervisor; its exit code."""
    parser = make_parser()
    arguments = parser.parse_args()
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not command:
        parser.error("missing command, for example: -- ansible-operator run")
    try:
        settings.run_seconds(), settings.run_mebibytes()
        return Supervisor(command, dict(os.environ), arguments.liveness_bind_address).run()
    except (StartError, settings.SettingsError, OSError) as error:
        print(f"supervisor: {error}", file=sys.stderr)
        return _USAGE


if __name__ == "__main__":
    sys.exit(main())
