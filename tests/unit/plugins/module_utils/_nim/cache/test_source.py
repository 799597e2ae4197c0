# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.app import NIMCacheApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.source import (
    is_native,
    is_self_pulling,
    source_of,
)


@pytest.mark.parametrize(
    ("source", "native", "self_pulling"),
    [
        pytest.param({"ngc": {"modelPuller": "x"}}, True, False, id="ngc"),
        pytest.param({"ngc": {"modelEndpoint": "ngc://x"}}, False, False, id="endpoint"),
        pytest.param({"hf": {"modelName": "x"}}, False, True, id="hf"),
        pytest.param({"hf": {"datasetName": "x"}}, False, False, id="data set"),
        pytest.param({"dataStore": {"modelName": "x"}}, False, True, id="dataStore"),
    ],
)
def test_is_native_and_is_self_pulling(cache, source, native, self_pulling):
    app = NIMCacheApp(cache(source=source))
    assert is_native(app, "native") is native
    assert is_self_pulling(app, "model-free") is self_pulling
    assert not is_native(app, "model-free")
    assert not is_self_pulling(app, "native")


def test_source_of_missing_source(cache):
    with pytest.raises(NimError, match=r"spec\.source: exactly one of"):
        source_of(NIMCacheApp(cache(source={"ngc": {}})))
