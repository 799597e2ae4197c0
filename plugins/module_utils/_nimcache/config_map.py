# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The ConfigMap that keeps the model manifest of the puller image."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import (
    Manifest,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest import (
    ModelManifest,
    dump_manifest,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import owner_reference
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import manifest
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.names import (
    MANIFEST_KEY,
    Resource,
    config_map_name,
    part_labels,
)


def build_config_map(cr: Resource, model_manifest: ModelManifest) -> Manifest:
    """The stripped manifest under `model_manifest.yaml`; whoever builds engines adds keys."""
    return manifest(
        "ConfigMap",
        config_map_name(cr),
        cr["metadata"]["namespace"],
        metadata={"labels": part_labels(cr), "ownerReferences": [owner_reference(cr)]},
        data={MANIFEST_KEY: dump_manifest(model_manifest)},
    )
