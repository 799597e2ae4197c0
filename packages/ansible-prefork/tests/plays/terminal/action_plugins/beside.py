# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import sys

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        os.environ["RUNNER_HTTP_PATH"] = "/nowhere"
        os.umask(0o777)
        os.chdir("/")
        return {"msg": [str(signal.getsignal(signal.SIGHUP)), str(os.getppid() > 0), sys.argv[1:]]}
