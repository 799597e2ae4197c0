# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What the spec of a NIMService asks for: one predicate for each question, used everywhere."""

from __future__ import annotations

import typing as t

Resource = t.Mapping[str, t.Any]
Fields = t.Mapping[str, t.Any]

DEFAULT_PORT = 8000
DEFAULT_RAY_PORT = 6379
DEFAULT_MPI_SECONDS = 300


def name_of(cr: Resource) -> str:
    """The name of the custom resource."""
    return str(cr["metadata"]["name"])


def namespace_of(cr: Resource) -> str:
    """The namespace of the custom resource."""
    return str(cr["metadata"]["namespace"])


def is_deleted(cr: Resource) -> bool:
    """Whether the custom resource is on its way out: nothing is made for it any more."""
    return bool(cr["metadata"].get("deletionTimestamp"))


def is_kserve(cr: Resource) -> bool:
    """Whether the service is to run on KServe."""
    return bool(cr["spec"].get("inferencePlatform") == "kserve")


def is_served(cr: Resource) -> bool:
    """Whether a pass has served this very spec without a failure."""
    status = cr.get("status") or {}
    is_seen = status.get("observedGeneration") == cr["metadata"].get("generation")
    return bool(is_seen and status.get("state") != "Failed")


def storage(cr: Resource) -> Fields:
    """`spec.storage`, empty if unset."""
    return cr["spec"].get("storage") or {}


def service_spec(cr: Resource) -> Fields:
    """`spec.expose.service`, empty if unset."""
    return (cr["spec"].get("expose") or {}).get("service") or {}


def router(cr: Resource) -> Fields:
    """`spec.expose.router`, empty if unset."""
    return (cr["spec"].get("expose") or {}).get("router") or {}


def picker(cr: Resource) -> Fields:
    """`spec.expose.router.eppConfig`, empty if unset or without effect: KServe has its own way."""
    return {} if is_kserve(cr) else router(cr).get("eppConfig") or {}


def legacy_ingress(cr: Resource) -> Fields:
    """`spec.expose.ingress`, empty if unset."""
    return (cr["spec"].get("expose") or {}).get("ingress") or {}


def hpa(cr: Resource) -> Fields:
    """`spec.scale.hpa`, empty if unset."""
    return (cr["spec"].get("scale") or {}).get("hpa") or {}


def dra_resources(cr: Resource) -> t.Sequence[Fields]:
    """`spec.draResources`, empty if unset."""
    return cr["spec"].get("draResources") or ()


def ports(cr: Resource) -> dict[str, int]:
    """Name and number of each port that the service has, in order."""
    service = service_spec(cr)
    numbers = {
        "api": service.get("port") or DEFAULT_PORT,
        "grpc": service.get("grpcPort"),
        "metrics": service.get("metricsPort"),
    }
    return {name: number for name, number in numbers.items() if number}


def is_autoscaled(cr: Resource) -> bool:
    """Whether a HorizontalPodAutoscaler is wanted."""
    return bool((cr["spec"].get("scale") or {}).get("enabled"))


def is_monitored(cr: Resource) -> bool:
    """Whether a ServiceMonitor is wanted."""
    return bool((cr["spec"].get("metrics") or {}).get("enabled"))


def has_ingress(cr: Resource) -> bool:
    """Whether an Ingress is wanted, by either of the two ways to ask for it."""
    return bool(legacy_ingress(cr).get("enabled") or router(cr).get("ingress"))


def has_http_route(cr: Resource) -> bool:
    """Whether an HTTPRoute is wanted: a gateway has one unless it is refused."""
    gateway = router(cr).get("gateway") or {}
    return bool(gateway) and gateway.get("httpRoutesEnabled") is not False


def has_grpc_route(cr: Resource) -> bool:
    """Whether a GRPCRoute is wanted."""
    return bool((router(cr).get("gateway") or {}).get("grpcRoutesEnabled"))


def creates_claim(cr: Resource) -> bool:
    """Whether the PVC is ours to make; a NIMCache, if named, comes first."""
    return bool((storage(cr).get("pvc") or {}).get("create")) and not cache_name(cr)


def cache_name(cr: Resource) -> str:
    """The NIMCache that the model comes from, or an empty string."""
    return (storage(cr).get("nimCache") or {}).get("name") or ""


def pipeline_size(cr: Resource) -> int:
    """The number of nodes that one replica spans."""
    return _parallelism(cr).get("pipeline") or 1


def tensor_size(cr: Resource) -> int:
    """The number of GPUs that a replica uses on each of its nodes."""
    return _parallelism(cr).get("tensor") or 1


def is_multi_node(cr: Resource) -> bool:
    """Whether one replica spans several nodes; one pipeline stage is a plain Deployment."""
    return pipeline_size(cr) > 1


def ray_port(cr: Resource) -> int:
    """The port of Ray on the leader; 0 where MPI connects the nodes, as is the default."""
    ray = _multi_node(cr).get("ray")
    return 0 if ray is None else int(ray.get("rayPort") or DEFAULT_RAY_PORT)


def mpi_seconds(cr: Resource) -> int:
    """How long the leader waits for its workers."""
    return int((_multi_node(cr).get("mpi") or {}).get("mpiStartTimeout") or DEFAULT_MPI_SECONDS)


def compute_domain(cr: Resource) -> Fields:
    """`spec.multiNode.computeDomain`, empty if unset or without effect."""
    return (_multi_node(cr).get("computeDomain") or {}) if is_multi_node(cr) else {}


def _multi_node(cr: Resource) -> Fields:
    return cr["spec"].get("multiNode") or {}


def _parallelism(cr: Resource) -> Fields:
    return _multi_node(cr).get("parallelism") or {}
