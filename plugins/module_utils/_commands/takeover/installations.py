# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Finds the operators of a cluster: the reference operator and ours."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace

from ..._base.errors import NimError
from ..._base.printable import printable
from ..._base.types import Json

LEASE = "a0715c6e.nvidia.com"
"""The leader election Lease of both operators."""
FORMER_REPLICAS = "nimops.nim/former-replicas"
"""Annotation on an operator's Deployment that a takeover scaled to 0."""

_MAX_LINE = 500
_OUR_NAME = ("app.kubernetes.io/name", "nimops")
_REFERENCE_IMAGE = "k8s-nim-operator"
_HELM_RELEASE = "meta.helm.sh/release-name"
_HELM_NAMESPACE = "meta.helm.sh/release-namespace"
_CSV = "ClusterServiceVersion"
_VERSION_LABEL = "app.kubernetes.io/version"


@dataclass(frozen=True)
class Installation:
    """An operator.

    ``is_leader``: whether one of its pods holds, or last held, the Lease. ``subscription``: that of
    OLM which upgrades it, empty if there is none.
    """

    deployment: Json
    is_ours: bool
    is_leader: bool = False
    subscription: Json = field(default_factory=dict)

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

    def serves(self, namespaces: set[str]) -> bool:
        """Whether it serves one of these namespaces."""
        watched = self.watched_namespaces
        return not watched or bool(watched & namespaces)

    @property
    def olm_owner(self) -> str:
        """The ClusterServiceVersion that keeps it running, or empty."""
        for owner in self.deployment["metadata"].get("ownerReferences") or []:
            if owner.get("kind") == _CSV:
                return str(owner.get("name"))
        labels = _labels(self.deployment)
        return str(labels.get("olm.owner") or "") if labels.get("olm.owner.kind") == _CSV else ""

    def _variable(self, name: str) -> str:
        for container in _containers(self.deployment):
            for variable in container.get("env") or []:
                if variable.get("name") == name:
                    return str(variable.get("value") or "")
        return ""

    @property
    def version(self) -> str:
        """Its release for display, if known."""
        label = _labels(self.deployment).get(_VERSION_LABEL)
        known = self.release_version or label or _tag_of(self.deployment)
        return str(known or "of unknown version")

    @property
    def helm_release(self) -> str:
        """The Helm release that installed it, or empty."""
        return str(_annotations(self.deployment).get(_HELM_RELEASE) or "")

    @property
    def owner(self) -> str:
        """The Helm release, or object of OLM, that keeps its Deployment as it is; or empty."""
        if release := find_helm_release(self.deployment):
            return f"the Helm release {release}"
        if self.subscription:
            name = self.subscription["metadata"]["name"]
            return f"OLM's Subscription {self.namespace}/{name}"
        return f"OLM's {_CSV} {self.namespace}/{self.olm_owner}" if self.olm_owner else ""

    @property
    def upgrade(self) -> str:
        """How its owner upgrades it: a command; empty if there is no owner."""
        if self.helm_release:
            where = _annotations(self.deployment).get(_HELM_NAMESPACE) or self.namespace
            return f"helm upgrade {self.helm_release} CHART --namespace {where}"
        if spec := self.subscription.get("spec"):
            where, name = spec.get("sourceNamespace"), spec.get("source")
            return f"kubectl -n {where} edit catalogsource {name}"
        return "kubectl apply -f CLUSTERSERVICEVERSION" if self.olm_owner else ""

    @property
    def removal(self) -> str:
        """How its owner removes it: a command; empty if there is no owner."""
        if self.helm_release:
            where = _annotations(self.deployment).get(_HELM_NAMESPACE) or self.namespace
            return f"helm uninstall {self.helm_release} --namespace {where}"
        names = [f"clusterserviceversion/{self.olm_owner}"] if self.olm_owner else []
        if self.subscription:
            names.insert(0, f"subscription/{self.subscription['metadata']['name']}")
        return f"kubectl -n {self.namespace} delete {' '.join(names)}" if names else ""

    def describe(self) -> str:
        """A one-line description."""
        details = [f"{self.replicas} replicas" if self.replicas != 1 else "1 replica"]
        if self.helm_release:
            chart = _labels(self.deployment).get("helm.sh/chart")
            details.append(f"Helm release {self.helm_release}" + (f" of {chart}" if chart else ""))
        elif self.owner:
            details.append(self.owner)
        if self.is_leader:
            details.append("leader")
        kind = "nimops.nim" if self.is_ours else "the reference operator"
        where = f"Deployment {self.namespace}/{self.name}"
        return printable(f"{kind} {self.version}: {where} ({', '.join(details)})", _MAX_LINE)


def find_installations(
    deployments: t.Iterable[Json], leases: t.Iterable[Json], subscriptions: t.Iterable[Json] = ()
) -> list[Installation]:
    """All operators: ours by its label, the reference by its image or by the Lease it holds.

    ``subscriptions``: those of OLM.
    """
    leaders = {_leader_of(lease) for lease in leases if lease["metadata"]["name"] == LEASE}
    subscribed = {
        (item["metadata"].get("namespace"), (item.get("status") or {}).get("installedCSV")): item
        for item in subscriptions
    }
    found = []
    for deployment in deployments:
        metadata = deployment["metadata"]
        is_leader = (metadata.get("namespace"), metadata["name"]) in leaders
        is_reference = _has_reference_image(deployment)
        # Some releases of OLM leave out the labels of a Deployment.
        has_our_pods = not is_reference and is_labeled(deployment["spec"]["template"])
        is_ours = is_labeled(deployment) or has_our_pods
        if is_ours or is_leader or is_reference:
            made = Installation(deployment, is_ours, is_leader)
            owner = subscribed.get((metadata.get("namespace"), made.olm_owner)) or {}
            found.append(replace(made, subscription=owner))
    return found


def is_labeled(item: Json) -> bool:
    """Whether an object, or a pod template, has the label of our installations."""
    name, value = _OUR_NAME
    return _labels(item).get(name) == value


def find_helm_release(item: Json) -> str:
    """Namespace and name of the Helm release that installed an object, or empty."""
    found = _annotations(item)
    names = [found.get(_HELM_NAMESPACE), found.get(_HELM_RELEASE)]
    return "/".join(filter(None, names)) if names[1] else ""


def deployments_of(versions: t.Iterable[Json]) -> list[Json]:
    """The Deployments that OLM creates of ClusterServiceVersions."""
    return [
        {
            "metadata": {
                "name": deployment["name"],
                "namespace": version["metadata"].get("namespace"),
                "labels": deployment.get("label") or {},
                "ownerReferences": [{"kind": _CSV, "name": version["metadata"]["name"]}],
            },
            "spec": deployment["spec"],
        }
        for version in versions
        for deployment in _strategy_of(version).get("deployments") or []
    ]


def only(
    found: t.Iterable[Installation], *, is_ours: bool, advice: str = ""
) -> Installation | None:
    """The only operator of ours, or the only other one; None if absent, NimError if several."""
    chosen = [item for item in found if item.is_ours is is_ours]
    if len(chosen) > 1:
        names = ", ".join(f"{item.namespace}/{item.name}" for item in chosen)
        raise NimError(
            f"several operators: Deployments {names}. Only one may be active in a cluster: remove"
            f" the others{advice}"
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


def _strategy_of(version: Json) -> Json:
    return ((version.get("spec") or {}).get("install") or {}).get("spec") or {}


def _annotations(item: Json) -> Json:
    return item["metadata"].get("annotations") or {}


def _labels(item: Json) -> Json:
    return (item.get("metadata") or {}).get("labels") or {}
