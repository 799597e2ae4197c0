# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import sys

from ansible.plugins.vars import BaseVarsPlugin


class VarsModule(BaseVarsPlugin):
    def get_vars(self, loader, path, entities, cache=True):
        if os.environ.get("OWN_END", "").startswith("vars-"):
            sys.exit(int(os.environ["OWN_END"].removeprefix("vars-")))
        return {}
