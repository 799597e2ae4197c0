# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Bundles: from a registry to a folder, and from there to a mirror."""

from __future__ import annotations

import json
import os

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.bundle import transfer
from ansible_collections.nimops.nim.plugins.module_utils._commands.bundle.command import (
    BundleCommand,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.bundle.layout import (
    Descriptor,
    Entry,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.bundle.transfer import (
    Meter,
    parse_destination,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.bundle.unbundle_command import (
    UnbundleCommand,
)

LAYERS = [b"base" * 1000, b"own" * 500]
NIM = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMService",
    "metadata": {"name": "llm", "namespace": "nim"},
}


@pytest.fixture
def source(registry):
    """A registry with an image of two platforms and one of a single platform."""
    made = registry(credentials="me:pw")
    digests = [made.add_image("nim/llm", "", LAYERS[0], extra) for extra in (LAYERS[1], b"arm")]
    made.add_index("nim/llm", "1.0", *digests)
    made.add_image("nim/tool", "2", LAYERS[0])
    return made


@pytest.fixture
def bundle(run, tmp_path):
    """Pack images of a registry."""

    def pack(source, *images, **options):
        auth = tmp_path / "auth.json"
        auth.write_text(json.dumps({"auths": {source.host: {"username": "me", "password": "pw"}}}))
        named = [f"{source.host}/{image}" for image in images]
        given = {"path": str(tmp_path / "bundle"), "plain_http": [source.host]}
        return run(BundleCommand, **given, auth_file=str(auth), images=named, **options)

    return pack


@pytest.fixture
def unbundle(run, tmp_path):
    def push(mirror, prefix="", **options):
        given = {"bundle": str(tmp_path / "bundle"), "plain_http": [mirror.host]}
        return run(UnbundleCommand, **given, to=f"{mirror.host}{prefix}", **options)

    return push


def blobs(tmp_path):
    return sorted((tmp_path / "bundle/blobs/sha256").iterdir())


def test_pull_image_and_push(bundle, unbundle, source, registry, tmp_path):
    """The mirror has the same digests, of all platforms."""
    packed = bundle(source, "nim/llm:1.0", "nim/tool:2")
    assert (packed.failed, packed.msg) == (False, "")
    assert packed.packed == [f"{source.host}/nim/llm:1.0", f"{source.host}/nim/tool:2"]
    assert json.loads((tmp_path / "bundle/oci-layout").read_text()) == {
        "imageLayoutVersion": "1.0.0"
    }
    mirror = registry()
    pushed = unbundle(mirror, "/mirror")
    assert (pushed.failed, pushed.msg) == (False, "")
    place = f"mirror/{source.host.replace(':', '_')}"
    assert pushed.out.splitlines() == [
        f"{source.host}/nim/llm:1.0 {mirror.host}/{place}/nim/llm:1.0",
        f"{source.host}/nim/tool:2 {mirror.host}/{place}/nim/tool:2",
    ]
    for name, version in (("nim/llm", "1.0"), ("nim/tool", "2")):
        assert mirror.manifests[f"{place}/{name}", version] == source.manifests[name, version]
    for (name, digest), content in source.blobs.items():
        assert mirror.blobs[f"{place}/{name}", digest] == content
    assert [path for path in mirror.paths("POST") if "mount=" in path], "a shared layer is mounted"


def test_pull_image_again_downloads_nothing(bundle, source):
    bundle(source, "nim/llm:1.0")
    source.requests.clear()
    assert bundle(source, "nim/llm:1.0").failed is False
    assert [path for path in source.paths("GET") if "/blobs/" in path] == []


def test_push_again_uploads_nothing(bundle, unbundle, source, registry):
    bundle(source, "nim/llm:1.0")
    mirror = registry()
    unbundle(mirror)
    mirror.requests.clear()
    assert unbundle(mirror).failed is False
    assert mirror.paths("POST") == []
    assert len(mirror.paths("PUT")) == 1


def test_pull_image_resumes(bundle, source):
    """A broken download continues where it ended."""
    source.cut = 700
    assert bundle(source, "nim/tool:2").failed is False
    ranges = [head["Range"] for _method, _path, head in source.requests if "Range" in head]
    assert ranges == ["bytes=700-"]


def test_pull_image_replaces_damaged_blob(bundle, source, tmp_path):
    bundle(source, "nim/tool:2")
    largest = max(blobs(tmp_path), key=lambda file: file.stat().st_size)
    content = largest.read_bytes()
    largest.write_bytes(b"X" + content[1:])
    assert bundle(source, "nim/tool:2").failed is False
    assert largest.read_bytes() == content


def test_pull_image_of_another_content(bundle, source, tmp_path):
    """A registry that lies about a blob gets nothing into the bundle; other images are packed."""
    digest = next(key for key, content in source.blobs.items() if content == b"arm")
    source.blobs[digest] = b"bad"
    packed = bundle(source, "nim/llm:1.0", "nim/tool:2", "nim/none:3")
    assert packed.failed
    assert f"{source.host}/nim/llm:1.0: content of blob {digest[1]} does not match" in packed.msg
    assert f"{source.host}/nim/none:3: HTTP 404: MANIFEST_UNKNOWN" in packed.msg
    assert packed.packed == [f"{source.host}/nim/tool:2"]
    listed = json.loads((tmp_path / "bundle/index.json").read_text())["manifests"]
    assert len(listed) == 1
    assert not [file for file in blobs(tmp_path) if file.read_bytes() == b"bad"]


@pytest.mark.parametrize("damage", ["missing", "shorter", "other"])
def test_push_damaged_blob(bundle, unbundle, source, registry, tmp_path, damage):
    bundle(source, "nim/tool:2")
    largest = max(blobs(tmp_path), key=lambda file: file.stat().st_size)
    content = largest.read_bytes()
    if damage == "missing":
        largest.unlink()
    else:
        largest.write_bytes(content[1:] if damage == "shorter" else b"X" + content[1:])
    mirror = registry()
    pushed = unbundle(mirror)
    assert pushed.failed
    wanted = "DIGEST_INVALID" if damage == "other" else "missing or damaged: run bundle again"
    assert wanted in pushed.msg
    assert mirror.manifests == {}


def test_push_image_by_digest(bundle, unbundle, source, registry):
    digest = source.add_image("nim/tool", "", b"x")
    bundle(source, f"nim/tool@{digest}")
    mirror = registry()
    pushed = unbundle(mirror)
    assert pushed.out.split()[1].endswith(f"/nim/tool@{digest}")
    name = pushed.out.split()[1].removeprefix(f"{mirror.host}/").partition("@")[0]
    assert (name, digest) in mirror.manifests


def test_push_model(run, unbundle, registry, tmp_path):
    """A model is an artifact of ORAS: a layer for each file, with its path."""
    folder = tmp_path / "model"
    (folder / "blobs").mkdir(parents=True)
    (folder / "snapshots/main").mkdir(parents=True)
    (folder / "blobs/1").write_bytes(b"weights")
    (folder / "snapshots/main/model.bin").symlink_to("../../blobs/1")
    (folder / "config.json").write_text("{}")
    for _time in range(2):
        packed = run(
            BundleCommand,
            path=str(tmp_path / "bundle"),
            models={"models/llama:1.0": str(folder)},
        )
        assert packed.packed == ["models/llama:1.0"]
    mirror = registry()
    pushed = unbundle(mirror)
    assert pushed.out == f"models/llama:1.0 {mirror.host}/models/llama:1.0"
    media_type, content = mirror.manifests["models/llama", "1.0"]
    document = json.loads(content)
    assert media_type == document["mediaType"] == "application/vnd.oci.image.manifest.v1+json"
    assert document["artifactType"] == "application/vnd.nimops.model.v1"
    assert document["config"]["mediaType"] == "application/vnd.oci.empty.v1+json"
    found = {
        layer["annotations"]["org.opencontainers.image.title"]:
            mirror.blobs["models/llama", layer["digest"]]
        for layer in document["layers"]
    }  # fmt: skip
    assert found == {
        "blobs/1": b"weights", "config.json": b"{}", "snapshots/main/model.bin": b"weights",
    }  # fmt: skip


def test_bundle_images_of_files(bundle, source, tmp_path):
    """The images of the resources, and of the operator in the files."""
    spec = {
        "image": {"repository": f"{source.host}/nim/llm", "tag": "1.0"},
        "authSecret": "a",
        "storage": {"emptyDir": {}},
        "expose": {"service": {"port": 8000}},
    }
    container = {"name": "manager", "image": f"{source.host}/nim/tool:2"}
    operator = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "operator", "namespace": "nim"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    file = tmp_path / "nim.yaml"
    file.write_text(
        json.dumps({"kind": "List", "apiVersion": "v1", "items": [NIM | {"spec": spec}, operator]})
    )
    packed = bundle(source, files=[str(file)])
    assert packed.packed == [f"{source.host}/nim/llm:1.0", f"{source.host}/nim/tool:2"]


def test_bundle_images_of_puller(run, registry, tmp_path, monkeypatch):
    """The image of the operator, which downloads models from registries."""
    monkeypatch.setenv("NIMOPS_PULLER_IMAGE", "r.example/operator:1")
    cache = NIM | {
        "kind": "NIMCache",
        "metadata": {"name": "a", "annotations": {"nimops.nim/source": "oci://r.example/m:1"}},
        "spec": {
            "source": {"ngc": {"modelPuller": "r.example/nim:1", "pullSecret": "s"}},
            "storage": {"pvc": {"name": "models"}},
        },
    }
    (tmp_path / "nim.yaml").write_text(json.dumps(cache))
    packed = run(BundleCommand, is_dry=True, path="b", files=[str(tmp_path / "nim.yaml")])
    assert packed.packed == ["r.example/nim:1", "r.example/operator:1"]


def test_bundle_dry(run, registry, tmp_path):
    packed = run(BundleCommand, is_dry=True, path=str(tmp_path / "bundle"), images=["h.io/a:1"])
    assert packed.err == f"would pack into {tmp_path}/bundle: h.io/a:1"
    assert not (tmp_path / "bundle").exists()


def test_unbundle_dry_and_hosts(bundle, unbundle, source, registry, tmp_path):
    bundle(source, "nim/tool:2")
    mirror = registry()
    shown = unbundle(mirror, is_dry=True, hosts_dir=str(tmp_path / "certs.d"), output="json")
    assert (mirror.requests, (tmp_path / "certs.d").exists()) == ([], False)
    mapping = json.loads(shown.out)
    assert [*mapping] == [f"{source.host}/nim/tool:2"]
    unbundle(mirror, "/m", hosts_dir=str(tmp_path / "certs.d"))
    text = (tmp_path / "certs.d" / source.host / "hosts.toml").read_text()
    assert text.splitlines()[0] == f'server = "https://{source.host}"'
    assert f'[host."http://{mirror.host}/v2/m/{source.host.replace(":", "_")}"]' in text


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "files: missing"),
        ({"images": ["h.io/UPPER"]}, "'h.io/UPPER' is not an image reference"),
        ({"models": {"UPPER": "."}}, "is not a repository and a tag"),
        ({"models": {"a": "none"}}, "models: none is not a folder"),
        ({"images": ["h.io/a"], "auth_file": "none"}, "auth_file: none: No such file"),
        ({"images": ["h.io/a"], "ca_file": "none"}, "ca_file: none: No such file"),
    ],
)
def test_bundle_refuses(run, registry, tmp_path, options, why):
    done = run(BundleCommand, path=str(tmp_path / "bundle"), **options)
    assert done.failed
    assert why in done.msg


def test_bundle_refuses_other_folder(run, registry, tmp_path):
    (tmp_path / "file").write_text("")
    done = run(BundleCommand, path=str(tmp_path), images=["h.io/a"])
    assert "is not a folder that bundle wrote" in done.msg
    assert os.listdir(tmp_path) == ["file"]


def test_unbundle_refuses(run, unbundle, registry, tmp_path):
    assert "bundle: " in unbundle(registry()).msg
    done = run(UnbundleCommand, bundle=str(tmp_path), to="")
    assert "to: '' is not a registry" in done.msg


DESTINATIONS = {
    "r.example": ("r.example", ""),
    "r.example:5000/a/b/": ("r.example:5000", "a/b"),
    "localhost:5000": ("localhost:5000", ""),
}


@pytest.mark.parametrize(("text", "expected"), DESTINATIONS.items(), ids=DESTINATIONS)
def test_parse_destination(text, expected):
    assert tuple(vars(parse_destination(text)).values()) == expected


@pytest.mark.parametrize("text", ["", "mirror", "r.example/UPPER", "https://r.example", "a b"])
def test_parse_destination_invalid(text):
    with pytest.raises(NimError, match=r"^to: "):
        parse_destination(text)


@pytest.mark.parametrize(
    ("image", "copy"),
    [
        ("busybox", "m.example/docker.io/library/busybox:latest"),
        ("nvcr.io/nim/a:1", "m.example/nvcr.io/nim/a:1"),
        ("r.example:5000/a:1", "m.example/r.example_5000/a:1"),
    ],
)
def test_reference_of(image, copy):
    entry = Entry(image, Descriptor("x", "y", 1), is_model=False)
    assert parse_destination("m.example").reference_of(entry) == copy


def test_meter():
    lines, now = [], [0.0]
    meter = Meter("x", lines.append, lambda: now[0])
    meter.count(1 << 30)
    now[0] = transfer._REPORT_SECONDS
    meter.count(1 << 30)
    meter.count(1)
    assert lines == ["x: 2 GiB so far"]
