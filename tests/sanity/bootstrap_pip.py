# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Replacement for ansible-test's get-pip.py: copies pip from the local Python, without a download.

`make sanity` puts it in ansible-test's cache, in place of the original with the same arguments.
"""

from __future__ import annotations

import subprocess
import sys

subprocess.run([sys.executable, "-m", "ensurepip", "--upgrade", "--default-pip"], check=True)
wanted = [
    argument for argument in sys.argv[1:] if argument not in ("--no-setuptools", "--no-wheel")
]
subprocess.run([sys.executable, "-m", "pip", "install", *wanted], check=True)
