# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The resource definitions of other projects, from their Go modules."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from .errors import SandboxError
from .gocache import GoCache
from .settings import SANDBOX

_GATEWAY = "config/crd/standard/gateway.networking.k8s.io"
Files = Mapping[str, Sequence[str]]
"""Globs by module."""
FILES: Files = {
    "github.com/kserve/kserve": [
        "config/crd/full/serving.kserve.io_inferenceservices.yaml",
    ],
    "sigs.k8s.io/dra-driver-nvidia-gpu": [
        "deployments/helm/*/crds/resource.nvidia.com_computedomains.yaml",
    ],
    "sigs.k8s.io/gateway-api": [
        f"{_GATEWAY}_gatewayclasses.yaml",
        f"{_GATEWAY}_gateways.yaml",
        f"{_GATEWAY}_grpcroutes.yaml",
        f"{_GATEWAY}_httproutes.yaml",
    ],
    "sigs.k8s.io/gateway-api-inference-extension": [
        "config/crd/bases/inference.networking.k8s.io_inferencepools.yaml",
    ],
    "sigs.k8s.io/kwok": [
        "kustomize/crd/bases/kwok.x-k8s.io_logs.yaml",
    ],
    "sigs.k8s.io/lws": [
        "config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml",
    ],
}


def provide_definitions(cache: GoCache) -> list[Path]:
    """Return the files, sorted by name, of the modules that tools/crds pins."""
    return provide_files(cache, SANDBOX / "tools/crds", FILES)


def provide_files(cache: GoCache, source: Path, files: Files) -> list[Path]:
    """Return the files that the globs match, sorted by name, of modules that `source` pins."""

    def make(result: Path) -> None:
        command = ["go", "mod", "download", "-json", *files]
        output = cache.run(command, source, "fetching third-party resource definitions")
        folders = {entry["Path"]: Path(entry["Dir"]) for entry in split_json(output)}
        for module, patterns in files.items():
            for pattern in patterns:
                _copy(folders[module], pattern, result)

    return sorted(cache.provide(source, json.dumps(files), make).glob("*.yaml"))


def split_json(text: str) -> Iterator[dict[str, str]]:
    """Yield the objects of a text with concatenated JSON objects."""
    decoder, rest = json.JSONDecoder(), text.strip()
    while rest:
        entry, end = decoder.raw_decode(rest)
        yield entry
        rest = rest[end:].lstrip()


def _copy(folder: Path, pattern: str, target: Path) -> None:
    paths = list(folder.glob(pattern))
    if not paths:
        raise SandboxError(f"{folder} has no {pattern}")
    for path in paths:
        # Without its mode: modules are read-only.
        shutil.copyfile(path, target / path.name)
