# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Finds the operators of a cluster: the reference operator and ours."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._base.errors import NimError
from ..._base.printable import printable
from ..._base.types import Json

LEASE = "a0715c6e.nvidia.com"
"""The leader election Lease of both operators."""
FORMER_REPLICAS = "nimops.nim/former-replicas"
"""Annotation on an operator's Deployment that a takeover scaled to 0."""

_MAX_LINE = 500
_OUR_NAME = "nimops"
_REFERENCE_IMAGE = "k8s-nim-operator"
_NAME_LABEL = "app.kubernetes.io/name"
_VERSION_LABEL = "app.kubernetes.io/version"


@dataclass(frozen=True)
class Installation:
    """An operator. ``is_leader``: whether one of its pods holds, or last held, the Lease."""

    deployment: Json
    is_ours: bool
    is_leader: bool = False

    @property
    def name(self) -> str:
        """The name of its Deployment."""
        return str(self.deployment["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return str(self.deployment["metadata"].get("namespace") or "")

    @property
    def replicas(self) -> int:
        """The desired replicas."""
        return int(self.deployment["spec"].get("replicas", 1))

    @property
    def former_replicas(self) -> int:
        """The replicas before a takeover, at least one."""
        given = _annotations(self.deployment).get(FORMER_REPLICAS, "")
        is_count = given.isascii() and given.isdigit() and len(given) < 5
        return max(1, int(given)) if is_count else 1

    @property
    def is_available(self) -> bool:
        """Whether all its pods are available and up to date."""
        status, metadata = self.deployment.get("status") or {}, self.deployment["metadata"]
        counts = [status.get("updatedReplicas", 0), status.get("availableReplicas", 0)]
        is_current = status.get("observedGeneration", 0) >= metadata.get("generation", 0)
        return bool(is_current and min(counts) >= max(1, self.replicas))

    @property
    def release_version(self) -> str:
        """The release that our operator writes into statuses; empty if it writes none."""
        return self._variable("OPERATOR_VERSION")

    @property
    def watched_namespaces(self) -> set[str]:
        """The namespaces that our operator serves; empty for all."""
        names = self._variable("WATCH_NAMESPACE").split(",")
        return {name.strip() for name in names if name.strip()}

    @property
    def olm_owner(self) -> str:
        """The ClusterServiceVersion that keeps it running, or empty."""
        for owner in self.deployment["metadata"].get("ownerReferences") or []:
            if owner.get("kind") == "ClusterServiceVersion":
                return str(owner.get("name"))
        return ""

    def _variable(self, name: str) -> str:
        for container in _containers(self.deployment):
            for variable in container.get("env") or []:
                if variable.get("name") == name:
                    return str(variable.get("value") or "")
        return ""

    @property
    def version(self) -> str:
        """Its release for display, if known."""
        label = (self.deployment["metadata"].get("labels") or {}).get(_VERSION_LABEL)
        known = self.release_version or label or _tag_of(self.deployment)
        return str(known or "of unknown version")

    @property
    def helm_release(self) -> str:
        """The Helm release that installed it, or empty."""
        return str(_annotations(self.deployment).get("meta.helm.sh/release-name") or "")

    def describe(self) -> str:
        """A one-line description."""
        details = [f"{self.replicas} replicas" if self.replicas != 1 else "1 replica"]
        if self.helm_release:
            chart = (self.deployment["metadata"].get("labels") or {}).get("helm.sh/chart")
            details.append(f"Helm release {self.helm_release}" + (f" of {chart}" if chart else ""))
        if self.is_leader:
            details.append("leader")
        kind = "nimops.nim" if self.is_ours else "the reference operator"
        where = f"Deployment {self.namespace}/{self.name}"
        return printable(f"{kind} {self.version}: {where} ({', '.join(details)})", _MAX_LINE)


def find_installations(
    deployments: t.Iterable[Json], leases: t.Iterable[Json]
) -> list[Installation]:
    """All operators: ours by its label, the reference by its image or by the Lease it holds."""
    leaders = {_leader_of(lease) for lease in leases if lease["metadata"]["name"] == LEASE}
    found = []
    for deployment in deployments:
        metadata = deployment["metadata"]
        is_leader = (metadata.get("namespace"), metadata["name"]) in leaders
        is_ours = (metadata.get("labels") or {}).get(_NAME_LABEL) == _OUR_NAME
        if is_ours or is_leader or _has_reference_image(deployment):
            found.append(Installation(deployment, is_ours, is_leader))
    return found


def only(found: t.Iterable[Installation], *, is_ours: bool) -> Installation | None:
    """The only operator of ours, or the only other one; None if absent, NimError if several."""
    chosen = [item for item in found if item.is_ours is is_ours]
    if len(chosen) > 1:
        names = ", ".join(f"{item.namespace}/{item.name}" for item in chosen)
        raise NimError(
            f"several operators: Deployments {names}. Only one may be active in a cluster: remove"
            " the others, or select a namespace with operator_namespace"
        )
    return chosen[0] if chosen else None


def find_webhooks(configurations: t.Iterable[Json], reference: Installation) -> list[Json]:
    """The webhook configurations that call a Service in the reference operator's namespace."""
    return [
        item
        for item in configurations
        if any(
            (_service_of(hook)).get("namespace") == reference.namespace and _is_about_nim(hook)
            for hook in item.get("webhooks") or []
        )
    ]


def _service_of(webhook: Json) -> Json:
    return (webhook.get("clientConfig") or {}).get("service") or {}


def _is_about_nim(webhook: Json) -> bool:
    groups = [group for rule in webhook.get("rules") or [] for group in rule.get("apiGroups") or []]
    return "apps.nvidia.com" in groups


def _leader_of(lease: Json) -> tuple[str, str]:
    """Namespace and name of the Deployment with the pod that holds a Lease.

    The holder is `<pod>_<uuid>`, a Deployment's pod `<deployment>-<hash>-<suffix>`.
    """
    holder = str((lease.get("spec") or {}).get("holderIdentity") or "")
    pod = holder.rpartition("_")[0] or holder
    parts = pod.rsplit("-", 2)
    return lease["metadata"]["namespace"], parts[0] if len(parts) == 3 else pod


def _has_reference_image(deployment: Json) -> bool:
    return any(_split_image(item)[0] == _REFERENCE_IMAGE for item in _containers(deployment))


def _tag_of(deployment: Json) -> str:
    return next((tag for item in _containers(deployment) if (tag := _split_image(item)[1])), "")


def _split_image(container: Json) -> tuple[str, str]:
    """The last part of a repository, and the tag."""
    image = str(container.get("image") or "").partition("@")[0].rpartition("/")[2]
    name, _colon, tag = image.partition(":")
    return name, tag


def _containers(deployment: Json) -> list[Json]:
    return t.cast("list[Json]", deployment["spec"]["template"]["spec"].get("containers") or [])


def _annotations(item: Json) -> Json:
    return item["metadata"].get("annotations") or {}
