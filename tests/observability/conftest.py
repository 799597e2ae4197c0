# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The sandbox and the operator of all tests here; `make observability` starts them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from nimops_harness.runtime import ContainedOperator
from nimops_harness.sandbox import Sandbox
from nimops_stage import SANDBOX


@pytest.fixture(scope="session")
def sandbox(pytestconfig: pytest.Config) -> Sandbox:
    """A control plane with models; KUBECONFIG and PATH are set."""
    return pytestconfig.stash[SANDBOX]


@pytest.fixture(scope="module")
def operator(sandbox: Sandbox, request: pytest.FixtureRequest) -> Iterator[ContainedOperator]:
    """The operator with all components and the permissions of its manifests, for one file."""
    name = request.module.__name__.rpartition(".")[2]
    with sandbox.start_operator(name, LEAST_PRIVILEGE="1", REPLACE_CRDS="1") as operator:
        operator.wait_until_ready()
        yield operator
