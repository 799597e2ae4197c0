# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Compares our objects with the reference's objects for the same custom resources."""

from __future__ import annotations

import base64
import hashlib
import json
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.yaml_text import read_json_yaml
from ansible_collections.nimops.nim.plugins.module_utils._builders.inputs import (
    RECORD_ANNOTATION,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import key_of
from ansible_collections.nimops.nim.plugins.module_utils._engine.drift import has_wanted
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.secret_placeholders import (
    SecretPlaceholder,
)
from ansible_collections.nimops.nim.plugins.module_utils._nemo.customizer.kind import (
    HASH_ANNOTATION,
    KIND,
    CustomizerApp,
)

Json = dict[str, t.Any]

CONFORMANCE = Path(__file__).parents[7] / "shared" / "conformance" / "nemo"
CASES = [f"nemo-{release}-apps-v1alpha1-nemocustomizer" for release in ("25-04", "25-06", "latest")]

_POD = "spec.template.spec"
_CONTAINER = f"{_POD}.containers[]"
_PROBES = [f"{_CONTAINER}.{name}Probe" for name in ("liveness", "readiness", "startup")]
DEFAULTED = {
    "Deployment": {
        "spec.progressDeadlineSeconds",
        "spec.replicas",
        "spec.revisionHistoryLimit",
        *(f"{_POD}.{name}" for name in ("dnsPolicy", "restartPolicy", "schedulerName")),
        *(f"{_POD}.{name}" for name in ("serviceAccount", "terminationGracePeriodSeconds")),
        f"{_POD}.volumes[].configMap.defaultMode",
        f"{_CONTAINER}.env[].valueFrom.fieldRef.apiVersion",
        *(f"{probe}.httpGet.scheme" for probe in _PROBES),
        *(f"{_CONTAINER}.{name}" for name in ("resources", "terminationMessagePath")),
        f"{_CONTAINER}.terminationMessagePolicy",
    },
    "Service": {"spec.internalTrafficPolicy", "spec.sessionAffinity"},
    "PersistentVolumeClaim": {"spec.volumeMode"},
    "Secret": {"type"},
}
"""Fields of the recorded objects that the API server filled in."""


def load(case: str) -> tuple[Json, list[Json], dict[str, Json]]:
    """The custom resource of a case, its ConfigMaps, and the expected objects."""
    if not CONFORMANCE.is_dir():
        pytest.skip("the recordings of the reference, ../shared, are not here")
    documents = yaml.safe_load_all((CONFORMANCE / "cases" / f"{case}.yaml").read_text())
    given = [document for document in documents if document]
    (cr,) = (item for item in given if item["kind"] == "NemoCustomizer")
    recorded = json.loads((CONFORMANCE / "expected" / f"{case}.json").read_text())["objects"]
    expected = {key: item for key, item in recorded.items() if is_owned(item)}
    return cr, [item for item in given if item["kind"] == "ConfigMap"], expected


def is_owned(item: Json) -> bool:
    owners = item["metadata"].get("ownerReferences", [])
    return any(owner["kind"] == "NemoCustomizer" for owner in owners)


def make(cr: Json, around: t.Iterable[Json]) -> dict[str, Json]:
    app = CustomizerApp(cr, Observed({key_of(item): item for item in around}))
    return {key_of(child.manifest): child.manifest for child in KIND.desired(app).children}


def scrub(item: Json) -> Json:
    """Objects in recorded form: no owner uids, the password inserted, `config.yaml` parsed."""
    owners = [
        {key: value for key, value in owner.items() if key != "uid"}
        for owner in item["metadata"]["ownerReferences"]
    ]
    made = item | {"metadata": item["metadata"] | {"ownerReferences": owners}}
    if item["kind"] == "ConfigMap":
        data = {key: read_json_yaml(text) for key, text in item["data"].items()}
        return made | {"data": json.dumps(data, sort_keys=True)}
    if item["kind"] == "Secret":
        return made | {"data": {key: fill(value) for key, value in item["data"].items()}}
    return made


def fill(value: str) -> str:
    sealed = SecretPlaceholder.parse(value)
    password = base64.b64encode(b"conformance").decode()
    return sealed.fill({"data": {sealed.key: password}}) if sealed else value


def drop_hash(deployment: Json) -> str:
    """The hash of the configuration, removed from the pods."""
    return str(deployment["spec"]["template"]["metadata"]["annotations"].pop(HASH_ANNOTATION))


@pytest.mark.parametrize("case", CASES)
def test_desired_equals_reference(case: str, paths: t.Any) -> None:
    cr, around, expected = load(case)
    made = make(cr, around)
    ours = {key: scrub(item) for key, item in made.items()}
    assert set(ours) == set(expected)
    for key, recorded in expected.items():
        want, kind = scrub(recorded), recorded["kind"]
        if kind == "Deployment":
            text = made[key.replace("Deployment", "ConfigMap")]["data"]["config.yaml"]
            assert drop_hash(ours[key]) == hashlib.sha256(text.encode()).hexdigest()
            drop_hash(want)
            del ours[key]["metadata"]["annotations"][RECORD_ANNOTATION]
        assert has_wanted(want, ours[key]), key
        assert paths.leaves(want) - paths.leaves(ours[key]) <= DEFAULTED.get(kind, set()), key


def test_known_gaps_current(paths: t.Any) -> None:
    """A listed field without a difference in any recording would hide a mistake."""
    missing: dict[str, set[str]] = {}
    for case in CASES:
        cr, around, expected = load(case)
        for key, ours in make(cr, around).items():
            found = paths.leaves(expected[key]) - paths.leaves(ours)
            missing.setdefault(ours["kind"], set()).update(found)
    for kind, known in DEFAULTED.items():
        assert known <= missing[kind], kind


@pytest.mark.parametrize("case", CASES)
def test_takeover_keeps_configuration_and_pods(case: str, paths: t.Any) -> None:
    cr, around, expected = load(case)
    made = make(cr, [*around, *expected.values()])
    for key, live in expected.items():
        if live["kind"] == "ConfigMap":
            assert made[key]["data"] == live["data"]
        if live["kind"] == "Deployment":
            assert has_wanted(live["spec"]["template"], made[key]["spec"]["template"])
            ours = paths.leaves(made[key]["spec"]["template"])
            assert ours <= paths.leaves(live["spec"]["template"])
