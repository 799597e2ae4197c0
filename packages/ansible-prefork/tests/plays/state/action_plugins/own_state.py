# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ansible.plugins.action import ActionBase
from ansible.plugins.loader import filter_loader

count = 0


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        global count
        count += 1
        return {"seen": [count, filter_loader.get("own_state").j2_function(self._task.args["how"])]}
