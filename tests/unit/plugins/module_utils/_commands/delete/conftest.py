# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A namespace with services, caches and their objects."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    api_path,
    collection_path,
    manifest,
)


class Place:
    """The namespace nim of a cluster; the uid of an object is its kind and name."""

    def __init__(self, cluster):
        self.cluster = cluster

    def put(self, kind, name, *owners, **fields):
        """``owners``: the uids of the owners, of which the first is the controller."""
        references = [
            {
                "uid": uid,
                "kind": uid.split("/")[0],
                "name": uid.split("/")[1],
                "controller": not index,
            }
            for index, uid in enumerate(owners)
        ]
        metadata = fields.pop("metadata", {})
        item = manifest(kind, name, "nim", **fields)
        item["metadata"] |= {"uid": f"{kind}/{name}", "ownerReferences": references} | metadata
        return self.cluster.put(api_path(kind, "nim", name), item)

    def put_claim(self, name, *owners, volume="", policy="Delete", **metadata):
        spec = {"volumeName": volume, "resources": {"requests": {"storage": "50Gi"}}}
        self.put("PersistentVolumeClaim", name, *owners, spec=spec, metadata=metadata)
        if volume:
            path = collection_path("v1", "persistentvolumes", None, volume)
            item = {"metadata": {"name": volume}, "spec": {"persistentVolumeReclaimPolicy": policy}}
            self.cluster.put(path, item)

    def put_service(self, name, cache="", *owners, **metadata):
        storage = {"nimCache": {"name": cache}} if cache else {"emptyDir": {}}
        self.put("NIMService", name, *owners, spec={"storage": storage}, metadata=metadata)
        spec = {"template": {"metadata": {}, "spec": {"containers": []}}}
        self.put("Deployment", name, f"NIMService/{name}", spec=spec)

    def put_cache(self, name, volume="", **claim):
        self.put("NIMCache", name, spec={"storage": {"pvc": {"create": True}}})
        self.put("Job", f"{name}-job", f"NIMCache/{name}")
        self.put_claim(f"{name}-pvc", f"NIMCache/{name}", volume=volume, **claim)

    def drop(self, kind, name):
        del self.cluster.objects[api_path(kind, "nim", name)]

    def has(self, kind, name):
        return api_path(kind, "nim", name) in self.cluster.objects


@pytest.fixture
def place(cluster):
    return Place(cluster)
