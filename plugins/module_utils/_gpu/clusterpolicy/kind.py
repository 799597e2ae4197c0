# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""ClusterPolicy: the software that nodes need to provide GPUs."""

from __future__ import annotations

from ..._engine.api_resources import ApiResource
from ..._engine.kind import Access, Kind, Rule
from ..access import (
    RESOURCES,
    UPGRADE_ACCESS,
    constraint_access,
    rbac_access,
)
from ..nodes import NODE_FACTS
from .app import PolicyApp
from .desired import desired, finalize
from .reads import reads
from .status import assess, refuse

_GRANTED = "held because it is granted to pods of the stack"

KIND = Kind(
    name="ClusterPolicy",
    plural="clusterpolicies",
    short_names=("nvcp",),
    group="nvidia.com",
    version="v1",
    is_namespaced=False,
    component="gpu",
    watches_annotations=True,
    first_state="notReady",
    node_facts=NODE_FACTS,
    checks_crd=True,
    app=PolicyApp,
    reads=reads,
    desired=desired,
    assess=assess,
    refuse=refuse,
    finalize=finalize,
    access=(
        Access("Node", "list patch", "labels by which pods find their nodes"),
        Access("GPUCluster", "list", "one excludes policies"),
        Access("ClusterPolicy", "list", "only the oldest one is active"),
        Access("NVIDIADriver", "list patch", "triggers those that depend on it"),
        Access(
            "CustomResourceDefinition",
            "read",
            "whether there are ServiceMonitors, GPUClusters, OpenShift; dropped fields",
        ),
        Access("Namespace", "read patch", "labels of Pod Security Admission"),
        Access("RuntimeClass", "list read write delete", "how containers get GPUs"),
        Access("DaemonSet", "list read write delete", "the components"),
        Access("Pod", "list delete", "why a component is not ready; outdated drivers end"),
        *UPGRADE_ACCESS,
        *rbac_access("the components"),
        Access("ConfigMap", "read write delete", "their scripts and configurations"),
        Access("Secret", "read", "whether the driver's environment exists, or its license changed"),
        Access("Service", "read write delete", "their metrics"),
        Access("ServiceMonitor", "read write delete", "their metrics"),
    ),
    rules=(
        Rule("", "nodes", "get list watch patch update", _GRANTED),
        Rule("", "pods", "get list watch", _GRANTED),
        Rule("", "pods", "create update patch delete", _GRANTED, is_local=True),
        Rule("", "pods/eviction", "create", f"upgrades of drivers; {_GRANTED}"),
        Rule("", "configmaps", "get list create update patch", _GRANTED, is_local=True),
        Rule("apps", "daemonsets", "get list watch", _GRANTED),
        Rule("config.openshift.io", "clusterversions", "get list", _GRANTED),
        Rule(
            "nfd.k8s-sigs.io",
            "nodefeatures",
            "get list watch create update",
            _GRANTED,
            is_local=True,
        ),
        Rule(
            "nvidia.com",
            "clusterpolicies/finalizers nvidiadrivers/finalizers",
            "get list watch create update patch delete",
            _GRANTED,
        ),
        Rule("resource.k8s.io", "resourceclaims", "get list", _GRANTED),
        constraint_access(_GRANTED),
    ),
    resources={
        **RESOURCES,
        "Namespace": ApiResource("v1", "namespaces", is_namespaced=False, is_cached=False),
        "RuntimeClass": ApiResource("node.k8s.io/v1", "runtimeclasses", is_namespaced=False),
    },
)
