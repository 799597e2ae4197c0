# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The content of a report: plain data, most of it text of the cluster."""

from __future__ import annotations

from dataclasses import dataclass

from ..status.status_table import Line
from .advice import Advice


@dataclass(frozen=True)
class Resource:
    """A custom resource, and advice if it has a problem."""

    line: Line
    advice: tuple[Advice, ...] = ()

    @property
    def has_problem(self) -> bool:
        """Whether it is not Ready, or Ready with a remark such as a condition Stalled."""
        return self.line.state != "Ready" or bool(self.line.reason)


@dataclass(frozen=True)
class Use:
    """The number of devices that a pod uses; ``user``: its NIMService, otherwise the pod."""

    user: str
    count: int


@dataclass(frozen=True)
class Pool:
    """Devices of one type on a node. ``source``: `device plugin` or `DRA`.

    ``unhealthy``: devices that exist, and that no pod may use. ``details``: of DRA devices, such
    as the product.
    """

    name: str
    source: str
    total: int
    unhealthy: int
    uses: tuple[Use, ...]
    details: str = ""

    @property
    def used(self) -> int:
        """The number of devices in use."""
        return sum(use.count for use in self.uses)

    @property
    def free(self) -> int:
        """The number of healthy devices that no pod uses."""
        return max(0, self.total - self.unhealthy - self.used)

    @property
    def is_slice(self) -> bool:
        """Whether the devices are parts of GPUs."""
        return "mig" in self.name


@dataclass(frozen=True)
class Trouble:
    """A component of the GPU stack that is not ready on a node."""

    component: str
    waits: str
    advice: str
    log: str


@dataclass(frozen=True)
class NodeUse:
    """A node with GPUs. ``state``: of the GPU stack, empty if the cluster has none of ours.

    ``remarks``: why no new pods start there.
    """

    name: str
    product: str
    state: str
    pools: tuple[Pool, ...]
    troubles: tuple[Trouble, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cache:
    """A NIMCache. ``users``: the resources that name it."""

    namespace: str
    name: str
    state: str
    model: str
    profiles: int
    claim: str
    users: tuple[str, ...]


@dataclass(frozen=True)
class Volume:
    """A PersistentVolumeClaim of custom resources."""

    namespace: str
    name: str
    phase: str
    size: str
    modes: str
    storage_class: str
    users: tuple[str, ...]


@dataclass(frozen=True)
class GraphNode:
    """A part of a pipeline. ``kind``: NIMService or NIMCache. ``state``: `Off` if disabled."""

    kind: str
    name: str
    state: str


@dataclass(frozen=True)
class Pipeline:
    """A NIMPipeline as a graph. ``edges``: (user, used) as indexes of ``nodes``."""

    namespace: str
    name: str
    state: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Change:
    """A change that the next reconcile makes. ``diff``: empty unless an object is changed."""

    action: str
    target: str
    parent: str
    diff: str
    restarts: bool


@dataclass(frozen=True)
class Plan:
    """The changes of the next reconcile. ``problems``: resources that cannot be served as they are.

    ``omitted``: the number of diffs that are left out because the report would be too large.
    """

    summary: str
    changes: tuple[Change, ...]
    problems: tuple[tuple[str, str], ...]
    omitted: int = 0


@dataclass(frozen=True)
class Report:
    """A report. ``namespace``: empty for the whole cluster. ``created``: time in ISO 8601.

    ``nodes``: None if they could not be read. ``plan``: None if none was made. ``notes``: what is
    missing, and why.
    """

    namespace: str
    created: str
    versions: tuple[tuple[str, str], ...]
    resources: tuple[Resource, ...]
    nodes: tuple[NodeUse, ...] | None = None
    faults: tuple[str, ...] = ()
    caches: tuple[Cache, ...] = ()
    volumes: tuple[Volume, ...] = ()
    pipelines: tuple[Pipeline, ...] = ()
    plan: Plan | None = None
    notes: tuple[str, ...] = ()
