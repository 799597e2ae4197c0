# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Packs two bundles where there is Internet access: bundle_images.py FOLDER ARCHIVE.

There may be several archives. It simulates the registries of their images on loopback, where the
file of hosts has their names, and makes two revisions of a model. FOLDER has `upstream.crt` and
`upstream.key`, and gets `day-1` and `day-2`.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

from oci_registry import Registry, serve

HTTPS = 443
IMAGE, UPDATE = "acme/tiny-llm:1.0.0", "acme/tiny-llm:1.1.0"
PROFILES = (
    "66219384d654d40be8cceb417673f6a5d2a225f3a565b87d70d564cc141b7969",
    "6d3b3043f507fcc6dc285e30feb51297449e5819c69374632e1629581dcd3f83",
)
RESOURCES = Path(__file__).resolve().parent / "resources"
OPERATOR = Path(__file__).resolve().parents[2] / "dist/install.yaml"
SIZE = 1 << 20
"""Bytes of the large file of a profile."""


def add_archive(registry: Registry, archive: Path) -> None:
    """Store the images of an archive of Docker, and an update of the model server's."""
    with tarfile.open(archive) as files:
        for image in json.loads(_read(files, "manifest.json")):
            layers = [_read(files, name) for name in image["Layers"]]
            config = _read(files, image["Config"])
            for reference in image["RepoTags"]:
                name, _colon, tag = reference.partition("/")[2].rpartition(":")
                registry.add_image(name, tag, *layers, config=config)
                if f"{name}:{tag}" == IMAGE:
                    name, _colon, tag = UPDATE.rpartition(":")
                    registry.add_image(name, tag, *layers, config=make_update(config))


def make_update(config: bytes) -> bytes:
    """The configuration of an image with another digest."""
    found: dict[str, Any] = json.loads(config)
    found["config"]["Env"].append("RELEASE=1.1.0")
    return json.dumps(found).encode()


def make_model(folder: Path, release: str) -> Path:
    """The files of a model with two profiles, as the image stores them."""
    for number, profile in enumerate(PROFILES):
        place = folder / "profiles" / profile
        place.mkdir(parents=True)
        (place / "rank0.engine").write_bytes(f"{release}{number}".encode() * (SIZE // 2))
        (place / "config.json").write_text(json.dumps({"release": release}))
    (folder / "README").write_text(f"release {release}\n")
    return folder


def pack(folder: Path, day: str, *words: str) -> None:
    """Run `kubectl nim bundle`."""
    model = make_model(folder / f"model-{day}", day)
    command = [sys.executable, "-m", "kubectl_nim", "bundle", *words]
    command += ["--filename", str(RESOURCES / f"day-{day}.yaml")]
    command += ["--model", f"models/tiny:{day}={model}", "--output", str(folder / f"day-{day}")]
    subprocess.run([*command, "--ca-file", str(folder / "upstream.crt")], check=True)


def main(arguments: list[str]) -> None:
    """Serve the images, and pack them."""
    folder, *archives = map(Path, arguments)
    registry = Registry()
    for archive in archives:
        add_archive(registry, archive)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "upstream.crt", folder / "upstream.key")
    server = serve(registry, port=HTTPS, context=context)
    pack(folder, "1", "--filename", str(OPERATOR))
    pack(folder, "2")
    server.shutdown()


def _read(files: tarfile.TarFile, name: str) -> bytes:
    found = files.extractfile(name)
    if found is None:
        raise SystemExit(f"{name} is not a file")
    return found.read()


if __name__ == "__main__":
    main(sys.argv[1:])
