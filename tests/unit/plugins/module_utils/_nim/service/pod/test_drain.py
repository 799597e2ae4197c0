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


def app_of(make, **annotations):
    app: NIMServiceApp = make.app(make.cr(annotations=annotations))
    return app


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1", 6), (" 60 ", 65), ("86400", 86405)],
)
def test_drain(make, text, seconds):
    app = app_of(make, **{drain.ANNOTATION: text})
    assert drain.pod_fields(app) == {"terminationGracePeriodSeconds": seconds}
    assert drain.container_fields(app, serves=True) == sleep(5)
    assert drain.container_fields(app, serves=False) == sleep(seconds)


@pytest.mark.parametrize("annotations", [{}, {drain.ANNOTATION: ""}])
def test_drain_by_default(make, annotations):
    app = app_of(make, **annotations)
    assert drain.pod_fields(app) == drain.container_fields(app, serves=True) == {}


@pytest.mark.parametrize(
    "text", ["0", "-1", "1.5", "60s", "٦", "86401", "000086400999", "9" * 5000]
)
def test_drain_invalid(make, text):
    app = app_of(make, **{drain.ANNOTATION: text})
    with pytest.raises(NimError, match="is not a number of seconds from 1 to 86400") as caught:
        drain.pod_fields(app)
    assert caught.value.reason == "InvalidAnnotation"
    assert len(str(caught.value)) < 200
