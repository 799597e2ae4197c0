# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
from ansible_collections.nimops.nim.plugins.module_utils._builders.inputs import (
    RECORD_ANNOTATION,
    RESTART_ANNOTATION,
    Input,
    input_reads,
    is_restart_due,
    join_missing,
    missing_inputs,
    record_annotation,
    record_inputs,
    restart_annotation,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.digests import ASSUMED
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed

Json = dict[str, t.Any]
Make = t.Callable[..., App]

PASSWORD = Input("Secret", "pg", "spec.databaseConfig.credentials", ("password",))
RAILS = Input("ConfigMap", "rails", "spec.configStore.configMap.name")
INPUTS = (PASSWORD, RAILS)
IDS = ("Secret/pg#password", "ConfigMap/rails")
KEYS = ('Secret/ns/pg#["password"]', "ConfigMap/ns/rails#[]")


def answer(digest: str, version: str = "1", *missing: str) -> Json:
    return {"version": version, "digest": digest, "missing": list(missing)}


def live(record: t.Any = None, restarted: str = "") -> Json:
    """A Deployment with this record, and pods that were restarted for that."""
    text = record if isinstance(record, str) else json.dumps(record)
    return {
        "metadata": {"annotations": {} if record is None else {RECORD_ANNOTATION: text}},
        "spec": {
            "template": {
                "metadata": {"annotations": {RESTART_ANNOTATION: restarted} if restarted else {}}
            }
        },
    }


def seen(app: Make, deployment: Json | None, *answers: t.Any) -> App:
    found = dict(zip(KEYS, answers, strict=False))
    return app().at(Observed({"Deployment/ns/a": deployment} | found))


def outcome(context: App) -> tuple[Json, Json]:
    """The record, and the annotations of pods."""
    record = record_inputs(context, INPUTS)
    return record, restart_annotation(context, record)


def test_record_inputs_of_new_service(app: Make) -> None:
    record, pods = outcome(seen(app, None, answer("p1"), answer("r1")))
    assert record == {IDS[0]: ["1", "p1"], IDS[1]: ["1", "r1"]}
    assert pods == {}


@pytest.mark.parametrize(
    "spoilt",
    [None, "", "{", "[1]", '"a"', '{"a": "b"}', '{"a": ["b"]}', "[" * 100000],
    ids=["none", "empty", "no JSON", "list", "text", "no pair", "short", "deep"],
)
def test_record_inputs_after_takeover(app: Make, spoilt: str | None) -> None:
    context = seen(app, live(spoilt, restarted="before"), answer("p1"), answer("r1"))
    record, pods = outcome(context)
    assert record == {IDS[0]: ["1", "p1"], IDS[1]: ["1", "r1"]}
    assert pods == {RESTART_ANNOTATION: "before"}
    assert not is_restart_due(context, record)


@pytest.mark.parametrize(
    ("password", "recorded", "restarts"),
    [
        pytest.param(answer("", "1"), ["1", "p1"], False, id="same version"),
        pytest.param(answer("p1", "2"), ["2", "p1"], False, id="only metadata changed"),
        pytest.param(answer("p2", "2"), ["2", "p2"], True, id="password changed"),
        pytest.param(None, ["1", "p1"], False, id="gone"),
        pytest.param(ASSUMED, ["1", "p1"], False, id="assumed to exist"),
    ],
)
def test_restart_annotation_after_change(
    app: Make, password: Json | None, recorded: list[str], *, restarts: bool
) -> None:
    former = {IDS[0]: ["1", "p1"], IDS[1]: ["1", "r1"]}
    record, pods = outcome(seen(app, live(former), password, answer("", "1")))
    assert record == former | {IDS[0]: recorded}
    assert bool(pods) is restarts
    after, again = outcome(seen(app, live(record, pods.get(RESTART_ANNOTATION, "")), password))
    assert (after, again) == (record, pods), "nothing more in the second pass"


def test_restart_annotation_differs_per_change(app: Make) -> None:
    former = {IDS[0]: ["1", "p1"]}
    found = [
        outcome(seen(app, live(former, "old"), answer(digest, "2")))[1] for digest in ("p2", "p3")
    ]
    assert len({item[RESTART_ANNOTATION] for item in found} | {"old"}) == 3


def test_restart_annotation_input_recreated_unchanged(app: Make) -> None:
    former = {IDS[0]: ["1", "p1"]}
    assert outcome(seen(app, live(former), answer("p1", "9")))[1] == {}
    assert outcome(seen(app, live(former), answer("p9", "9")))[1] != {}


def test_restart_annotation_new_input(app: Make) -> None:
    """The pods change anyway, as the spec refers to it."""
    former = {"Secret/pg": ["1", "all"], IDS[1]: ["1", "r1"]}
    record, pods = outcome(seen(app, live(former), answer("p1"), answer("", "1")))
    assert record == {IDS[0]: ["1", "p1"], IDS[1]: ["1", "r1"]}
    assert pods == {}


def test_record_inputs_rendered_content(app: Make) -> None:
    context = seen(app, live({"config": ["", "c1"]}))
    assert not is_restart_due(context, record_inputs(context, (), {"config": "c1"}))
    assert is_restart_due(context, record_inputs(context, (), {"config": "c2"}))


def test_record_annotation_format() -> None:
    assert record_annotation({"b": ["1", "x"], "a": ["2", "y"]}) == {
        RECORD_ANNOTATION: '{"a":["2","y"],"b":["1","x"]}'
    }
    assert record_annotation({}) == {}


def test_input_reads_after_record(app: Make) -> None:
    assert input_reads(app(), INPUTS) == []
    reads = input_reads(seen(app, live({IDS[0]: ["5", "p1"]})), INPUTS)
    assert [(read.key, read.keys, read.known, read.salt) for read in reads] == [
        (KEYS[0], ("password",), "5", "u"),
        (KEYS[1], (), "", "u"),
    ]


@pytest.mark.parametrize(
    ("answers", "reason", "message"),
    [
        pytest.param((), "", "", id="not read yet"),
        pytest.param((answer("p"), answer("r")), "", "", id="all there"),
        pytest.param(
            (None, answer("r")),
            "SecretNotFound",
            'Waiting for Secret "pg", which does not exist (spec.databaseConfig.credentials)',
            id="no Secret",
        ),
        pytest.param(
            (None, None),
            "SecretNotFound",
            'Waiting for Secret "pg", which does not exist (spec.databaseConfig.credentials); ConfigMap "rails",'
            " which does not exist (spec.configStore.configMap.name)",
            id="neither",
        ),
        pytest.param(
            (answer("p", "1", "password", "b"),),
            "SecretKeyNotFound",
            'Waiting for Secret "pg" to have "password", "b" (spec.databaseConfig.credentials)',
            id="no key",
        ),
        pytest.param(
            (answer("p"), None),
            "ConfigMapNotFound",
            'Waiting for ConfigMap "rails", which does not exist (spec.configStore.configMap.name)',
            id="no ConfigMap",
        ),
    ],
)
def test_missing_inputs(app: Make, answers: t.Any, reason: str, message: str) -> None:
    found = join_missing(missing_inputs(seen(app, None, *answers), INPUTS))
    assert (found or ("", ""))[:2] == (reason, message)
