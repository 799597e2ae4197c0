# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What ansible-test runs as its get-pip.py: pip from the Python at hand, not from a web site.

`make sanity` puts it where ansible-test caches the original; it is called with the same arguments.
"""

from __future__ import annotations

import subprocess
import sys

subprocess.run([sys.executable, "-m", "ensurepip", "--upgrade", "--default-pip"], check=True)
wanted = [
    argument for argument in sys.argv[1:] if argument not in ("--no-setuptools", "--no-wheel")
]
subprocess.run([sys.executable, "-m", "pip", "install", *wanted], check=True)
