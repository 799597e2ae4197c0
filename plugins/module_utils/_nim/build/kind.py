# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NIMBuild: builds an engine on the volume of a NIMCache."""

from __future__ import annotations

from ..._builders.traffic import SELECTOR_ACCESS
from ..._engine.kind import Access, Kind, Rule
from .app import NIMBuildApp
from .desired import desired
from .reads import reads
from .status import assess, refuse

KIND = Kind(
    name="NIMBuild",
    plural="nimbuilds",
    short_names=("nimb",),
    app=NIMBuildApp,
    reads=reads,
    desired=desired,
    assess=assess,
    refuse=refuse,
    watches_annotations=True,
    access=(
        Access("NIMCache", "read", "the cache to build on; its status lists the built profiles"),
        Access("PersistentVolumeClaim", "read", "whether the volume still exists"),
        Access(
            "Pod",
            "read write delete",
            "build the engine and print its manifest; each is deleted when done",
        ),
        Access("ConfigMap", "read write", "the manifest of the built engine"),
        Access("Node", "list", "detect the Kubernetes distribution"),
        *SELECTOR_ACCESS,
    ),
    rules=(Rule("", "pods/log", "get", "the pod's output"),),
)
