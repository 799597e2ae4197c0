# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NIMService: serves a model, on one node or several, with plain Kubernetes or KServe."""

from __future__ import annotations

from ..._builders.rbac import SCC_GROUP, SCC_RESOURCE
from ..._builders.traffic import SELECTOR_ACCESS
from ..._engine.kind import Access, Kind, Rule
from .app import NIMServiceApp
from .desired import desired
from .endpoint_picker.deployment import FORMER_POOL_GROUP, FORMER_RESOURCES, POOL_GROUP
from .kserve.mode import CONTROLLER, CONTROLLERS
from .reads import reads
from .status import assess, refuse

_CHILD = "read write delete"
_GRANTED = "the Role of an endpoint picker grants it, so the operator also needs it"

KIND = Kind(
    name="NIMService",
    plural="nimservices",
    short_names=("nimsvc",),
    app=NIMServiceApp,
    reads=reads,
    desired=desired,
    assess=assess,
    refuse=refuse,
    watches_annotations=True,
    is_scalable=True,
    access=(
        Access("NIMCache", "read", "the cached model"),
        Access("NIMPipeline", "patch", "reports its state to the pipeline, by an annotation"),
        Access("PersistentVolumeClaim", "read write", "storage"),
        Access("ServiceAccount", _CHILD, "identity of the pods; a picker's is deleted with it"),
        Access("Role", _CHILD, "the SCC that the pods may use; a picker's is deleted with it"),
        Access("RoleBinding", _CHILD, "binds the Role to the ServiceAccount"),
        Access("Service", _CHILD, "address; deleted when KServe takes over"),
        Access("Deployment", f"{_CHILD} list", "workload; listed to find KServe's controller"),
        Access("LeaderWorkerSet", _CHILD, "workload whose replicas span nodes"),
        Access("InferenceService", f"{_CHILD} list", "workload that KServe runs"),
        Access("ComputeDomain", _CHILD, "NVLink between the nodes of a replica"),
        Access(
            "ConfigMap",
            _CHILD,
            "hostfiles and start script of groups, an endpoint picker's"
            " configuration; KServe's settings are read",
        ),
        Access(
            "Secret",
            "read write",
            "image pull secrets, to ask the registry how an image"
            " downloads its model; the SSH key of groups, created once",
        ),
        Access(
            "HorizontalPodAutoscaler",
            f"{_CHILD} list",
            "autoscaling; listed to find a foreign one where the replica count differs",
        ),
        Access("PodDisruptionBudget", _CHILD, "limits evictions, on request"),
        Access("Ingress", _CHILD, "external access"),
        Access("HTTPRoute", _CHILD, "external access"),
        Access("GRPCRoute", _CHILD, "external access"),
        Access("InferencePool", _CHILD, "the pods that an endpoint picker chooses from"),
        Access("ServiceMonitor", _CHILD, "scraping"),
        Access("ResourceClaimTemplate", "read write", "devices of the pods"),
        Access("ResourceClaim", "list", "the state of the claims that pods created"),
        Access(
            "Pod",
            "list",
            "why they are not ready, and which are unschedulable during an update",
        ),
        Access("Event", "list", "why a group lacks pods, or KServe runs none"),
        Access("Node", "list", "detect the Kubernetes distribution"),
        *SELECTOR_ACCESS,
    ),
    assumed=((CONTROLLERS, CONTROLLER),),
    rules=(
        Rule("", "pods", "get list watch", _GRANTED),
        Rule(
            POOL_GROUP,
            "inferenceobjectives inferencepools",
            "get list watch",
            _GRANTED,
        ),
        Rule(
            FORMER_POOL_GROUP,
            " ".join(sorted(FORMER_RESOURCES)),
            "get list watch",
            _GRANTED,
        ),
        Rule("coordination.k8s.io", "leases", "get create update", _GRANTED),
        Rule(
            SCC_GROUP,
            SCC_RESOURCE,
            "use",
            "the Roles of pods grant one of these",
            "anyuid hostmount-anyuid nonroot",
        ),
    ),
)
