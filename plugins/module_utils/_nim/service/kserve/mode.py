# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The mode of an InferenceService: KServe runs it as a Deployment (standard) or with Knative.

Once the InferenceService reports its mode, the annotation and the default have no effect: a running
service cannot change its mode. A given mode is used unchanged, even if its name is obsolete.
"""

from __future__ import annotations

import json
import typing as t

from ...._base.errors import NimError
from ...._engine.api_resources import KINDS, is_served
from ...._engine.metadata import MANAGED_BY, MANAGED_BY_LABEL
from ...._engine.observed import Observed
from ...._engine.reads import Read, ReadLabelled, ReadObject, ReadObjects
from ..app import NIMServiceApp
from ..expose.routing import replaced_by_knative
from ..workload import INFERENCE_SERVICE, is_known, live_workload
from .scaling import invalid_bounds

KSERVE = "KServe, for spec.inferencePlatform: kserve"
"""The software to install if the API server does not serve InferenceServices."""

MODE_ANNOTATION = "serving.kserve.io/deploymentMode"

_STANDARD = ("Standard", "RawDeployment")
_KNATIVE = ("Knative", "Serverless")
_MODES = (*_STANDARD, *_KNATIVE, "ModelMesh")

_CONFIG = "inferenceservice-config"
_NAME, _DEFAULT_NAMESPACE = "kserve-controller-manager", "kserve"
_MAX_CANDIDATES = 8
_CONTROLLER = f"control-plane={_NAME}"
CONTROLLERS = ReadLabelled("Deployment", _CONTROLLER)
CONTROLLER = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": _NAME,
        "namespace": _DEFAULT_NAMESPACE,
        "labels": {"control-plane": _NAME},
    },
}
"""KServe's controller in its default namespace, with its default settings: standard mode."""

_SET_NAMESPACE = (
    "set the KSERVE_NAMESPACE env var to specify the target KServe namespace explicitly"
)


def is_standard(mode: str) -> bool:
    """Whether a Deployment runs the pods; ModelMesh is rendered like Knative."""
    return mode in _STANDARD


def is_knative(mode: str) -> bool:
    """Whether Knative runs the pods."""
    return mode in _KNATIVE


def is_same_mode(one: str, other: str) -> bool:
    """Whether two names mean the same mode: KServe renamed its modes."""
    return one == other or any({one, other} <= {*names} for names in (_STANDARD, _KNATIVE))


def mode_names(app: NIMServiceApp, mode: str) -> list[str]:
    """The names by which to write the mode, the preferred one first.

    A name that means the same is kept while nothing else changes. KServe refuses an update whose
    annotation differs from the name that it reports, so that name is for updates.
    """
    wanted = app.spec.annotations.get(MODE_ANNOTATION) or mode
    annotations = (live_workload(app) or {}).get("metadata", {}).get("annotations") or {}
    used = (annotations.get(MODE_ANNOTATION) or "", settled_mode(app))
    return [name for name in used if name and is_same_mode(name, wanted)] or [wanted]


def mode_reads(app: NIMServiceApp) -> list[Read]:
    """The reads of KServe's settings; none once the InferenceService reports its mode."""
    if not is_known(app) or settled_mode(app):
        return []
    if app.observed.kserve_namespace:
        return [_read_config(app.observed.kserve_namespace)]
    if not app.observed.has(CONTROLLERS.key):
        return [CONTROLLERS]
    candidates = _candidates(app.observed)
    if not candidates:
        return [CONTROLLERS, ReadObjects(INFERENCE_SERVICE, app.namespace)]
    return [CONTROLLERS, *map(_read_config, candidates[:_MAX_CANDIDATES])]


def deployment_mode(app: NIMServiceApp) -> str:
    """The mode; NimError if it, or KServe's namespace, is unknown."""
    if settled := settled_mode(app):
        return settled
    settings = _Settings(_find_namespace(app), app.observed)
    given = app.spec.annotations.get(MODE_ANNOTATION) or ""
    if given and not settings.ignores(MODE_ANNOTATION):
        if given not in _MODES:
            raise NimError(
                f"deployment mode annotation found but value is invalid: {given}"
                f" (spec.annotations[{MODE_ANNOTATION}]: give one of {', '.join(_MODES)})"
            )
        return given
    return settings.default_mode()


def ignored_fields(app: NIMServiceApp) -> list[str]:
    """Fields that are set but have no effect in the mode of the InferenceService.

    Knative scales, and routes to the pods, in its own way.
    """
    if settled_mode(app) in ("", *_STANDARD):
        return []
    features = {
        "spec.scale.enabled": app.spec.is_autoscaled,
        **replaced_by_knative(app.spec.expose),
        "spec.metrics.enabled": app.spec.is_monitored,
        "spec.draResources": bool(app.spec.dra_resources),
    }
    given = [field for field, is_set in features.items() if is_set]
    return [*(f"spec.{field}" for field in app.spec.for_knative), *given, *invalid_bounds(app)]


def settled_mode(app: NIMServiceApp) -> str:
    """The mode that the InferenceService reports; empty if it reports none."""
    status = (live_workload(app) or {}).get("status") or {}
    return str(status.get("deploymentMode") or "")


def _candidates(observed: Observed) -> list[str]:
    """The possible namespaces of KServe's controller, or only the default one if it qualifies.

    The label alone does not identify the controller, because a NIMService can set it on its
    objects. Therefore a tenant's Deployment can neither override an installation in the default
    namespace nor make it ambiguous.
    """
    found = (item["metadata"] for item in observed.get(CONTROLLERS.key) or [])
    namespaces = sorted(
        item["namespace"]
        for item in found
        if item.get("name") == _NAME and not _belongs_to_service(item)
    )
    return [_DEFAULT_NAMESPACE] if _DEFAULT_NAMESPACE in namespaces else namespaces


def _belongs_to_service(metadata: t.Mapping[str, t.Any]) -> bool:
    owners = metadata.get("ownerReferences") or []
    labels = metadata.get("labels") or {}
    is_owned = any(map(is_served, owners))
    return is_owned or labels.get(MANAGED_BY_LABEL) == MANAGED_BY


def _installations(observed: Observed) -> list[str]:
    """The candidates; if there are several, those with KServe's settings, if any."""
    candidates = _candidates(observed)
    if len(candidates) < 2:
        return candidates
    return [item for item in candidates if observed.get(_read_config(item).key)] or candidates


def _find_namespace(app: NIMServiceApp) -> str:
    """The namespace of KServe's settings."""
    if app.observed.kserve_namespace:
        return app.observed.kserve_namespace
    controllers = _installations(app.observed)
    if app.was_listed(INFERENCE_SERVICE) and app.listed(INFERENCE_SERVICE) is None:
        raise NimError(
            f'no matches for kind "{INFERENCE_SERVICE}" in version'
            f' "{KINDS[INFERENCE_SERVICE].version}": install {KSERVE}',
            reason="DeploymentFailed",
        )
    if not controllers:
        raise NimError(
            f"no KServe controller deployment found with label {_CONTROLLER}; {_SET_NAMESPACE}"
        )
    if len(controllers) > 1:
        raise NimError(
            f"expected exactly one KServe controller deployment with label {_CONTROLLER}, found"
            f" {len(controllers)}; {_SET_NAMESPACE}"
        )
    return controllers[0]


def _read_config(namespace: str) -> Read:
    return ReadObject("ConfigMap", namespace, _CONFIG)


class _Settings:
    """KServe's ConfigMap in a namespace; without it, defaults apply."""

    def __init__(self, namespace: str, observed: Observed) -> None:
        read = _read_config(namespace)
        self._where = f"ConfigMap {namespace}/{_CONFIG}"
        self._data = (observed.get(read.key) or {}).get("data") or {}

    def ignores(self, annotation: str) -> bool:
        """Whether KServe ignores an annotation."""
        listed = self._load("inferenceService").get("serviceAnnotationDisallowedList") or []
        if not isinstance(listed, list):
            raise NimError(
                f"serviceAnnotationDisallowedList (key inferenceService of {self._where}) is not a"
                " list: fix KServe's config"
            )
        return annotation in listed

    def default_mode(self) -> str:
        """The mode of an InferenceService without the annotation."""
        if "deploy" not in self._data:
            return _STANDARD[0]
        mode = self._load("deploy").get("defaultDeploymentMode") or ""
        if not mode:
            raise NimError(
                "invalid deploy config, defaultDeploymentMode is required"
                f" (key deploy of {self._where})"
            )
        if mode not in _MODES:
            raise NimError(
                "invalid deployment mode. Supported modes are Knative, Standard, ModelMesh and"
                f" RawDeployment, Serverless (key deploy of {self._where}: {mode!r})"
            )
        return str(mode)

    def _load(self, key: str) -> dict[str, t.Any]:
        try:
            found = json.loads(self._data.get(key) or "{}")
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise NimError(f"key {key} of {self._where} is not a JSON object: fix KServe's config")
        return found
