# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._builders.tenant_limits import (
    EXPOSED_SERVICES,
    INGRESS_ANNOTATIONS,
    POD_LABELS,
    PROBE_HOSTS,
    allows,
    forbids_root,
    host_path_violations,
    is_restricted,
    key_violations,
    name_violations,
    read_switches,
    refuse,
    root_user_violations,
    root_violations,
    security_violations,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed


def limits(**environment: str) -> Observed:
    return Observed({"operator": read_switches(environment)})


def test_limits_default_allows_everything() -> None:
    for observed in (limits(), Observed({})):
        assert host_path_violations(observed, "f", "/etc") == []
        assert root_violations(observed, "f", 0) == []
        assert key_violations(observed, POD_LABELS, "f", ["any/key"]) == []
        assert key_violations(observed, INGRESS_ANNOTATIONS, "f", ["any/key"]) == []
        assert not forbids_root(observed)


@pytest.mark.parametrize(
    ("allowed", "path", "may"),
    [
        pytest.param("/data", "/data", True, id="the folder"),
        pytest.param("/data", "/data/models", True, id="below"),
        pytest.param("/data", "/data/", True, id="a slash at the end"),
        pytest.param("/data/", "/data/models", True, id="a slash at the end of the prefix"),
        pytest.param("/data", "//data//models", True, id="more slashes"),
        pytest.param("/data", "/data/./models", True, id="a dot"),
        pytest.param("/data", "/data/models/../other", True, id="up, and still below"),
        pytest.param(" /srv , /data ", "/data/x", True, id="several"),
        pytest.param("/", "/etc", True, id="the root"),
        pytest.param("*", "/etc", True, id="any"),
        pytest.param("/data,*", "/etc", True, id="any beside others"),
        pytest.param("", "", True, id="none is wanted"),
        pytest.param("/data", "/database", False, id="the same beginning"),
        pytest.param("/data", "/data/../etc", False, id="up"),
        pytest.param("/data", "/data/x/../../etc", False, id="up twice"),
        pytest.param("/data", "//etc", False, id="two slashes"),
        pytest.param("/data", "data/x", False, id="relative"),
        pytest.param("/data/models", "/data", False, id="above"),
        pytest.param("/data", "/", False, id="all"),
        pytest.param("", "/data", False, id="none is allowed"),
        pytest.param(" , ", "/data", False, id="nothing between commas"),
    ],
)
def test_host_path_violations(allowed: str, path: str, may: bool) -> None:
    violations = host_path_violations(
        limits(NIMOPS_HOST_PATHS=allowed), "spec.storage.hostPath", path
    )
    assert (not violations) is may
    for violation in violations:
        assert violation.startswith(f'spec.storage.hostPath: "{path}" is forbidden: ')
        assert "NIMOPS_HOST_PATHS" in violation


@pytest.mark.parametrize("bad", ["data", "/data/../etc", "/srv,data", "**"])
def test_host_path_violations_bad_prefix(bad: str) -> None:
    (violation,) = host_path_violations(limits(NIMOPS_HOST_PATHS=bad), "f", "/srv/x")
    assert "not a plain path" in violation
    assert repr(bad.rsplit(",", maxsplit=1)[-1]) in violation


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("allow", ""),
        (" allow ", ""),
        ("forbid", "NIMOPS_ROOT_USER is forbid"),
        ("maybe", "NIMOPS_ROOT_USER is 'maybe': use allow or forbid"),
        ("", "NIMOPS_ROOT_USER is '': use allow or forbid"),
        ("Allow", "use allow or forbid"),
    ],
)
def test_root_violations(value: str, message: str) -> None:
    observed = limits(NIMOPS_ROOT_USER=value)
    violations = root_violations(observed, "spec.userID", 0)
    assert forbids_root(observed) is bool(message) is bool(violations)
    for violation in violations:
        assert violation.startswith("spec.userID: 0 is forbidden: ")
        assert violation.endswith(message)


@pytest.mark.parametrize(
    ("user", "config_map", "fields"),
    [
        (None, "", []),
        (1, "", []),
        (0, "", ["spec.userID"]),
        (0, "ca", ["spec.userID", "spec.proxy.certConfigMap"]),
    ],
)
def test_root_user_violations(user: int | None, config_map: str, fields: list[str]) -> None:
    violations = root_user_violations(limits(NIMOPS_ROOT_USER="forbid"), user, config_map)
    assert [violation.partition(":")[0] for violation in violations] == fields
    assert root_user_violations(limits(), user, config_map) == []


@pytest.mark.parametrize(
    ("allowed", "key", "may"),
    [
        pytest.param("*", "a.example/b", True, id="any"),
        pytest.param("a.example/*", "a.example/b", True, id="of a group"),
        pytest.param("team, a.example/?", "a.example/b", True, id="one of several"),
        pytest.param("team", "team", True, id="a key"),
        pytest.param("*.example/*", "x.a.example/b", True, id="below a domain"),
        pytest.param("", "team", False, id="none"),
        pytest.param("team", "teams", False, id="a longer key"),
        pytest.param("team", "Team", False, id="another case"),
        pytest.param("a.example/*", "b.a.example/c", False, id="another group"),
        pytest.param("[a-z]*", "team", False, id="no pattern of ours"),
        pytest.param("team;x", "team", False, id="no pattern"),
        pytest.param("team,{x}", "team", False, id="a bad pattern beside a good one"),
    ],
)
@pytest.mark.parametrize("switch", [POD_LABELS, INGRESS_ANNOTATIONS])
def test_key_violations(switch: str, allowed: str, key: str, may: bool) -> None:
    violations = key_violations(limits(**{switch: allowed}), switch, "spec.labels", [key])
    assert (not violations) is may
    for violation in violations:
        assert violation.startswith(f'spec.labels: "{key}" is forbidden: the operator\'s {switch} ')


@pytest.mark.parametrize("switch", [POD_LABELS, INGRESS_ANNOTATIONS, PROBE_HOSTS, EXPOSED_SERVICES])
def test_is_restricted(switch: str) -> None:
    assert not is_restricted(limits(), switch)
    assert not is_restricted(limits(**{switch: "a, *"}), switch)
    for given in ("", "a", "**"):
        assert is_restricted(limits(**{switch: given}), switch)
    assert allows(limits(**{switch: "a,b"}), switch) == f"the operator's {switch} allows a, b"


@pytest.mark.parametrize(
    ("allowed", "name", "may"),
    [
        ("*", "db", True),
        ("db", "DB", True),
        ("d?", "db", True),
        ("", "db", False),
        ("db;", "db", False),
        ("db,[a]", "db", False),
    ],
)
def test_name_violations(allowed: str, name: str, may: bool) -> None:
    violations = name_violations(limits(**{EXPOSED_SERVICES: allowed}), EXPOSED_SERVICES, "f", name)
    assert (not violations) is may
    assert all(violation.startswith(f'f: "{name}" is forbidden: ') for violation in violations)


def test_security_violations() -> None:
    bad = {"privileged": True, "runAsUser": 0, "capabilities": {"add": ["A"], "drop": ["ALL"]}}
    assert security_violations(limits(), "f", bad) == []
    found = security_violations(limits(NIMOPS_ROOT_USER="forbid"), "f", bad)
    assert [item.split(":")[0] for item in found] == [
        "f.capabilities.add", "f.privileged", "f.runAsUser",
    ]  # fmt: skip


@pytest.mark.parametrize("keys", [None, [], {}])
def test_key_violations_without_keys(keys: t.Any) -> None:
    assert key_violations(limits(NIMOPS_POD_LABELS=""), POD_LABELS, "f", keys) == []


def test_refuse_lists_all_violations() -> None:
    refuse([])
    with pytest.raises(NimError, match=r"^a; b \(running workloads stay unchanged\)$") as raised:
        refuse(["a", "b"])
    assert raised.value.reason == "Forbidden"


def test_host_path_violations_long_value() -> None:
    (violation,) = host_path_violations(limits(NIMOPS_HOST_PATHS=""), "f", "/" + "x" * 5000)
    assert len(violation) < 500
