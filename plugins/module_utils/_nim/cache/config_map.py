# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The ConfigMap that stores the model manifest of the puller image."""

from __future__ import annotations

from ..._base.types import Manifest
from ..profiles.model_manifest import ModelManifest, dump_manifest
from .app import NIMCacheApp
from .constants import MANIFEST_KEY


def build_config_map(app: NIMCacheApp, model_manifest: ModelManifest) -> Manifest:
    """The ConfigMap with the stripped `model_manifest.yaml`; NIMBuilds add further keys."""
    data = {MANIFEST_KEY: dump_manifest(model_manifest)}
    return app.child("ConfigMap", name=app.config_map_name, data=data)
