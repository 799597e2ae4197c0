# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import io
import json
import tarfile

from nimops_release import archives


def collection(names, mtime):
    """A tarball like Ansible's: in disk order, with current times."""
    listed = {"files": [{"name": name} for name in names], "format": 1}
    files = {name: name.encode() for name in names} | {"FILES.json": json.dumps(listed).encode()}
    digest = hashlib.sha256(files["FILES.json"]).hexdigest()
    manifest = {"format": 1, "file_manifest_file": {"chksum_sha256": digest}}
    files["MANIFEST.json"] = json.dumps(manifest).encode()
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w:gz") as archive:
        folder = tarfile.TarInfo("docs")
        folder.type, folder.mtime = tarfile.DIRTYPE, mtime
        archive.addfile(folder)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.uid, member.uname = len(content), mtime, 7, "me"
            member.mode = 0o775 if name == "run.sh" else 0o664
            archive.addfile(member, io.BytesIO(content))
    return output.getvalue()


def test_repack_collection_reproducible():
    one = archives.repack_collection(collection(["b", "a", "run.sh"], 1), 100)
    two = archives.repack_collection(collection(["run.sh", "a", "b"], 2), 100)
    assert one == two
    assert one != archives.repack_collection(collection(["a", "b", "run.sh"], 1), 101)
    assert int.from_bytes(one[4:8], "little") == 100
    with tarfile.open(fileobj=io.BytesIO(one)) as archive:
        members = archive.getmembers()
        files = {item.name: archive.extractfile(item).read() for item in members if item.isfile()}
    order = ["MANIFEST.json", "FILES.json", "a", "b", "docs", "run.sh"]
    assert [item.name for item in members] == order
    assert [item.name for item in members if item.isdir()] == ["docs"]
    assert {(item.mtime, item.uid, item.uname) for item in members} == {(100, 0, "")}
    assert [oct(item.mode) for item in members] == ["0o644"] * 4 + ["0o755"] * 2
    digest = json.loads(files["MANIFEST.json"])["file_manifest_file"]["chksum_sha256"]
    assert digest == hashlib.sha256(files["FILES.json"]).hexdigest()
    assert [item["name"] for item in json.loads(files["FILES.json"])["files"]] == [
        "a",
        "b",
        "run.sh",
    ]


def test_checksums(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b/c").write_text("c")
    (tmp_path / "a").write_text("a")
    lines = archives.checksums(tmp_path).splitlines()
    assert [line.split("  ")[1] for line in lines] == ["a", "b/c"]
    assert lines[0].split("  ")[0] == hashlib.sha256(b"a").hexdigest()
