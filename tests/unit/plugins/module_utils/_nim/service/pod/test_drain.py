# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The end of pods."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.pod import drain


def sleep(seconds):
    return {"lifecycle": {"preStop": {"sleep": {"seconds": seconds}}}}


def app_of(make, setting="", **annotations):
    cr = make.cr(annotations=annotations)
    app: NIMServiceApp = make.app(cr, operator={"drain_seconds": setting})
    return app


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1", 6), (" 60 ", 65), ("86400", 86405)],
)
def test_drain(make, text, seconds):
    app = app_of(make, **{drain.ANNOTATION: text})
    assert drain.pod_fields(app, 0) == {"terminationGracePeriodSeconds": seconds}
    assert drain.container_fields(app, 0, serves=True) == sleep(5)
    assert drain.container_fields(app, 0, serves=False) == sleep(seconds)


@pytest.mark.parametrize("annotations", [{}, {drain.ANNOTATION: ""}])
def test_drain_by_default(make, annotations):
    app = app_of(make, **annotations)
    assert drain.pod_fields(app, 0) == drain.container_fields(app, 0, serves=True) == {}


@pytest.mark.parametrize(
    "text", ["0", "-1", "1.5", "60s", "٦", "86401", "000086400999", "9" * 5000]
)
def test_drain_invalid(make, text):
    app = app_of(make, **{drain.ANNOTATION: text})
    with pytest.raises(NimError, match="is not a number of seconds from 1 to 86400") as caught:
        drain.pod_fields(app, 0)
    assert caught.value.reason == "InvalidAnnotation"
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("setting", "annotations", "seconds"),
    [("", {}, 0), ("0", {}, 0), (" 120 ", {}, 120), ("120", {drain.ANNOTATION: "9"}, 0)],
)
def test_default_seconds(make, setting, annotations, seconds):
    assert drain.default_seconds(app_of(make, setting, **annotations)) == seconds


def test_default_seconds_applied(make):
    app = app_of(make, "120")
    assert drain.pod_fields(app, 120) == {"terminationGracePeriodSeconds": 125}
    assert drain.container_fields(app, 120, serves=True) == sleep(5)
    own = app_of(make, "120", **{drain.ANNOTATION: "9"})
    assert drain.pod_fields(own, 0) == {"terminationGracePeriodSeconds": 14}


@pytest.mark.parametrize("setting", ["-1", "2m", "86401", "9" * 5000])
def test_default_seconds_invalid(make, setting):
    message = "the operator's NIMOPS_DRAIN_SECONDS: .* is not a number of seconds from 0 to 86400"
    with pytest.raises(NimError, match=message) as caught:
        drain.default_seconds(app_of(make, setting))
    assert len(str(caught.value)) < 200
    assert drain.default_seconds(app_of(make, setting, **{drain.ANNOTATION: "9"})) == 0
