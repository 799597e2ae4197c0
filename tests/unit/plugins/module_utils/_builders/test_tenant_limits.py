# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
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
    may_be_root,
    name_violations,
    read_switches,
    refuse,
    restricts_pods,
    root_user_violations,
    root_violations,
    security_violations,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed


def limits(**environment: str) -> Observed:
    return Observed({"operator": read_switches(environment)})


def app_with(observed: Observed, **annotations: str) -> App:
    named = {
        "name": "a",
        "annotations": {f"nimops.nim/{key}": it for key, it in annotations.items()},
    }
    return App({"kind": "Toy", "metadata": named, "spec": {}}, observed)


def test_limits_default_allows_everything() -> None:
    for observed in (limits(), Observed({})):
        assert host_path_violations(app_with(observed), "f", "/etc") == []
        assert root_violations(app_with(observed), "f", 0) == []
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
        app_with(limits(NIMOPS_HOST_PATHS=allowed)), "spec.storage.hostPath", path
    )
    assert (not violations) is may
    for violation in violations:
        assert violation.startswith(f'spec.storage.hostPath: "{path}" is forbidden: ')
        assert "NIMOPS_HOST_PATHS" in violation


@pytest.mark.parametrize("bad", ["data", "/data/../etc", "/srv,data", "**"])
def test_host_path_violations_bad_prefix(bad: str) -> None:
    (violation,) = host_path_violations(app_with(limits(NIMOPS_HOST_PATHS=bad)), "f", "/srv/x")
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
    violations = root_violations(app_with(observed), "spec.userID", 0)
    assert forbids_root(observed) is bool(message) is bool(violations)
    for violation in violations:
        assert violation.startswith("spec.userID: 0 is forbidden: ")
        assert violation.endswith(message)


def test_root_user_violations() -> None:
    app = app_with(limits(NIMOPS_ROOT_USER="forbid"))
    assert root_user_violations(app, None) == root_user_violations(app, 1) == []
    assert [item.partition(":")[0] for item in root_user_violations(app, 0)] == ["spec.userID"]
    assert root_user_violations(app_with(limits()), 0) == []


@pytest.mark.parametrize(
    ("switch", "annotation", "why"),
    [
        pytest.param("reference", None, "", id="default"),
        pytest.param("reference", "reference", "", id="both reference"),
        pytest.param("restricted", None, "the operator's NIMOPS_POD_SECURITY is restricted", id="all"),
        pytest.param(
            "restricted", "reference", "the operator's NIMOPS_POD_SECURITY is restricted", id="not lowered",
        ),
        pytest.param(
            "reference", " restricted", "the annotation nimops.nim/pod-security is restricted", id="one",
        ),
        pytest.param(
            "reference", "x", "the annotation nimops.nim/pod-security is 'x': use reference or restricted",
            id="invalid annotation",
        ),
        pytest.param(
            "y", None, "the operator's NIMOPS_POD_SECURITY is 'y': use reference or restricted",
            id="invalid switch",
        ),
    ],
)  # fmt: skip
def test_restricts_pods(switch: str, annotation: str | None, why: str) -> None:
    given = {} if annotation is None else {"pod-security": annotation}
    app = app_with(limits(NIMOPS_POD_SECURITY=switch), **given)
    assert restricts_pods(app) is bool(why)
    assert may_be_root(app) is not bool(why)
    unconfined = {"seccompProfile": {"type": "Unconfined"}}
    expected = {
        "f: 0 is forbidden: a container would run as root, but ": root_violations(app, "f", 0),
        'f: "/data" is forbidden: ': host_path_violations(app, "f", "/data"),
        'f.seccompProfile.type: "Unconfined" is forbidden: ': security_violations(
            app, "f", unconfined
        ),
    }
    for start, found in expected.items():
        assert [item.startswith(f"{start}{why}") for item in found] == [True] * bool(why)


def test_forbids_root_of_all() -> None:
    """The Role that NIMCaches share does not depend on one of them."""
    assert forbids_root(limits(NIMOPS_POD_SECURITY="restricted"))
    assert not forbids_root(app_with(limits(), **{"pod-security": "restricted"}).observed)


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
    assert security_violations(app_with(limits()), "f", bad) == []
    found = security_violations(app_with(limits(NIMOPS_ROOT_USER="forbid")), "f", bad)
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
    (violation,) = host_path_violations(
        app_with(limits(NIMOPS_HOST_PATHS="")), "f", "/" + "x" * 5000
    )
    assert len(violation) < 500
