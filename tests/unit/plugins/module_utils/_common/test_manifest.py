# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Manifests: what is accepted, what is kept, what is refused."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest import (
    BEGIN_MARK,
    END_MARK,
    NO_PULLER,
    NOT_FOUND,
    Profile,
    dump_manifest,
    parse_manifest,
    read_log,
)

V1 = """
zz:
  model: meta/llama
  release: 1.10
  tags: {tp: 1, feat_lora: false, precision: 'fp8', note: ~}
  container_url: nvcr.io/x:1
  workspace: !workspace
    components:
    - dst: engine
      src: {repo_id: ngc://x, files: [!name 'a', {b: !hash c}]}
11:
  model: meta/llama
  tags: {}
"""
V2 = """
schema_version: 2.0
profile_selection_criteria: {gpu_memory_utilization: 0.9, strict: true}
extra: left out
profiles:
- id: zz
  tags: {tp: 1, trtllm_buildable: true}
  workspace: {files: {a: {uri: ngc://x}}}
- id: 12
  tags: {gpu: H100}
"""


def test_v1_profiles_stand_by_id_with_tags_as_text() -> None:
    manifest = parse_manifest(V1)
    assert manifest.version == 1
    assert manifest.profiles == [
        Profile("11", {}, "meta/llama", ""),
        Profile(
            "zz",
            {"tp": "1", "feat_lora": "false", "precision": "fp8", "note": "~"},
            "meta/llama",
            "1.10",
        ),
    ]


def test_v1_keeps_no_workspace() -> None:
    kept = yaml.safe_load(dump_manifest(parse_manifest(V1)))
    assert set(kept) == {"11", "zz"}
    assert set(kept["zz"]) == {"model", "release", "tags", "container_url"}
    assert kept["zz"]["tags"]["tp"] == "1"


def test_v2_profiles_stand_in_file_order_without_model() -> None:
    manifest = parse_manifest(V2)
    assert manifest.version == 2
    assert manifest.profiles == [
        Profile("zz", {"tp": "1", "trtllm_buildable": "true"}),
        Profile("12", {"gpu": "H100"}),
    ]


def test_v2_keeps_criteria_as_they_are() -> None:
    kept = yaml.safe_load(dump_manifest(parse_manifest(V2)))
    assert kept == {
        "schema_version": "2.0",
        "profile_selection_criteria": {"gpu_memory_utilization": 0.9, "strict": True},
        "profiles": [
            {"id": "zz", "tags": {"tp": "1", "trtllm_buildable": "true"}},
            {"id": "12", "tags": {"gpu": "H100"}},
        ],
    }


@pytest.mark.parametrize("text", [V1, V2], ids=["v1", "v2"])
def test_what_is_kept_says_the_same(text: str) -> None:
    manifest = parse_manifest(text)
    again = parse_manifest(dump_manifest(manifest))
    assert again == manifest
    assert dump_manifest(again) == dump_manifest(manifest)


@pytest.mark.parametrize(
    ("schema", "version"),
    [("", 1), ("schema_version: 1.2", 1), ("schema_version: '1'", 1), ("schema_version: v1.0", 1)],
)
def test_a_2_in_the_minor_version_is_still_version_1(schema: str, version: int) -> None:
    assert parse_manifest(f"{schema}\naa: {{model: m}}").version == version


@pytest.mark.parametrize("schema", ["2", "'2.0'", "2.1.2", "v2"])
def test_major_version_2(schema: str) -> None:
    assert parse_manifest(f"schema_version: {schema}\nprofiles: [{{id: a}}]").version == 2


def test_merge_keys_and_any_tag() -> None:
    text = "a: &base {model: m, tags: {tp: 1}}\nb:\n  <<: *base\n  release: !!python/object:x 3"
    assert parse_manifest(text).profiles[1] == Profile("b", {"tp": "1"}, "m", "3")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("a: {b", "not valid YAML", id="cut"),
        pytest.param("a: [1]\n b", "not valid YAML", id="broken"),
        pytest.param("sh: not found", "is no mapping but 'not found'", id="shell-error"),
        pytest.param("just text", "starts with 'just text'", id="text"),
        pytest.param("- a", "it is no mapping", id="list"),
        pytest.param("{}", "no profiles", id="empty"),
        pytest.param("a: {tags: [x]}", "tags of profile 'a'", id="tags"),
        pytest.param("schema_version: 2\nprofiles: {}", "no list of profiles", id="v2-map"),
        pytest.param(
            "schema_version: 2\nprofiles: [{tags: {}}]", "profiles[0] has no id", id="v2-id"
        ),
        pytest.param("schema_version: 3\nprofiles: []", "schema_version '3' is unknown", id="v3"),
    ],
)
def test_refused(text: str, why: str) -> None:
    with pytest.raises(NimError) as raised:
        parse_manifest(text)
    assert why in str(raised.value)
    assert raised.value.reason == "ReconcileFailed"


def test_log_between_marks_only() -> None:
    reading = read_log(f"noise: {{\n{BEGIN_MARK}\na: 1\n{END_MARK}\nmore [noise\n")
    assert (reading.complete, reading.text) == (True, "a: 1")


def test_log_without_marks_is_all_manifest() -> None:
    assert read_log("a: 1\n").text == "a: 1"


@pytest.mark.parametrize("log", ["", "\n", f"{BEGIN_MARK}\na: 1\n", f"{NO_PULLER}\n"])
def test_log_not_complete(log: str) -> None:
    assert not read_log(log).complete


def test_log_that_lost_its_beginning() -> None:
    with pytest.raises(NimError, match="its beginning is missing"):
        read_log(f"b: 1\n{END_MARK}\n")


@pytest.mark.parametrize(("log", "has_puller"), [("", True), (f"{NO_PULLER}\n", False)])
def test_log_of_an_image_without_manifest(log: str, has_puller: bool) -> None:
    reading = read_log(f"{log}{NOT_FOUND}\n")
    assert (reading.complete, reading.text, reading.has_puller) == (True, "", has_puller)


def test_status_of_a_profile() -> None:
    profile = Profile("a", {"tp": "1"}, "m", "1.0")
    assert profile.to_status() == {
        "name": "a", "model": "m", "release": "1.0", "config": {"tp": "1"},
    }  # fmt: skip
    assert Profile("a").to_status() == {"name": "a"}


def test_thousands_of_profiles() -> None:
    text = "".join(
        f"{n:064d}:\n  model: m\n  tags: {{tp: '{n}'}}\n  workspace: !w {{files: [!name f]}}\n"
        for n in range(1500)
    )
    manifest = parse_manifest(text)
    assert len(manifest.profiles) == 1500
    assert len(dump_manifest(manifest)) < 1 << 20
