# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import sys

from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_NAME = "own_end"

    def v2_playbook_on_task_start(self, task, is_conditional):
        if os.environ.get("OWN_END", "").startswith("start-"):
            sys.exit(int(os.environ["OWN_END"].removeprefix("start-")))

    def v2_runner_on_ok(self, result):
        if os.environ.get("OWN_END", "").startswith("ok-"):
            sys.exit(int(os.environ["OWN_END"].removeprefix("ok-")))
