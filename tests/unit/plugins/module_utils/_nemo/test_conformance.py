# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Compares our objects with the reference's objects for the same custom resources."""

from __future__ import annotations

import base64
import json
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._builders.inputs import (
    RECORD_ANNOTATION,
    input_reads,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import key_of
from ansible_collections.nimops.nim.plugins.module_utils._engine.drift import has_wanted
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.secret_placeholders import (
    SecretPlaceholder,
)
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of
from ansible_collections.nimops.nim.plugins.module_utils._nemo.children import desired

Json = dict[str, t.Any]

CONFORMANCE = Path(__file__).parents[6] / "shared" / "conformance" / "nemo"
CASES = [
    f"nemo-{release}-apps-v1alpha1-{kind}"
    for release in ("25-04", "25-06", "latest")
    for kind in ("nemodatastore", "nemoentitystore", "nemoevaluator", "nemoguardrails")
]

_LABELS = ("instance", "managed-by", "name", "operator-version", "part-of")
_POD = "spec.template.spec"
_CONTAINERS = [f"{_POD}.{where}[]" for where in ("containers", "initContainers")]
_PROBES = [f"{_CONTAINERS[0]}.{name}Probe" for name in ("liveness", "readiness", "startup")]
DEFAULTED = {
    "Deployment": {
        "spec.progressDeadlineSeconds",
        "spec.replicas",
        "spec.revisionHistoryLimit",
        *(f"{_POD}.{name}" for name in ("dnsPolicy", "restartPolicy", "schedulerName")),
        *(f"{_POD}.{name}" for name in ("serviceAccount", "terminationGracePeriodSeconds")),
        f"{_CONTAINERS[0]}.env[].valueFrom.fieldRef.apiVersion",
        *(f"{probe}.httpGet.scheme" for probe in _PROBES),
        *(f"{at}.resources" for at in _CONTAINERS),
        *(f"{at}.terminationMessagePath" for at in _CONTAINERS),
        *(f"{at}.terminationMessagePolicy" for at in _CONTAINERS),
    },
    "Service": {"spec.internalTrafficPolicy", "spec.sessionAffinity"},
    "PersistentVolumeClaim": {"spec.volumeMode"},
    "Secret": {"type"},
}
"""Fields of the recorded objects that the API server filled in."""

ADDED = {"Secret": {f"metadata.labels.app.kubernetes.io/{name}" for name in _LABELS}}
"""Fields that we have and the reference forgets: the labels of an evaluator's Secret."""


def load(case: str) -> tuple[Json, dict[str, Json]]:
    """The custom resource of a case, and the expected objects."""
    if not CONFORMANCE.is_dir():
        pytest.skip("the recordings of the reference, ../shared, are not here")
    cr = yaml.safe_load((CONFORMANCE / "cases" / f"{case}.yaml").read_text())
    recorded = json.loads((CONFORMANCE / "expected" / f"{case}.json").read_text())["objects"]
    return cr, {key: item for key, item in recorded.items() if item["kind"] != cr["kind"]}


def make(cr: Json, observed: Observed | None = None) -> dict[str, Json]:
    app = kind_of(cr).app(cr, observed or Observed({}))
    return {key_of(child.manifest): scrub(child.manifest) for child in desired(app).children}


def scrub(item: Json) -> Json:
    """Objects in recorded form: no owner uids, scripts masked, the password inserted."""
    owners = [
        {key: value for key, value in owner.items() if key != "uid"}
        for owner in item["metadata"]["ownerReferences"]
    ]
    made = t.cast("Json", veil(item)) | {"metadata": item["metadata"] | {"ownerReferences": owners}}
    return made | ({"data": fill(item["data"])} if item["kind"] == "Secret" else {})


def fill(data: Json) -> Json:
    password = base64.b64encode(b"conformance").decode()
    return {
        key: sealed.fill({"data": {sealed.key: password}})
        for key, value in data.items()
        if (sealed := SecretPlaceholder.parse(value))
    }


def veil(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {key: veil(item) for key, item in value.items()}
    if isinstance(value, list):
        return [veil(item) for item in value]
    return "<script>" if str(value).startswith("until nc -z ") else value


@pytest.mark.parametrize("case", CASES)
def test_desired_equals_reference(case: str, paths: t.Any) -> None:
    cr, expected = load(case)
    ours = make(cr)
    assert set(ours) == set(expected)
    for key, want in expected.items():
        kind = want["kind"]
        assert has_wanted(want, paths.without(ours[key], ADDED.get(kind, set()))), key
        assert paths.leaves(want) - paths.leaves(ours[key]) <= DEFAULTED.get(kind, set()), key


def test_known_gaps_current(paths: t.Any) -> None:
    """A listed field without a difference in any recording would hide a mistake."""
    missing: dict[str, set[str]] = {}
    more: dict[str, set[str]] = {}
    for case in CASES:
        cr, expected = load(case)
        for key, ours in make(cr).items():
            want, kind = expected[key], ours["kind"]
            missing.setdefault(kind, set()).update(paths.leaves(want) - paths.leaves(ours))
            more.setdefault(kind, set()).update(paths.leaves(ours) - paths.leaves(want))
    for kind, known in DEFAULTED.items():
        assert known <= missing[kind], kind
    for kind, known in ADDED.items():
        assert known <= more[kind], kind


@pytest.mark.parametrize("case", CASES)
def test_takeover_keeps_pods(case: str, paths: t.Any) -> None:
    """Inputs that are read for the first time are only recorded."""
    cr, expected = load(case)
    live = next(item for item in expected.values() if item["kind"] == "Deployment")
    app = kind_of(cr).app(cr, Observed({key_of(live): live}))
    known = {"version": "7", "missing": [], "digest": "d1g357"}
    answers = {read.key: known for read in input_reads(app, app.inputs())}
    (ours,) = (
        item
        for item in make(cr, Observed({key_of(live): live, **answers})).values()
        if item["kind"] == "Deployment"
    )
    assert has_wanted(live["spec"]["template"], ours["spec"]["template"])
    assert paths.leaves(ours["spec"]["template"]) <= paths.leaves(live["spec"]["template"])
    record = ours["metadata"]["annotations"].get(RECORD_ANNOTATION, "{}")
    assert len(json.loads(record)) == len(answers)
