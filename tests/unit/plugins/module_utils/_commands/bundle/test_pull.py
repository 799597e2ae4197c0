# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The program that downloads a model in a pod."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.bundle import pull as module
from ansible_collections.nimops.nim.plugins.module_utils._commands.bundle.pull import (
    Progress,
    list_model,
    main,
    parse_place,
)
from ansible_collections.nimops.nim.plugins.module_utils._http.registry_auth import RegistryError
from ansible_collections.nimops.nim.plugins.module_utils._http.registry_client import (
    Manifest,
    digest_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.puller_output import (
    read_progress,
)

TITLE = "org.opencontainers.image.title"
TYPE = "application/vnd.oci.image.manifest.v1+json"
WEIGHTS = bytes(range(256)) * 40
FILES = {"blobs/1": WEIGHTS, "config.json": b"{}", "snapshots/main/model.bin": WEIGHTS}


def add_model(registry, files, tag="1"):
    layers = [
        {
            "mediaType": "application/octet-stream",
            "digest": registry.add_blob("models/llama", content),
            "size": len(content),
            "annotations": {TITLE: path},
        }
        for path, content in files.items()
    ]
    document = {"schemaVersion": 2, "mediaType": TYPE, "layers": layers}
    registry.add_manifest("models/llama", tag, document)


@pytest.fixture
def source(registry, monkeypatch):
    """A registry with a model, which may be accessed over http."""

    def start(files=None, **faults):
        made = registry(**faults)
        monkeypatch.setenv("NIMOPS_TEST_REGISTRIES", made.host)
        add_model(made, FILES if files is None else files)
        return made

    return start


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / "store"
    folder.mkdir()
    return folder


def run(registry, store, *options):
    return main([f"{registry.host}/models/llama:1", str(store), *options])


def read(store):
    return {
        str(file.relative_to(store)): file.read_bytes()
        for file in store.rglob("*") if file.is_file()
    }  # fmt: skip


def test_pull_model(source, store, capsys):
    made = source()
    assert run(made, store, "--profiles", "a", "b") == 0
    assert read(store) == FILES
    assert not (store / ".nimops-drafts").exists()
    first, second = store / "blobs/1", store / "snapshots/main/model.bin"
    assert first.stat().st_ino == second.stat().st_ino, "a content is downloaded and stored once"
    assert len([path for path in made.paths("GET") if "/blobs/" in path]) == 2
    assert first.stat().st_mode & 0o777 == 0o664
    out = capsys.readouterr().out
    assert out.endswith(f"complete: 3 files of {made.host}/models/llama:1\n")


def test_pull_model_of_profiles(source, store, capsys):
    """A store may have a folder for each profile: others than the selected ones stay away."""
    one, two, three = "1" * 64, "2" * 64, "3" * 64
    files = {f"profiles/{one}/a": b"1", f"profiles/{two}/x/a": b"2", "blobs/" + three: b"3"}
    made = source(files)
    assert run(made, store, "--profiles", three) == 1
    assert f"has no files of profile {three}, but of {one}, {two}" in capsys.readouterr().err
    assert run(made, store, "--profiles", two) == 0
    first, *others = files
    assert read(store) == {path: files[path] for path in others}
    assert run(made, store, "--all") == 0
    assert first in read(store)


def test_pull_model_keeps_renewed_versions(source, store):
    """They are below the folder of the first version, and pods may mount them."""
    renewed = store / ".nimops/0123456789/config.json"
    renewed.parent.mkdir(parents=True)
    renewed.write_text("{}")
    assert run(source(), store) == 0
    assert renewed.read_text() == "{}"


def test_pull_model_again(source, store):
    """A damaged file is replaced, others stay."""
    made = source()
    run(made, store)
    (store / "config.json").write_text("[]")
    made.requests.clear()
    assert run(made, store) == 0
    assert read(store) == FILES
    assert len([path for path in made.paths("GET") if "/blobs/" in path]) == 1


def test_pull_model_continues(source, store):
    """A pod that was killed has left a draft."""
    made = source()
    (store / ".nimops-drafts").mkdir()
    (store / ".nimops-drafts" / digest_of(WEIGHTS)[7:]).write_bytes(WEIGHTS[:5000])
    made.cut = 3000
    assert run(made, store) == 0
    assert read(store) == FILES
    ranges = [head["Range"] for _method, _path, head in made.requests if "Range" in head]
    assert ranges == ["bytes=5000-", "bytes=8000-"]


def test_pull_model_of_another_content(source, store, capsys):
    made = source()
    made.blobs["models/llama", digest_of(b"{}")] = b"[]"
    assert run(made, store) == 1
    assert "config.json" not in read(store)
    error = capsys.readouterr().err
    assert f"content of blob {digest_of(b'{}')} does not match its digest" in error


def test_pull_model_with_credentials(source, store, tmp_path, capsys):
    made = source(credentials="me:s3cr3t")
    config = tmp_path / "config.json"
    assert run(made, store, "--auth", str(config)) == 1
    config.write_text(json.dumps({"auths": {made.host: {"username": "me", "password": "s3cr3t"}}}))
    assert run(made, store, "--auth", str(config)) == 0
    assert "s3cr3t" not in str(capsys.readouterr())


def test_pull_model_over_https(serve_https, tls, store, tmp_path, capsys):
    """The authorities of a folder are trusted."""
    port, _seen = serve_https("127.0.0.1")
    (tmp_path / "ca").mkdir()
    words = [f"127.0.0.1:{port}/models/llama:1", str(store), "--ca", str(tmp_path / "ca")]
    assert main(words) == 1
    assert "the certificate is not valid" in capsys.readouterr().err
    (tmp_path / "ca/own.crt").write_bytes(tls.pem(tls.authority[0]))
    assert main(words) == 1
    assert "is not a model" in capsys.readouterr().err


@pytest.mark.parametrize(
    "path",
    ["../x", "/etc/x", "a/../../x", "a//b", "./a", "", "a\\b", "a\nb", ".nimops/x", None, 5],
)
def test_list_model_refuses_path(path):
    layer = {"mediaType": "t", "digest": digest_of(b""), "size": 0, "annotations": {TITLE: path}}
    content = json.dumps({"layers": [layer]}).encode()
    with pytest.raises(RegistryError, match="has a file with"):
        list_model(Manifest(TYPE, digest_of(content), content))


@pytest.mark.parametrize(
    ("document", "media_type", "why"),
    [
        ({"layers": []}, TYPE, "is not a model"),
        ({"manifests": []}, "application/vnd.oci.image.index.v1+json", "is not a model"),
        ({"layers": [{}] * 5000}, TYPE, "more than 4096 files"),
        (
            {"layers": [{"mediaType": "t", "digest": digest_of(b""), "size": 0}]},
            TYPE,
            "without a path",
        ),
        ({"layers": [{"mediaType": "t", "digest": "x", "size": 0}]}, TYPE, "not a digest"),
    ],
)
def test_list_model_refuses(document, media_type, why):
    content = json.dumps(document).encode()
    with pytest.raises(RegistryError, match=why):
        list_model(Manifest(media_type, digest_of(content), content))


def test_pull_model_follows_no_link(source, store, tmp_path, capsys):
    """The volume is the tenant's: a link in it must not lead to other files of the pod."""
    made = source({"sub/file": b"x"})
    (tmp_path / "outside").mkdir()
    (store / "sub").symlink_to(tmp_path / "outside")
    assert run(made, store) == 1
    assert "sub/file: a link in the volume leads out of it" in capsys.readouterr().err
    assert os.listdir(tmp_path / "outside") == []


def test_pull_model_full_volume(source, store, monkeypatch, capsys):
    def fail(*_args):
        raise OSError(28, "No space left on device", "file")

    monkeypatch.setattr(module, "fetch_file", fail)
    assert run(source(), store) == 1
    assert capsys.readouterr().err == "error: file: No space left on device\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("r.example:5000/a/b:1", ("r.example:5000", "a/b", "1")),
        ("mirror/models/llama:1.0", ("mirror", "models/llama", "1.0")),
        ("docker.io/acme/llama:1", ("registry-1.docker.io", "acme/llama", "1")),
    ],
)
def test_parse_place(text, expected):
    assert parse_place(text) == expected


@pytest.mark.parametrize("text", ["llama", "mirror/", "mirror/UPPER:1"])
def test_parse_place_invalid(text):
    with pytest.raises(RegistryError):
        parse_place(text)


def test_progress_is_read_by_operator(capsys):
    now = [0.0]
    progress = Progress(100 << 20, lambda: now[0])
    progress.count(1 << 20)
    progress.count(1 << 20)
    now[0] = 10.0
    progress.count(8 << 20)
    text = capsys.readouterr().out
    assert len(text.splitlines()) == 2
    found = read_progress(text)
    assert found.to_status() == {"bytes": 10 << 20, "totalBytes": 100 << 20, "percent": 10}


def test_main_imports_neither_ansible_nor_kubernetes():
    code = (
        f"import sys; import {module.__name__};"
        "print([name for name in ('ansible', 'kubernetes', 'jinja2') if name in sys.modules])"
    )
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == "[]\n"
