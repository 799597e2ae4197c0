# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Packages of each kind, from their installers' files in an image."""

from __future__ import annotations

import json
import sqlite3
import struct
from email.message import Message

import pytest
from nimops_release.contents import collections, debian, finder, golang, python, rpm
from nimops_release.contents.component import Component
from nimops_release.errors import ReleaseError

STATUS = """Package: libone1
Status: install ok installed
Architecture: amd64
Version: 1:1.0-2
Description: first
 more text

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1
"""
DEP5 = "Format: https://x\n\nFiles: *\nLicense: GPL-2+\n text\n\nFiles: a\nLicense:  Expat \n"


def test_debian_packages(make_image):
    image = make_image(
        {
            "etc/os-release": "ID=debian\n",
            "var/lib/dpkg/status": STATUS,
            "var/lib/dpkg/info/libone1:amd64.list": "/.\n/lib/one.so\n",
            "usr/share/doc/libone1/copyright": DEP5,
        }
    )
    [found] = debian.find_packages(image)
    assert found == Component(
        "deb", "libone1", "1:1.0-2", "debian", "amd64", licenses=("Expat", "GPL-2+")
    )
    assert found.owns == ("/.", "/lib/one.so")
    assert found.full_name == "libone1"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param(DEP5, ("Expat", "GPL-2+"), id="fields"),
        pytest.param(
            "See /usr/share/common-licenses/GPL-2 and /usr/share/common-licenses/LGPL-2.1.",
            ("GPL-2", "LGPL-2.1"),
            id="references",
        ),
        pytest.param("License: as you like", (), id="prose"),
        pytest.param("", (), id="nothing"),
    ],
)
def test_read_copyright(text, names):
    assert debian.read_copyright(text) == names


def pack_header(values: dict[int, list[str] | list[int]]) -> bytes:
    index, data = b"", b""
    for tag, items in values.items():
        if isinstance(items[0], int):
            data += b"\0" * (-len(data) % 4)
            packed, kind = struct.pack(f">{len(items)}i", *items), 4
        else:
            packed = b"".join(item.encode() + b"\0" for item in items)
            kind = 6 if len(items) == 1 else 8
        index += struct.pack(">IIiI", tag, kind, len(data), len(items))
        data += packed
    return struct.pack(">II", len(values), len(data)) + index + data


HEADER = {
    1000: ["bash"],
    1001: ["5.1"],
    1002: ["9.el9"],
    1014: ["GPLv3+"],
    1022: ["x86_64"],
    1116: [1, 0],
    1117: ["bash", "bashrc"],
    1118: ["/etc/", "/usr/bin/"],
}


@pytest.fixture
def databases(tmp_path):
    """rpm's database with and without a write-ahead log beside it."""
    file = tmp_path / "rpmdb.sqlite"
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE Packages (hnum INTEGER PRIMARY KEY, blob BLOB NOT NULL)")
    for header in (HEADER, {**HEADER, 1000: ["gpg-pubkey"]}, {**HEADER, 1003: [2]}):
        connection.execute("INSERT INTO Packages (blob) VALUES (?)", (pack_header(header),))
    connection.commit()
    names = ("rpmdb.sqlite", "rpmdb.sqlite-wal")
    with_log = {f"var/lib/rpm/{name}": (tmp_path / name).read_bytes() for name in names}
    connection.close()
    return with_log, {"var/lib/rpm/rpmdb.sqlite": file.read_bytes()}


@pytest.mark.parametrize("which", [0, 1], ids=["log", "no log"])
def test_rpm_packages(make_image, databases, which):
    image = make_image({"etc/os-release": 'ID="rhel"\n', **databases[which]})
    first, second = rpm.find_packages(image)
    assert first == Component("rpm", "bash", "5.1-9.el9", "rhel", "x86_64", ("GPLv3+",))
    assert first.owns == ("/usr/bin/bash", "/etc/bashrc")
    assert second.version == "2:5.1-9.el9"


def test_rpm_other_database(make_image):
    with pytest.raises(ReleaseError, match="/var/lib/rpm: not an SQLite database"):
        list(rpm.find_packages(make_image({"var/lib/rpm/Packages": "\0"})))


SITE = "usr/local/lib/python3.12/site-packages"


def test_python_packages(make_image):
    image = make_image(
        {
            f"{SITE}/A_b.c-1.dist-info/METADATA": "Name: A_b.c\nVersion: 1\n\nLicense: body\n",
            f"{SITE}/A_b.c-1.dist-info/RECORD": "a.py,,\n../../../bin/a,sha256=x,1\n",
            f"{SITE}/A_b.c-1.dist-info/licenses/LICENSE.txt": "text of it",
            f"{SITE}/other-1.dist-info/licenses/LICENSE.txt": "another one's",
            "usr/lib/python3/dist-packages/old-2.egg-info": "Name: old\nVersion: 2\nLicense: MIT\n",
        }
    )
    old, new = python.find_packages(image)
    assert old == Component("pypi", "old", "2", licenses=("MIT",))
    assert new == Component("pypi", "a-b-c", "1")
    assert new.texts == ("text of it",)
    assert new.owns == (f"{SITE}/a.py", f"{SITE}/../../../bin/a")


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        pytest.param(
            [("License-Expression", "MIT OR ISC"), ("License", "x")], ("MIT OR ISC",), id="SPDX"
        ),
        pytest.param(
            [("License", "BSD"), ("Classifier", "License :: OSI Approved :: MIT License")],
            ("BSD",),
            id="name",
        ),
        pytest.param(
            [
                ("License", "UNKNOWN"),
                ("Classifier", "License :: OSI Approved :: MIT License"),
                ("Classifier", "License :: OSI Approved"),
                ("Classifier", "Topic :: A :: B"),
            ],
            ("MIT License",),
            id="classifier",
        ),
        pytest.param([("License", "All of\n it")], (), id="a text is not a name"),
    ],
)
def test_read_license(fields, names):
    message = Message()
    for key, value in fields:
        message[key] = value
    assert python.read_license(message) == names


def test_find_interpreter(make_image):
    image = make_image(
        {
            "usr/local/bin/python3.12": b"\x7fELF",
            "usr/local/lib/libpython3.12.so.1.0": b"\x7fELF 3.12.1.1 lib-3.12.7\0",
            "usr/local/lib/python3.12/LICENSE.txt": "of Python",
            "usr/local/lib/python3.12/lib-dynload/a.so": b"\x7fELF",
            f"{SITE}/b.so": b"\x7fELF",
        }
    )
    [found] = python.find_interpreter(image)
    assert found == Component("generic", "python", "3.12.7", licenses=("PSF-2.0",))
    [other] = finder.find_components(image)[1:]
    assert (other.name, other.licenses) == ("b.so", ())


def test_find_collections(make_image):
    info = {"namespace": "a", "name": "b", "version": "1", "license": [], "license_file": "L"}
    folder = "opt/ansible/.ansible/collections/ansible_collections/a/b"
    manifest = json.dumps({"collection_info": info})
    image = make_image({f"{folder}/MANIFEST.json": manifest, f"{folder}/L": "text"})
    [found] = collections.find_collections(image)
    assert found == Component("generic", "a.b", "1")
    assert found.texts == ("text",)


def test_find_modules():
    info = {
        "GoVersion": "go1.26.1",
        "Main": {"Path": "nimops.nim/sandbox/tools/x", "Version": "(devel)"},
        "Deps": [
            {"Path": "a.example/b", "Version": "v1.0.0"},
            {
                "Path": "k8s.io/x",
                "Version": "v0.0.0",
                "Replace": {"Path": "k8s.io/y", "Version": "v1"},
            },
            {"Path": "c.example/d", "Version": "v1", "Replace": {"Path": "./d"}},
        ],
    }
    assert golang.read_modules(info) == [
        ("stdlib", "1.26.1"),
        ("a.example/b", "v1.0.0"),
        ("k8s.io/y", "v1"),
        ("./d", "(devel)"),
    ]


def test_find_others(make_image):
    image = make_image({"tini": b"\x7fELF1", "usr/lib/x.so": b"\x7fELF2", "a.txt": b"\x7fELF"})
    tini, other = finder.find_components(image)
    assert (tini.name, tini.licenses) == ("tini", ("MIT",))
    assert (other.name, other.licenses) == ("x.so", ())
    assert other.version.startswith("sha256:")


def test_find_others_owned_files(make_image):
    status = {"var/lib/dpkg/status": STATUS, "var/lib/dpkg/info/libone1.list": "/lib/one.so\n"}
    image = make_image({"usr/lib/one.so": b"\x7fELF", **status}, links={"lib": "usr/lib"})
    assert [item.name for item in finder.find_components(image)] == ["libone1"]
