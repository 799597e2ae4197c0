# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

# Tests send these signals; a background job, or nohup, ignores them, like all processes that it starts.
for number in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """The compiled client."""
    from ansible_prefork import native

    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    return native.compile_client(tmp_path_factory.mktemp("c") / native.NAME, "cc").read_bytes()


# The image has the compiled client, so its versions are only tested with that one, if there is a C compiler.
SCRIPT = pytest.param("python", marks=[pytest.mark.script] if shutil.which("cc") else [])


@pytest.fixture(params=[SCRIPT, "compiled"])
def site(request):
    """A site with each of the two clients, which behave the same."""
    from harness import make_site

    with make_site(program=request.getfixturevalue("compiled") if request.param == "compiled" else None) as made:
        yield made


@pytest.fixture(scope="session")
def sides(tmp_path_factory, request):
    """The two sides that test_equivalence compares; one pair for all tests, as parents take seconds to start."""
    from comparison import make_sides

    program = request.getfixturevalue("compiled") if shutil.which("cc") else None
    stock, forks = made = make_sides(tmp_path_factory.mktemp("s"), program)
    yield made
    for side in made:
        side.close()
    assert not [*stock.left_processes(), *forks.left_processes(), *forks.parents()]
