# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NIMCache: downloads a model once, to a volume that services share."""

from __future__ import annotations

from ..._builders.rbac import SCC_GROUP, SCC_RESOURCE
from ..._builders.traffic import SELECTOR_ACCESS
from ..._engine.kind import Access, Kind, Rule
from .app import NIMCacheApp
from .claim_fate import assess_deletion, finalize
from .desired import desired
from .reads import reads
from .status import assess, assumed_status, refuse

KIND = Kind(
    name="NIMCache",
    plural="nimcaches",
    short_names=("nimc",),
    app=NIMCacheApp,
    reads=reads,
    desired=desired,
    assess=assess,
    finalize=finalize,
    assess_deletion=assess_deletion,
    refuse=refuse,
    assumed_status=assumed_status,
    watches_annotations=True,
    access=(
        Access(
            "NIMCache", "list", "another cache on the same claim keeps the files beside a renewal"
        ),
        Access(
            "NIMBuild",
            "list patch",
            "triggers the builds that wait for it; one that uses the claim keeps it",
        ),
        Access(
            "NIMService",
            "list patch",
            "triggers the services that wait for it or switch to a renewed model; one that uses the"
            " claim keeps it",
        ),
        Access("PersistentVolumeClaim", "read write", "storage"),
        Access("ServiceAccount", "read write", "identity of the pods of all caches"),
        Access("Role", "read write", "the SCCs that the pods may use"),
        Access("RoleBinding", "read write", "binds the Role to the ServiceAccount"),
        Access("ConfigMap", "read write", "the model manifest"),
        Access(
            "Pod",
            "read list write delete",
            "prints the model manifest; listed to find those that use a claim or its files,"
            " and why a download does not start",
        ),
        Access(
            "Job",
            "read write delete",
            "downloads the model, and removes former files; deleted when its claim is lost",
        ),
        Access(
            "Secret",
            "read",
            "image pull secrets, to ask the registry how an image downloads its model",
        ),
        Access("Event", "list", "why the controller of a Job creates no pod"),
        Access("Node", "list", "detect the Kubernetes distribution; find GPUs to select profiles"),
        *SELECTOR_ACCESS,
    ),
    rules=(
        Rule("", "pods/log", "get", "the pod's output"),
        Rule(
            SCC_GROUP,
            SCC_RESOURCE,
            "use",
            "the Roles of pods grant one of these",
            "anyuid nonroot",
        ),
    ),
)
