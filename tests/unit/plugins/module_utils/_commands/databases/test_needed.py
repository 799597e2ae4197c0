# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.databases.needed import (
    kinds_with_database,
    needed_databases,
)

SAMPLES = Path(__file__).resolve().parents[6] / "config/samples"


def make(kind="NemoEvaluator", name="e", namespace="nemo", **given):
    fields = {"host": "db", "database": "data", "user": "me", "secret": "pw", "port": None} | given
    database = {
        "host": fields["host"],
        "port": fields["port"],
        "databaseName": fields["database"],
        "credentials": {"user": fields["user"], "secretName": fields["secret"]},
    }
    metadata = {"name": name, "namespace": namespace}
    return {"kind": kind, "metadata": metadata, "spec": {"databaseConfig": database}}


def test_needed_databases_samples():
    samples = [yaml.safe_load(file.read_text()) for file in SAMPLES.glob("nemo_*.yaml")]
    for sample in samples:
        sample["metadata"]["namespace"] = "nemo"
    found = needed_databases(samples, [])
    assert {item.resource.split()[0] for item in found} == set(kinds_with_database())
    assert len(found) == len(samples) == 5
    (one,) = (item for item in found if item.user == "customizer")
    assert (one.resource, one.server) == ("NemoCustomizer nemo/nemo-customizer", "postgresql:5432")
    assert (one.name, one.key, one.secret) == ("customizer", "password", "nemo-customizer-database")


def test_needed_databases_guardrail():
    guardrail = {
        "kind": "NemoGuardrail",
        "metadata": {"name": "g", "namespace": "nemo"},
        "spec": {},
    }
    other = make() | {"kind": "NIMService"}
    assert len(needed_databases([guardrail, other, make()], [])) == 1
    with pytest.raises(NimError, match=r"no NemoCustomizer, .* with spec\.databaseConfig"):
        needed_databases([guardrail, other], [])


@pytest.mark.parametrize("field", ["database", "user"])
@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ('x" SUPERUSER --', "has '\"'"),
        ("a%s", "has '%'"),
        ("it's", 'has "\'"'),
        ("back\\slash", "has '"),
        ("line\nline", "has '\\\\n'"),
        ("ü" * 32, "has more than 63 bytes"),
        ("pg_monitor", "is reserved"),
        ("PUBLIC", "is reserved"),
    ],
)
def test_needed_databases_invalid_names(field, value, wrong):
    with pytest.raises(NimError, match=wrong) as error:
        needed_databases([make(**{field: value})], [])
    path = {"database": "databaseName", "user": "credentials.user"}[field]
    assert str(error.value).startswith(f"NemoEvaluator nemo/e: spec.databaseConfig.{path}: ")


@pytest.mark.parametrize("value", ["me@corp:1", "with space", "a.b-c", "Ü" * 31, "{{ x }}", "a;b"])
def test_needed_databases_unusual_names(value):
    (found,) = needed_databases([make(database=value, user=value)], [])
    assert (found.name, found.user) == (value, value)


def test_needed_databases_several_servers():
    both = [make(), make(name="f", host="other", port=6432) | {"kind": "NemoDatastore"}]
    wrong = (
        r"several servers: db:5432 \(NemoEvaluator nemo/e\), other:6432 \(NemoDatastore nemo/f\)"
    )
    with pytest.raises(NimError, match=wrong):
        needed_databases(both, [])
    assert [item.server for item in needed_databases(both, ["other"])] == ["other:6432"]
    assert len(needed_databases(both, ["db", "other"])) == 2
    with pytest.raises(NimError, match="no database is on x: the resources name db, other"):
        needed_databases(both, ["x"])


def test_needed_databases_ipv6_host():
    assert needed_databases([make(host="fd00::1")], ["fd00::1"])[0].server == "[fd00::1]:5432"
    assert needed_databases([make(host="[fd00::1]")], ["[fd00::1]"])[0].server == "[fd00::1]:5432"


@pytest.mark.parametrize(
    ("other", "wrong"),
    [
        ({"namespace": "two"}, "share the user 'me', but not the namespace"),
        ({"user": "you"}, "share the database 'data', but not the user"),
    ],
)
def test_needed_databases_conflicts(other, wrong):
    with pytest.raises(NimError, match=wrong):
        needed_databases([make(), make(name="f", **other)], [])
    assert len(needed_databases([make(), make("NemoDatastore")], [])) == 2
