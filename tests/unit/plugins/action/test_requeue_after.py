# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.action.requeue_after import period_of
from ansible_collections.nimops.nim.plugins.module_utils._engine.steps import Report
from ansible_collections.nimops.nim.plugins.plugin_utils._reconcile import PassResult

ANNOTATED = {"annotations": {"ansible.sdk.operatorframework.io/reconcile-period": "1h"}}
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def resource(kind="NIMService", **metadata):
    return {"kind": kind, "metadata": {"name": "llm", **metadata}}


def done(what, period=""):
    return PassResult(what, Report(changed=False, status={}, error="", period=period))


@pytest.mark.parametrize(
    ("given", "period"),
    [
        (done(resource()), "10m"),
        (done(resource("NemoDatastore")), "1m"),
        (done(resource(**ANNOTATED)), "1h"),
        (done(resource(**ANNOTATED), "3s"), "3s"),
        (done(resource(**DELETED, **ANNOTATED)), "1s"),
        (done(None), "0s"),
    ],
)
def test_period_of(given, period):
    """The runtime's own period: the task ends a reconcile before the runtime determines it."""
    assert period_of(given) == period
