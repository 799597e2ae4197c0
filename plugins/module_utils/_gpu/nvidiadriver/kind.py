# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NVIDIADriver: a GPU driver and the nodes on which it is installed."""

from __future__ import annotations

from ..._engine.kind import Access, Kind, Rule
from ..access import (
    RESOURCES,
    UPGRADE_ACCESS,
    constraint_access,
    rbac_access,
)
from ..driver.pool import CLUSTER_RULES
from ..nodes import NODE_FACTS
from .app import DriverApp
from .desired import desired, finalize
from .reads import reads
from .status import assess, refuse

_GRANTED = "held because it is granted to the driver's pods"

KIND = Kind(
    name="NVIDIADriver",
    plural="nvidiadrivers",
    short_names=("nvd", "nvdriver", "nvdrivers"),
    group="nvidia.com",
    is_namespaced=False,
    component="gpu",
    reconcile_period="2m",
    watches_annotations=True,
    first_state="notReady",
    node_facts=NODE_FACTS,
    checks_crd=True,
    app=DriverApp,
    reads=reads,
    desired=desired,
    assess=assess,
    refuse=refuse,
    finalize=finalize,
    access=(
        Access("Node", "list patch", "which driver a node gets, by a label; upgrades"),
        Access("ClusterPolicy", "list", "whether it leaves drivers to this kind"),
        Access("NVIDIADriver", "list", "which one gets a node"),
        Access("GPUCluster", "list", "one excludes policies"),
        Access("CustomResourceDefinition", "read", "whether this is OpenShift; dropped fields"),
        Access("DaemonSet", "list read write delete", "the driver's pods"),
        Access("Pod", "list delete", "why a driver is not ready; outdated drivers end"),
        *UPGRADE_ACCESS,
        *rbac_access("the driver's pods"),
        Access("ConfigMap", "read", "repositories, certificates and parameters of modules"),
        Access("Secret", "read", "whether the driver's environment exists, or its license changed"),
    ),
    rules=(
        *(
            Rule(
                item["apiGroups"][0],
                " ".join(item["resources"]),
                " ".join(item["verbs"]),
                _GRANTED,
            )
            for item in CLUSTER_RULES
        ),
        constraint_access(_GRANTED),
    ),
    resources=RESOURCES,
)
