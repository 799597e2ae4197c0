# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The ConfigMap that stores the model manifest of the puller image."""

from __future__ import annotations

from ..._base.types import Manifest
from ..._engine.created_once import marks_of
from ..profiles.model_manifest import ModelManifest, dump_manifest
from .app import NIMCacheApp
from .constants import MANIFEST_KEY
from .source import source_of


def build_config_map(app: NIMCacheApp, model_manifest: ModelManifest) -> Manifest:
    """The ConfigMap with the stripped `model_manifest.yaml`; NIMBuilds add further keys."""
    data = {MANIFEST_KEY: dump_manifest(model_manifest)}
    marks = marks_of(app.resource, source_of(app).puller)
    return app.child("ConfigMap", name=app.config_map_name, annotations=marks, data=data)
