# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The parsed spec of a NIMService; no other module parses its fields."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ..._base.types import Fields
from ..._builders.env import EnvVar
from ..._builders.expose import Expose, parse_expose
from ..._builders.gpu import Amounts, amounts_of
from ..._builders.image import Image, parse_image
from ..._builders.pod import group_id, user_id
from ..._builders.proxy import Proxy, parse_proxy
from ..._builders.pvc import Claim, parse_claim
from ..._builders.side_container import SideContainer, parse_side_containers

DEFAULT_RAY_PORT = 6379
DEFAULT_MPI_SECONDS = 300

_SCHEDULING = (
    "schedulerName",
    "priorityClassName",
    "runtimeClassName",
    "nodeSelector",
    "tolerations",
    "affinity",
)
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_ELECTION = re.compile("--ha-enable-leader-election(=(1|t|true))?", re.IGNORECASE)
_IGNORED_BY_KNATIVE = ("replicas", "userID", "groupID")


@dataclass(frozen=True)
class PickerSpec:
    """`eppConfig`, the endpoint picker; all fields are empty if it is missing."""

    is_wanted: bool
    image: Image
    command: list[str]
    args: list[str]
    working_dir: str
    env: t.Sequence[EnvVar]
    liveness_probe: Fields
    readiness_probe: Fields
    startup_probe: Fields
    ports: t.Sequence[Fields]
    """The user's ports, or empty for the default ports."""
    config: Fields | None
    """The configuration, which may be an empty mapping."""
    config_map: str
    """The user's ConfigMap, which has the configuration under ``config_key``."""
    config_key: str
    elects_leader: bool
    """Whether only one of its replicas serves, and the others wait for that one's end."""


@dataclass(frozen=True)
class Storage:
    """`spec.storage`; missing strings are empty.

    ``cache_name``: the NIMCache with the model; ``profile``: its profile to serve.
    ``creates_claim``: whether the operator creates the PVC; a named NIMCache takes precedence.
    ``memory_limit``: the size of the shared memory.
    """

    claim: Claim
    creates_claim: bool
    cache_name: str
    profile: str
    has_empty_dir: bool
    empty_dir_limit: str
    host_path: str
    is_read_only: bool
    memory_limit: str


@dataclass(frozen=True)
class MultiNode:
    """`spec.multiNode`: the nodes that one replica spans, and their connection.

    ``is_given``: whether the field is set, even for one node. ``pipeline_size``: the number of
    nodes. ``tensor_size``: the number of GPUs of a replica on each node. ``ray_port``: the port of
    Ray on the leader, or 0 if MPI connects the nodes, which is the default. ``mpi_seconds``: the
    time that the leader waits for its workers. The ComputeDomain fields are empty for one node.
    """

    is_given: bool
    pipeline_size: int
    tensor_size: int
    ray_port: int
    mpi_seconds: int
    creates_domain: bool
    domain_name: str


@dataclass(frozen=True)
class Spec:
    """The spec of a NIMService; missing fields are empty or have the documented default.

    ``auth_secret``: the Secret with the credentials of NGC or Hugging Face. ``amounts``: requests
    and limits of the model container. ``probes``: field of that container → the user's settings.
    ``scheduling``: the fields that have the same name in the pod spec. ``for_knative``: the given
    fields that Knative ignores. ``without_effect``: the given fields that others exclude.
    ``autoscaler``, ``service_monitor``: None if not enabled.
    """

    image: Image
    auth_secret: str
    env: t.Sequence[EnvVar]
    command: t.Sequence[str]
    args: t.Sequence[str]
    amounts: Amounts
    dra_resources: t.Sequence[Fields]
    probes: t.Mapping[str, Fields]
    scheduling: Fields
    user: int
    group: int
    for_knative: t.Sequence[str]
    without_effect: t.Sequence[str]
    init_containers: t.Sequence[SideContainer]
    sidecars: t.Sequence[SideContainer]
    proxy: Proxy
    annotations: t.Mapping[str, str]
    storage: Storage
    replicas: int | None
    autoscaler: Fields | None
    autoscaler_annotations: t.Mapping[str, str]
    service_monitor: Fields | None
    multi_node: MultiNode
    is_kserve: bool
    expose: Expose
    picker: PickerSpec
    """Not wanted on KServe, which has its own endpoint picker."""

    @property
    def is_autoscaled(self) -> bool:
        """Whether a HorizontalPodAutoscaler is wanted."""
        return self.autoscaler is not None

    @property
    def is_monitored(self) -> bool:
        """Whether a ServiceMonitor is wanted."""
        return self.service_monitor is not None

    @property
    def is_multi_node(self) -> bool:
        """Whether one replica spans several nodes; one pipeline stage is a plain Deployment."""
        return self.multi_node.pipeline_size > 1


def parse_spec(service: Fields) -> Spec:
    """Parse the spec of a NIMService."""
    fields = service["spec"]
    scale, metrics = fields.get("scale") or {}, fields.get("metrics") or {}
    is_kserve = fields.get("inferencePlatform") == "kserve"
    expose = parse_expose(fields.get("expose") or {})
    return Spec(
        image=parse_image(fields.get("image")),
        auth_secret=fields.get("authSecret") or "",
        env=fields.get("env") or [],
        command=fields.get("command") or [],
        args=fields.get("args") or [],
        amounts=amounts_of(fields.get("resources")),
        dra_resources=fields.get("draResources") or (),
        probes={name: fields.get(name) or {} for name in _PROBES},
        scheduling={name: fields.get(name) for name in _SCHEDULING},
        user=user_id(fields),
        group=group_id(fields),
        for_knative=_ignored_by_knative(fields),
        without_effect=_without_effect(fields, is_kserve=is_kserve),
        init_containers=parse_side_containers(fields.get("initContainers")),
        sidecars=parse_side_containers(fields.get("sidecarContainers")),
        proxy=parse_proxy(fields.get("proxy")),
        annotations=fields.get("annotations") or {},
        storage=_parse_storage(service, fields.get("storage") or {}),
        replicas=fields.get("replicas"),
        autoscaler=(scale.get("hpa") or {}) if scale.get("enabled") else None,
        autoscaler_annotations=scale.get("annotations") or {},
        service_monitor=(metrics.get("serviceMonitor") or {}) if metrics.get("enabled") else None,
        multi_node=_parse_multi_node({} if is_kserve else fields.get("multiNode") or {}),
        is_kserve=is_kserve,
        expose=expose,
        picker=_parse_picker({} if is_kserve else expose.picker),
    )


def _ignored_by_knative(fields: Fields) -> list[str]:
    """The given fields without effect; KServe stops a service of no replicas in each mode."""
    given = [name for name in _IGNORED_BY_KNATIVE if name in fields]
    return [name for name in given if (name, fields[name]) != ("replicas", 0)]


def _without_effect(fields: Fields, *, is_kserve: bool) -> list[str]:
    """The paths of given fields that have no effect beside other fields, as in the reference."""
    storage = fields.get("storage") or {}
    cache, claim = storage.get("nimCache") or {}, storage.get("pvc") or {}
    stores = {
        "nimCache": bool(cache.get("name")),
        "pvc": bool(claim.get("create") or claim.get("name")),
        "emptyDir": storage.get("emptyDir") is not None,
        "hostPath": bool(storage.get("hostPath")),
    }
    unused = [name for name, is_given in stores.items() if is_given][1:]
    if any(claim.values()) and not stores["pvc"]:
        unused.append("pvc")
    if cache.get("profile") and not cache.get("name"):
        unused.append("nimCache.profile")
    paths = [f"spec.storage.{name}" for name in unused]
    if (fields.get("resources") or {}).get("claims"):
        paths.append("spec.resources.claims")
    router = (fields.get("expose") or {}).get("router") or {}
    if is_kserve and fields.get("multiNode"):
        paths.append("spec.multiNode")
    if is_kserve and router.get("eppConfig"):
        paths.append("spec.expose.router.eppConfig")
    return paths


def _parse_storage(service: Fields, given: Fields) -> Storage:
    cache, empty_dir = given.get("nimCache") or {}, given.get("emptyDir")
    claim = parse_claim(service, given.get("pvc"))
    return Storage(
        claim=claim,
        creates_claim=claim.is_created and not cache.get("name"),
        cache_name=cache.get("name") or "",
        profile=cache.get("profile") or "",
        has_empty_dir=empty_dir is not None,
        empty_dir_limit=(empty_dir or {}).get("sizeLimit") or "",
        host_path=given.get("hostPath") or "",
        is_read_only=bool(given.get("readOnly")),
        memory_limit=given.get("sharedMemorySizeLimit") or "",
    )


def _parse_multi_node(given: Fields) -> MultiNode:
    parallelism, ray = given.get("parallelism") or {}, given.get("ray")
    size = parallelism.get("pipeline") or 1
    domain = (given.get("computeDomain") or {}) if size > 1 else {}
    return MultiNode(
        is_given=bool(given),
        pipeline_size=size,
        tensor_size=parallelism.get("tensor") or 1,
        ray_port=0 if ray is None else int(ray.get("rayPort") or DEFAULT_RAY_PORT),
        mpi_seconds=int((given.get("mpi") or {}).get("mpiStartTimeout") or DEFAULT_MPI_SECONDS),
        creates_domain=bool(domain.get("create")),
        domain_name=domain.get("name") or "",
    )


def _parse_picker(fields: Fields) -> PickerSpec:
    container, config_map = fields.get("containerSpec") or {}, fields.get("configMapRef") or {}
    image = container.get("image") or {}
    return PickerSpec(
        is_wanted=bool(fields),
        image=parse_image(image and {**image, "tag": image.get("tag") or "latest"}),
        command=container.get("command") or [],
        args=container.get("args") or [],
        working_dir=container.get("workingDir") or "",
        env=container.get("env") or [],
        liveness_probe=fields.get("livenessProbe") or {},
        readiness_probe=fields.get("readinessProbe") or {},
        startup_probe=fields.get("startupProbe") or {},
        ports=fields.get("ports") or (),
        config=fields.get("config"),
        config_map=config_map.get("name") or "",
        config_key=config_map.get("key") or "",
        elects_leader=any(map(_ELECTION.fullmatch, container.get("args") or [])),
    )
