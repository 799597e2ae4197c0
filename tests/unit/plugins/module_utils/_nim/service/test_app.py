# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations


def test_app_labels(make):
    cr = make.cr({"labels": {"app.kubernetes.io/name": "mine", "team": "a"}})
    assert make.app(cr, operator={"version_label": "7"}).labels == {
        "app.kubernetes.io/name": "llm",
        "app.kubernetes.io/instance": "llm",
        "app.kubernetes.io/operator-version": "7",
        "app.kubernetes.io/part-of": "nim-service",
        "app.kubernetes.io/managed-by": "k8s-nim-operator",
        "team": "a",
    }


def test_app_annotations_with(make):
    cr = make.cr(
        {
            "annotations": {
                "openshift.io/required-scc": "x",
                "a": "spec",
                "nvidia.com/parent-spec-hash": "h",
            }
        }
    )
    assert make.app(cr).annotations_with({"a": "feature", "b": "feature"}) == {
        "openshift.io/required-scc": "nonroot",
        "a": "spec",
        "b": "feature",
    }


def test_app_child_owner(make):
    made = make.app().child("ServiceAccount", labels={"a": "b"}, annotations={})
    assert "annotations" not in made["metadata"]
    assert [owner["uid"] for owner in made["metadata"]["ownerReferences"]] == ["u1"]
