# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The parsed spec of a NIMService: each field is parsed here, and nowhere else."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from functools import cached_property

from ..._base.types import Fields
from ..._builders.expose import Expose, parse_expose

Items = t.Sequence[Fields]

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


@dataclass(frozen=True)
class PickerSpec:
    """`eppConfig`: the endpoint picker; without one, all fields are empty."""

    is_wanted: bool
    image: Fields
    command: list[str]
    args: list[str]
    working_dir: str
    env: list[dict[str, t.Any]]
    liveness_probe: Fields
    readiness_probe: Fields
    startup_probe: Fields
    ports: Items
    """The user's; empty for the default ones."""
    config: Fields | None
    """The configuration itself; an empty one counts."""
    config_map: str
    """The user's ConfigMap with the configuration, and its ``config_key`` there."""
    config_key: str


def _parse_picker(fields: Fields) -> PickerSpec:
    container, config_map = fields.get("containerSpec") or {}, fields.get("configMapRef") or {}
    return PickerSpec(
        is_wanted=bool(fields),
        image=container.get("image") or {},
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
    )


class Spec:
    """The spec; missing fields are empty, or have the documented default."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields

    # The model and its container

    @property
    def image(self) -> Fields:
        """`spec.image`."""
        return t.cast(Fields, self.fields["image"])

    @property
    def auth_secret(self) -> str:
        """`spec.authSecret`: the Secret with the credentials of NGC or Hugging Face."""
        return self.fields.get("authSecret") or ""

    @property
    def env(self) -> list[dict[str, t.Any]]:
        """`spec.env`."""
        return self.fields.get("env") or []

    @property
    def command(self) -> t.Sequence[str] | None:
        """`spec.command`."""
        return self.fields.get("command")

    @property
    def args(self) -> t.Sequence[str] | None:
        """`spec.args`."""
        return self.fields.get("args")

    @property
    def resources(self) -> Fields | None:
        """`spec.resources`: requests and limits of the model container."""
        return self.fields.get("resources")

    @property
    def dra_resources(self) -> Items:
        """`spec.draResources`."""
        return self.fields.get("draResources") or ()

    def probe(self, field: str) -> Fields:
        """`spec.livenessProbe` and the like, with ``enabled`` and the ``probe`` itself."""
        return self.fields.get(field) or {}

    # The pod

    @property
    def scheduling(self) -> dict[str, t.Any]:
        """The fields that have the same name in the pod spec."""
        return {field: self.fields.get(field) for field in _SCHEDULING}

    @property
    def user_id(self) -> int | None:
        """`spec.userID`."""
        return self.fields.get("userID")

    @property
    def init_containers(self) -> Items:
        """`spec.initContainers`."""
        return self.fields.get("initContainers") or []

    @property
    def sidecars(self) -> Items:
        """`spec.sidecarContainers`."""
        return self.fields.get("sidecarContainers") or []

    @property
    def proxy(self) -> t.Mapping[str, str] | None:
        """`spec.proxy`; None differs from an empty one."""
        return self.fields.get("proxy")

    @property
    def labels(self) -> t.Mapping[str, str]:
        """`spec.labels`."""
        return self.fields.get("labels") or {}

    @property
    def annotations(self) -> t.Mapping[str, str]:
        """`spec.annotations`."""
        return self.fields.get("annotations") or {}

    # Storage

    @property
    def storage(self) -> Fields:
        """`spec.storage`."""
        return self.fields.get("storage") or {}

    @property
    def pvc(self) -> Fields:
        """`spec.storage.pvc`."""
        return self.storage.get("pvc") or {}

    @property
    def creates_pvc(self) -> bool:
        """Whether we create the PVC; a named NIMCache takes precedence."""
        return bool(self.pvc.get("create")) and not self.cache_name

    @property
    def host_path(self) -> str:
        """`spec.storage.hostPath`."""
        return self.storage.get("hostPath") or ""

    @property
    def cache_name(self) -> str:
        """`spec.storage.nimCache.name`: the NIMCache that the model comes from."""
        return (self.storage.get("nimCache") or {}).get("name") or ""

    # Scaling and metrics

    @property
    def replicas(self) -> int | None:
        """`spec.replicas`."""
        return self.fields.get("replicas")

    @property
    def is_autoscaled(self) -> bool:
        """Whether a HorizontalPodAutoscaler is wanted."""
        return bool(self.scale.get("enabled"))

    @property
    def scale(self) -> Fields:
        """`spec.scale`."""
        return self.fields.get("scale") or {}

    @property
    def hpa(self) -> Fields:
        """`spec.scale.hpa`."""
        return self.scale.get("hpa") or {}

    @property
    def is_monitored(self) -> bool:
        """Whether a ServiceMonitor is wanted."""
        return bool((self.fields.get("metrics") or {}).get("enabled"))

    @property
    def service_monitor(self) -> Fields:
        """`spec.metrics.serviceMonitor`."""
        return (self.fields.get("metrics") or {}).get("serviceMonitor") or {}

    # Platform and nodes

    @property
    def is_kserve(self) -> bool:
        """Whether the service runs on KServe."""
        return bool(self.fields.get("inferencePlatform") == "kserve")

    @property
    def has_multi_node(self) -> bool:
        """Whether `spec.multiNode` is set, even for only one node."""
        return bool(self._multi_node)

    @property
    def is_multi_node(self) -> bool:
        """Whether one replica spans several nodes; one pipeline stage is a plain Deployment."""
        return self.pipeline_size > 1

    @property
    def pipeline_size(self) -> int:
        """The number of nodes that one replica spans."""
        return self._parallelism.get("pipeline") or 1

    @property
    def tensor_size(self) -> int:
        """The number of GPUs that a replica uses on each of its nodes."""
        return self._parallelism.get("tensor") or 1

    @property
    def ray_port(self) -> int:
        """The port of Ray on the leader; 0 if MPI connects the nodes, which is the default."""
        ray = self._multi_node.get("ray")
        return 0 if ray is None else int(ray.get("rayPort") or DEFAULT_RAY_PORT)

    @property
    def mpi_seconds(self) -> int:
        """How long the leader waits for its workers, in seconds."""
        return int(
            (self._multi_node.get("mpi") or {}).get("mpiStartTimeout") or DEFAULT_MPI_SECONDS
        )

    @property
    def compute_domain(self) -> Fields:
        """`spec.multiNode.computeDomain`, empty if unset or without effect."""
        return (self._multi_node.get("computeDomain") or {}) if self.is_multi_node else {}

    @property
    def _multi_node(self) -> Fields:
        return self.fields.get("multiNode") or {}

    @property
    def _parallelism(self) -> Fields:
        return self._multi_node.get("parallelism") or {}

    # How it is reached

    @cached_property
    def expose(self) -> Expose:
        """`spec.expose`."""
        return parse_expose(self.fields.get("expose") or {})

    @cached_property
    def picker(self) -> PickerSpec:
        """The endpoint picker; KServe has its own."""
        return _parse_picker({} if self.is_kserve else self.expose.picker)
