# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import tarfile

import pytest
from nimops_release.contents.image import Image
from nimops_release.errors import ReleaseError


@pytest.mark.parametrize(
    ("layers", "files"),
    [
        pytest.param([{"a": "1", "d/b": "2"}], ["a", "d/b"], id="one layer"),
        pytest.param([{"./a": "1"}, {"/b": "2"}], ["a", "b"], id="names as some tools write them"),
        pytest.param([{"a": "1", "b": "1"}, {".wh.a": ""}], ["b"], id="removed"),
        pytest.param([{"d/e/a": "1", "da": "1"}, {".wh.d": ""}], ["da"], id="removed folder"),
        pytest.param(
            [{"d/a": "1", "d/b": "1"}, {"d/.wh..wh..opq": "", "d/c": "1"}],
            ["d/c"],
            id="replaced folder",
        ),
        pytest.param([{"d": None, "d/a": "1"}, {"d": "now a file"}], ["d"], id="folder, then file"),
    ],
)
def test_files_of_all_layers(make_image, layers, files):
    assert list(make_image(*layers).files()) == files


def test_last_layer_wins(make_image):
    image = make_image({"a": "first", "b": "kept"}, {"a": "second"})
    assert (image.text("a"), image.text("b"), image.text("none")) == ("second", "kept", "")
    assert image.read("a", 3) == b"sec"


@pytest.mark.parametrize(
    ("path", "resolved"),
    [
        ("/lib/a.so", "usr/lib/a.so"),
        ("usr/share/doc/b/copyright", "usr/share/doc/a/copyright"),
        ("up/copyright", "usr/share/doc/a/copyright"),
        ("none/x", "none/x"),
        ("loop/x", "loop/x"),
    ],
)
def test_resolve_links(make_image, path, resolved):
    links = {
        "lib": "usr/lib",
        "usr/share/doc/b": "a",
        "up": "/usr/lib/../share/doc/b",
        "loop": "loop",
    }
    image = make_image({"usr/lib/a.so": "", "usr/share/doc/a/copyright": "text"}, links=links)
    assert image.resolve(path) == resolved


def test_image_metadata(make_image):
    config = {"architecture": "amd64", "config": {"Labels": {"a": "b"}}}
    image = make_image({"etc/os-release": 'NAME="X"\nID="rhel"\nVERSION_ID=9\n'}, config=config)
    assert image.labels == {"a": "b"}
    assert image.distribution == "rhel"
    assert image.names == ["a.example/b:1"]
    assert image.config_digest == "sha256:c0ffee"
    assert make_image({}).labels == {}


def test_archive_invalid(tmp_path):
    archive = tmp_path / "other.tar"
    with tarfile.open(archive, "w"):
        pass
    with pytest.raises(ReleaseError, match=r"other\.tar: has no manifest\.json"):
        Image(archive)
