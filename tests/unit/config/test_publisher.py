# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""release/publisher.yaml is the only source of the names and addresses of the publisher."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "hack/generate_publisher.py"
spec = importlib.util.spec_from_file_location("generate_publisher", SCRIPT)
publisher = importlib.util.module_from_spec(spec)
spec.loader.exec_module(publisher)

VALUES = publisher.read_values(ROOT)
OTHER = {
    "organization": "acme",
    "repository": "https://git.acme.test/models/operator",
    "host": "git.acme.test/models/operator",
    "registry": "images.acme.test/models",
    "domain": "docs.acme.test",
    "contact": "models@acme.test",
}
PLACES = publisher.places_of(publisher.list_files(ROOT))


def test_check():
    """All other files have these values, and no further one names them."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", publisher.PLACES)
def test_insert(name):
    """Other values replace all of ours, and ours replace them again."""
    text, patterns = (ROOT / name).read_text(), PLACES[name]
    changed = publisher.insert(text, patterns, OTHER)
    assert changed != text
    assert [*publisher.find_others(changed, {}, VALUES)] == []
    assert [*publisher.find_others(changed, {}, OTHER)] != []
    assert publisher.insert(changed, patterns, VALUES) == text


def test_insert_author():
    line = f"author: The nimops.nim authors (@{VALUES['organization']})\n"
    changed = publisher.insert(line, {"organization": publisher._HANDLE}, OTHER)
    assert changed == "author: The nimops.nim authors (@acme)\n"
    assert len([name for name in PLACES if name.startswith("plugins/modules/")]) > 20


OTHERS = {
    "a repository": (f"see {VALUES['repository']}/issues", ["repository"]),
    "a longer name": (f"see {VALUES['repository']}ble", []),
    "an image": (f"image: {VALUES['registry']}/nim-operator:1", ["registry"]),
    "a registry of a user": (f"image: registry.{VALUES['registry']}/nim-operator:1", []),
    "a contact": (f"mail {VALUES['contact']}", ["contact"]),
    "a domain": (f"see https://{VALUES['domain']}/", ["domain"]),
    "an author": (f"authors (@{VALUES['organization']})", ["organization"]),
    "a collection": ("nimops.nim.apply", []),
}


@pytest.mark.parametrize(("line", "keys"), OTHERS.values(), ids=OTHERS)
def test_find_others(line, keys):
    assert [*publisher.find_others(f"\n{line}\n", {}, VALUES)] == [(2, key) for key in keys]


def test_documented_once():
    """The documentation says in one place that the values are placeholders."""
    pages = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "docs").rglob("*.md")
        if "release/publisher.yaml" in path.read_text()
    ]
    assert pages == ["docs/README.md"]
