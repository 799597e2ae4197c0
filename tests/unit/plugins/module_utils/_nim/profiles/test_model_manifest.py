# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Manifests: accepted, stored and refused content."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.model_manifest import (
    BEGIN_MARK,
    END_MARK,
    LOG_LIMIT,
    MAX_KEPT,
    MAX_LISTED,
    NO_PULLER,
    NOT_FOUND,
    Profile,
    dump_manifest,
    list_profiles,
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


def test_parse_manifest_v1():
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


def test_dump_manifest_v1_without_workspace():
    kept = yaml.safe_load(dump_manifest(parse_manifest(V1)))
    assert set(kept) == {"11", "zz"}
    assert set(kept["zz"]) == {"model", "release", "tags", "container_url"}
    assert kept["zz"]["tags"]["tp"] == "1"


LAYOUTS = {
    "map of ids": (V1, 1, ["11", "zz"]),
    "map of ids, version last": ("b: {model: m}\na: {model: m}\nschema_version: 1.0", 1, ["a", "b"]),
    "list of profiles": (V2, 2, ["zz", "12"]),
    "version after the profiles": (
        "profiles: [{id: b, tags: {tp: 1}}, {id: a}]\nprofile_selection_criteria: x\n"
        "schema_version: 2.0.0\n",
        2,
        ["b", "a"],
    ),
    "version as a number": ("schema_version: 2\nprofiles: [{id: a}]", 2, ["a"]),
    "JSON": ('{"schema_version": "2.0", "profiles": [{"id": "a", "tags": {}}]}', 2, ["a"]),
    "wrapped, ids as fields": (
        "model_profile: MolMIM\nmanifest:\n- id: MolMIM\n  model: MolMIM\n  nim_name: x/molmim\n"
        "  release: '1.0.0'\n  tags:\n    backend: pytorch\n  workspace:\n    components:\n"
        "    - {dst: models/, src: {repo_id: 'nim/x/molmim:1.3'}}\n",
        1,
        ["MolMIM"],
    ),
    "wrapped, ids as keys": (
        "manifest:\n- f1e2:\n    tags: {precision: fp16}\n- a1b2: {model: m}\nmodel_profile: MolMIM",
        1,
        ["a1b2", "f1e2"],
    ),
    "wrapped, without a name": ("manifest: [{id: a, model: m}]", 1, ["a"]),
    "wrapped, with a version": (
        "schema_version: 1.0\nmodel_profile: x\nmanifest: [{id: a}]", 1, ["a"]
    ),
    "an id like a key of the wrapped layout": (
        "manifest: {model: m}\nmodel_profile: {model: m}", 1, ["manifest", "model_profile"]
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "version", "ids"), LAYOUTS.values(), ids=LAYOUTS)
def test_parse_manifest_layouts(text, version, ids):
    manifest = parse_manifest(text)
    assert (manifest.version, [profile.id for profile in manifest.profiles]) == (version, ids)
    assert parse_manifest(dump_manifest(manifest)) == manifest


def test_parse_manifest_wrapped_model():
    """A profile without a model has that of the wrapper."""
    text = (
        "model_profile: MolMIM\n"
        "manifest: [{id: a, release: 1.10, tags: {tp: 1}}, {b: {model: m}}, {id: c, model: ''}]"
    )
    assert parse_manifest(text).profiles == [
        Profile("a", {"tp": "1"}, "MolMIM", "1.10"),
        Profile("b", {}, "m"),
        Profile("c", {}, "MolMIM"),
    ]


def test_parse_manifest_v2_order():
    manifest = parse_manifest(V2)
    assert manifest.version == 2
    assert manifest.profiles == [
        Profile("zz", {"tp": "1", "trtllm_buildable": "true"}),
        Profile("12", {"gpu": "H100"}),
    ]


def test_dump_manifest_v2_criteria():
    kept = yaml.safe_load(dump_manifest(parse_manifest(V2)))
    assert kept == {
        "schema_version": "2.0",
        "profile_selection_criteria": {"gpu_memory_utilization": 0.9, "strict": True},
        "profiles": [
            {"id": "zz", "tags": {"tp": "1", "trtllm_buildable": "true"}},
            {"id": "12", "tags": {"gpu": "H100"}},
        ],
    }


def test_dump_manifest_v2_text_criteria():
    """The reference operator accepts only text, so the text must stay text."""
    text = V2.replace(
        "{gpu_memory_utilization: 0.9, strict: true}", "|\n  - precision: [fp8, 1.10]\n  - tp"
    )
    kept = yaml.safe_load(dump_manifest(parse_manifest(text)))
    assert kept["profile_selection_criteria"] == "- precision: [fp8, 1.10]\n- tp\n"
    assert parse_manifest(text).profiles == parse_manifest(V2).profiles


@pytest.mark.parametrize("name", ["manifest-v2.yaml", "manifest-local.yaml"])
def test_parse_manifest_of_sandbox(name):
    path = Path(__file__).resolve().parents[6] / "sandbox" / name
    given = yaml.safe_load(path.read_text())
    assert isinstance(given["profile_selection_criteria"], str)
    assert parse_manifest(path.read_text()).version == 2


@pytest.mark.parametrize("text", [V1, V2], ids=["v1", "v2"])
def test_dump_manifest_round_trip(text):
    manifest = parse_manifest(text)
    again = parse_manifest(dump_manifest(manifest))
    assert again == manifest
    assert dump_manifest(again) == dump_manifest(manifest)


@pytest.mark.parametrize(
    ("schema", "version"),
    [
        (None, 1),
        ("1.2", 1),
        ("'1'", 1),
        ("v1.0", 1),
        ("2", 2),
        ("'2.0'", 2),
        ("2.1.2", 2),
        ("v2", 2),
    ],
)
def test_parse_manifest_version(schema, version):
    head = f"schema_version: {schema}" if schema else ""
    body = "aa: {model: m}" if version == 1 else "profiles: [{id: a}]"
    assert parse_manifest(f"{head}\n{body}").version == version


def test_parse_manifest_yaml_tags():
    text = (
        "a: !!python/object:os.system\n  model: !!python/name:os.system m\n"
        "  tags: &unused !!set {tp: !!int '1', note: !!binary aGk=}\n  release: !vault 3"
    )
    assert parse_manifest(text).profiles == [Profile("a", {"tp": "1", "note": "aGk="}, "m", "3")]


def test_parse_manifest_ansible_markers():
    text = "a: {tags: {tp: '1', __ansible_unsafe: x, __ansible_vault: y, __ansible: z}}"
    manifest = parse_manifest(text)
    assert manifest.profiles[0].tags == {"tp": "1"}
    assert "__ansible" not in dump_manifest(manifest)


def test_parse_manifest_unprintable_characters():
    text = 'a: {model: "m\\e[31m", tags: {"t\\0p": "1\\n2"}}'
    assert parse_manifest(text).profiles == [Profile("a", {"t p": "1 2"}, "m [31m")]


def laughs(depth):
    """A few hundred bytes that expand to 10 to the power of ``depth`` strings."""
    lines = ["a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, depth)]
    return "\n".join(lines)


MANIFEST_REFUSES = {
    "cut": ("a: {b", "not valid YAML"),
    "broken": ("a: [1]\n b", "not valid YAML"),
    "shell-error": ("sh: not found", "is not a mapping but 'not found'"),
    "text": ("just text", "starts with 'just text'"),
    "list": ("- a", "it is not a mapping"),
    "empty": ("{}", "no profiles"),
    "tags": ("a: {tags: [x]}", "tags of profile 'a'"),
    "v2-map": ("schema_version: 2\nprofiles: {}", "no list of profiles"),
    "v2-id": ("schema_version: 2\nprofiles: [{tags: {}}]", "profiles[0] has no id"),
    "v3": ("schema_version: 3\nprofiles: []", "schema_version '3' is unknown"),
    "aliases": (laughs(12), "line 2, column 10: aliases are not supported"),
    "deep": ("[" * 50_000, "nested deeper than 32 levels"),
    "wrapped text": ("model_profile: x\nmanifest: no list", "'manifest' is not a list"),
    "wrapped map": ("model_profile: x\nmanifest: {a: {}}", "'manifest' is not a list"),
    "wrapped, empty": ("model_profile: x\nmanifest: []", "no profiles"),
    "wrapped text in list": ("manifest: [a]", "manifest[0] is not a mapping"),
    "wrapped, no id": ("manifest: [{id: '', tags: {}}]", "manifest[0] has no id"),
    "wrapped, two keys": ("manifest: [{a: {}, b: {}}]", "manifest[0] has no id"),
    "wrapped, no mapping": ("manifest: [{a: b}]", "profile 'a' is not a mapping"),
    "wrapped, id twice": ("manifest: [{id: a}, {a: {}}]", "two profiles have the id 'a'"),
    "wrapped, list as id": ("manifest: [{id: [a]}]", "manifest[0]: 'id' is a list"),
    "wrapped, list as model": (
        "model_profile: [x]\nmanifest: [{id: a}]",
        "'model_profile' is a list",
    ),
    "wrapped profiles": (json.dumps({"manifest": [{"id": "a"}] * 4097}), "4097 profiles, and"),
    "list as tag": ("a: {tags: {tp: [1]}}", "'tp' is a list, not a string"),
    "map as tag": ("a: {tags: {tp: {b: 1}}}", "'tp' is a dict, not a string"),
    "list as model": ("a: {model: [m]}", "profile 'a': 'model' is a list"),
    "v2 list": ("schema_version: 2\nprofiles: [{id: [a]}]", "profiles[0]: 'id' is a list"),
    "version": ("schema_version: [2]", "'schema_version' is a list"),
    "size": ("a" * (1 << 21) + ": {}", "2097156 bytes, and the maximum is 2097152"),
    "letters": ("ä" * (1 << 20) + ": {}", "2097156 bytes, and the maximum is 2097152"),
    "id": ("a" * 254 + ": {}", "254 characters, and the maximum is 253"),
    "v2 id": ("schema_version: 2\nprofiles: [{id: " + "a" * 254 + "}]", "254 characters"),
    "name of a tag": ("a: {tags: {" + "t" * 254 + ": 1}}", "254 characters"),
    "tag": ("a: {tags: {t: '" + "x" * 1025 + "'}}", "1025 characters, and the maximum is 1024"),
    "model": ("a: {model: '" + "x" * 1025 + "'}", "1025 characters"),
    "tags of one": (
        json.dumps({"a": {"tags": {f"t{n}": "" for n in range(129)}}}),
        "profile 'a' has 129 tags, and the maximum is 128",
    ),
    "profiles": (json.dumps({f"p{n}": {} for n in range(4097)}), "4097 profiles, and"),
    "v2 profiles": (
        json.dumps({"schema_version": "2", "profiles": [{"id": "a"}] * 4097}),
        "4097 profiles, and the maximum is 4096",
    ),
}


@pytest.mark.parametrize(("text", "why"), MANIFEST_REFUSES.values(), ids=MANIFEST_REFUSES)
def test_parse_manifest_refuses(text, why):
    with pytest.raises(NimError) as raised:
        parse_manifest(text)
    assert why in str(raised.value)
    assert raised.value.reason == "ReconcileFailed"


@pytest.mark.parametrize(
    ("log", "complete", "text", "has_puller"),
    [
        pytest.param(f"noise: {{\n{BEGIN_MARK}\na: 1\n{END_MARK}\nmore [noise\n", True, "a: 1", True, id="marks"),
        pytest.param("a: 1\n", True, "a: 1", True, id="no marks"),
        pytest.param("", False, "", True, id="empty"),
        pytest.param("\n", False, "", True, id="empty line"),
        pytest.param(f"{BEGIN_MARK}\na: 1\n", False, "", True, id="no end"),
        pytest.param(f"{NO_PULLER}\n", False, "", True, id="no puller yet"),
        pytest.param(f"{NOT_FOUND}\n", True, "", True, id="no manifest"),
        pytest.param(f"{NO_PULLER}\n{NOT_FOUND}\n", True, "", False, id="no manifest, no puller"),
    ],
)  # fmt: skip
def test_read_log(log, complete, text, has_puller):
    reading = read_log(log)
    assert (reading.complete, reading.text, reading.has_puller) == (complete, text, has_puller)


def test_read_log_truncated():
    with pytest.raises(NimError, match="its beginning is missing"):
        read_log(f"b: 1\n{END_MARK}\n")


def test_profile_to_status():
    profile = Profile("a", {"tp": "1"}, "m", "1.0")
    assert profile.to_status() == {
        "name": "a", "model": "m", "release": "1.0", "config": {"tp": "1"},
    }  # fmt: skip
    assert Profile("a").to_status() == {"name": "a"}


def test_parse_manifest_many_profiles():
    text = "".join(
        f"{n:064d}:\n  model: m\n  tags: {{tp: '{n}'}}\n  workspace: !w {{files: [!name f]}}\n"
        for n in range(1500)
    )
    manifest = parse_manifest(text)
    assert len(manifest.profiles) == 1500
    assert len(dump_manifest(manifest)) < 1 << 20


def test_parse_manifest_maximum_sizes():
    tags = {f"{n:0253d}": "x" * 1024 for n in range(128)}
    assert parse_manifest(json.dumps({"a" * 253: {"tags": tags}})).profiles[0].tags == tags
    many = {f"p{n}": {"model": "m"} for n in range(4096)}
    assert len(parse_manifest(json.dumps(many)).profiles) == 4096


def test_dump_manifest_too_large():
    text = json.dumps({f"{n:064d}": {"tags": {"t": "x" * 1000}} for n in range(1000)})
    with pytest.raises(NimError, match=f"has 1[0-9]{{6}} bytes, and the maximum is {MAX_KEPT}"):
        dump_manifest(parse_manifest(text))


@pytest.mark.parametrize("letter", ["x", "ä"])
def test_read_log_too_long(letter):
    whole = letter * (LOG_LIMIT // len(letter.encode()))
    with pytest.raises(NimError, match="the pod's log is longer than the maximum of 4 MiB"):
        read_log(whole)
    assert read_log(whole[1:]).complete


def test_list_profiles_bounded():
    profiles = [Profile(f"{n:064d}", {"t": "x" * 1000}) for n in range(1000)]
    listed = list_profiles(profiles)
    assert listed == [item.to_status() for item in profiles[: len(listed)]]
    assert MAX_LISTED - 2000 < len(json.dumps(listed)) < MAX_LISTED + 2000
    assert list_profiles(profiles[:3]) == [item.to_status() for item in profiles[:3]]
