# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.app import NIMCacheApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.rbac import build_rbac


def role_granting(*names):
    rule = {"resources": ["securitycontextconstraints"], "resourceNames": list(names)}
    return {"rules": [rule]}


@pytest.mark.parametrize(
    ("proxy", "live", "granted"),
    [
        pytest.param(None, None, ["nonroot"], id="plain"),
        pytest.param({}, None, ["anyuid", "nonroot"], id="proxy"),
        pytest.param(None, role_granting("anyuid"), ["anyuid", "nonroot"], id="another-with-proxy"),
        pytest.param({}, role_granting("nonroot"), ["anyuid", "nonroot"], id="another-without"),
        pytest.param(None, role_granting("privileged"), ["nonroot"], id="hand-edit"),
        pytest.param(None, {"rules": None}, ["nonroot"], id="emptied"),
    ],
)
def test_build_rbac_granted_constraints(cache, proxy, live, granted):
    cr = cache() if proxy is None else cache(proxy=proxy)
    account, role, binding = build_rbac(NIMCacheApp(cr), live)
    assert [rule["resourceNames"] for rule in role.manifest["rules"]] == [granted]
    assert (account.create_only, role.create_only, binding.create_only) == (True, False, False)
    assert all(child.shared for child in (account, role, binding))
    assert all("ownerReferences" not in child.manifest["metadata"] for child in (account, role))


def test_build_rbac_revokes_root(cache):
    rule = {"resources": ["securitycontextconstraints"], "resourceNames": ["anyuid"]}
    _account, role, _binding = build_rbac(NIMCacheApp(cache()), {"rules": [rule]}, is_root=False)
    assert role.manifest["rules"][0]["resourceNames"] == ["nonroot"]
