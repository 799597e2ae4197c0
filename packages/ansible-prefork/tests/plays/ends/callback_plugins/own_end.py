# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import posix
import sys

from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_NAME = "own_end"

    def v2_playbook_on_task_start(self, task, is_conditional):
        if os.environ.get("OWN_END", "").startswith("start-"):
            sys.exit(int(os.environ["OWN_END"].removeprefix("start-")))
        how = os.environ.get("OWN_END", "") if task.get_name() == "By an action plugin" else ""
        if how.startswith("for-good"):
            sys.stdout.flush()
            posix._exit(int(how.removeprefix("for-good") or "0"))
        if how.startswith("kill-"):
            os.kill(os.getpid(), int(how.removeprefix("kill-")))

    def v2_runner_on_ok(self, result):
        if os.environ.get("OWN_END", "").startswith("ok-"):
            sys.exit(int(os.environ["OWN_END"].removeprefix("ok-")))
