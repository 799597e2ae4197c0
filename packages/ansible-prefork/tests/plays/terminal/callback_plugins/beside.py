# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Uses the terminal of the play beside Ansible, in its process."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import subprocess
import sys
import termios
import threading

from ansible.plugins.callback import CallbackBase
from ansible.utils.display import Display

NAMES = ("SIGHUP", "SIGPIPE", "SIGQUIT", "SIGUSR1")


def ignored_in_child() -> str:
    done = subprocess.run(
        ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"], capture_output=True, text=True, check=True
    )
    return " ".join(done.stdout.split())


def write_last() -> None:
    threading.main_thread().join()
    os.write(1, b"\nby a thread\n")


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_NAME = "beside"
    CALLBACK_TYPE = "aggregate"

    def v2_playbook_on_play_start(self, play):
        os.write(1, b"by descriptor 1\n")
        os.write(2, b"by descriptor 2\n")
        sys.stdout.write("by stdout\n")
        sys.stderr.write("by stderr\n")
        subprocess.run(["echo", "by a child"], stdout=1, check=True)
        subprocess.run("head -c 200000 /dev/zero | tr '\\0' x | fold -w 5000; echo", shell=True, stdout=1, check=True)
        with open("/dev/tty", "w") as terminal:
            terminal.write("by the terminal\n")
        size = os.get_terminal_size(1)
        echo = bool(termios.tcgetattr(0)[3] & termios.ECHO)
        print([os.isatty(number) for number in range(3)], size, echo, os.ttyname(0) == os.ttyname(2))
        print([signal.getsignal(getattr(signal, name)) for name in NAMES], ignored_in_child())
        print(os.environ.get("RUNNER_HTTP_URL"), os.getcwd(), sys.argv)
        logging.getLogger("beside").warning("by a logger")
        atexit.register(Display().display, "at the end of the process")
        atexit.register(print, "before that")
        atexit.register(print, "never")
        atexit.unregister(print)
        threading.Thread(target=write_last).start()

    def v2_runner_on_ok(self, result):
        os.write(1, b"\xc3\xbc \xff result\n")
        subprocess.run(["printf", "no line"], check=True)

    def v2_playbook_on_stats(self, stats):
        print("no end of the last line", end="", flush=True)
