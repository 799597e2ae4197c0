# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""How KServe runs an InferenceService: as a Deployment (standard) or by Knative.

Once the InferenceService says how it runs, that holds, whatever annotation or default say then: the
mode of what runs cannot change. A mode is passed on as it was given; the old names are not replaced
by the new ones.
"""

from __future__ import annotations

import json
import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import (
    MANAGED_BY,
    MANAGED_BY_LABEL,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    Observed,
    Read,
    read_elsewhere,
    read_labelled,
    read_objects,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import GROUP, KINDS
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    is_autoscaled,
    is_monitored,
    legacy_ingress,
    namespace_of,
    router,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.workload import (
    INFERENCE_SERVICE,
    is_known,
    live_workload,
)

KSERVE = "KServe, for spec.inferencePlatform: kserve"
"""What to install where InferenceServices are not known."""

MODE_ANNOTATION = "serving.kserve.io/deploymentMode"

_STANDARD = ("Standard", "RawDeployment")
_KNATIVE = ("Knative", "Serverless")
_MODES = (*_STANDARD, *_KNATIVE, "ModelMesh")

_CONFIG = "inferenceservice-config"
_NAME, _HOME = "kserve-controller-manager", "kserve"
_MAX_CANDIDATES = 8
_CONTROLLER = f"control-plane={_NAME}"
CONTROLLERS = read_labelled("Deployment", _CONTROLLER)
_SET_NAMESPACE = (
    "set the KSERVE_NAMESPACE env var to specify the target KServe namespace explicitly"
)


def is_standard(mode: str) -> bool:
    """Whether pods are those of a Deployment; ModelMesh is rendered as Knative is."""
    return mode in _STANDARD


def mode_reads(cr: Resource, observed: Observed) -> list[Read]:
    """KServe's settings, and where they are; nothing once the InferenceService says its mode."""
    if not is_known(cr, observed) or _settled_mode(cr, observed):
        return []
    if observed.kserve_namespace:
        return [_read_config(observed.kserve_namespace)]
    if not observed.has(CONTROLLERS.key):
        return [CONTROLLERS]
    candidates = _candidates(observed)
    if not candidates:
        return [CONTROLLERS, read_objects(INFERENCE_SERVICE, namespace_of(cr))]
    return [CONTROLLERS, *map(_read_config, candidates[:_MAX_CANDIDATES])]


def deployment_mode(cr: Resource, observed: Observed) -> str:
    """The mode as it was given. NimError if that, or KServe's namespace, cannot be told."""
    if settled := _settled_mode(cr, observed):
        return settled
    settings = _Settings(_find_namespace(observed), observed)
    given = (cr["spec"].get("annotations") or {}).get(MODE_ANNOTATION) or ""
    if given and not settings.ignores(MODE_ANNOTATION):
        if given not in _MODES:
            raise NimError(
                f"deployment mode annotation found but value is invalid: {given}"
                f" (spec.annotations[{MODE_ANNOTATION}]: give one of {', '.join(_MODES)})"
            )
        return given
    return settings.default_mode()


def check_mode(cr: Resource, mode: str) -> None:
    """NimError if the spec asks for what Knative has ways of its own for."""
    if mode not in _KNATIVE:
        return
    fields = {
        "spec.scale (autoscaling)": is_autoscaled(cr),
        "spec.expose.ingress.enabled": legacy_ingress(cr).get("enabled"),
        "spec.router.ingress": router(cr).get("ingress"),
        "spec.router.gateway": router(cr).get("gateway"),
        "spec.metrics.enabled": is_monitored(cr),
    }
    said = [
        f"nimservice.{field} cannot be set when KServe runs in knative mode"
        for field, is_set in fields.items()
        if is_set
    ]
    if said:
        raise NimError("; ".join(said))


def ignored_fields(cr: Resource, observed: Observed) -> list[str]:
    """Fields that are set and mean nothing in the mode that the InferenceService runs in."""
    if _settled_mode(cr, observed) in ("", *_STANDARD):
        return []
    return [f"spec.{field}" for field in ("replicas", "userID", "groupID") if field in cr["spec"]]


def _settled_mode(cr: Resource, observed: Observed) -> str:
    status = (live_workload(cr, observed) or {}).get("status") or {}
    return str(status.get("deploymentMode") or "")


def _candidates(observed: Observed) -> list[str]:
    """The namespaces where KServe's controller may be; its own place, if it is one, and no other.

    The label alone makes no controller: a NIMService can ask for it on its objects. And so no
    Deployment of a tenant comes before an installation at KServe's place, or makes it doubtful.
    """
    found = (item["metadata"] for item in observed.get(CONTROLLERS.key) or [])
    namespaces = sorted(
        item["namespace"]
        for item in found
        if item.get("name") == _NAME and not _is_of_service(item)
    )
    return [_HOME] if _HOME in namespaces else namespaces


def _is_of_service(metadata: t.Mapping[str, t.Any]) -> bool:
    owners = metadata.get("ownerReferences") or []
    labels = metadata.get("labels") or {}
    is_owned = any(str(owner.get("apiVersion")).startswith(f"{GROUP}/") for owner in owners)
    return is_owned or labels.get(MANAGED_BY_LABEL) == MANAGED_BY


def _installations(observed: Observed) -> list[str]:
    """The candidates; of several, those that have KServe's settings, if any has."""
    candidates = _candidates(observed)
    if len(candidates) < 2:
        return candidates
    return [item for item in candidates if observed.get(_read_config(item).key)] or candidates


def _find_namespace(observed: Observed) -> str:
    """The namespace of KServe's settings."""
    if observed.kserve_namespace:
        return observed.kserve_namespace
    controllers = _installations(observed)
    if observed.has(INFERENCE_SERVICE) and observed.get(INFERENCE_SERVICE) is None:
        raise NimError(
            f'no matches for kind "{INFERENCE_SERVICE}" in version'
            f' "{KINDS[INFERENCE_SERVICE][0]}": install {KSERVE}',
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
    return read_elsewhere("ConfigMap", namespace, _CONFIG)


class _Settings:
    """KServe's ConfigMap of a namespace; one that does not exist settles nothing."""

    def __init__(self, namespace: str, observed: Observed) -> None:
        read = _read_config(namespace)
        self._where = f"ConfigMap {namespace}/{_CONFIG}"
        self._data = (observed.get(read.key) or {}).get("data") or {}

    def ignores(self, annotation: str) -> bool:
        """Whether KServe looks away from an annotation."""
        listed = self._load("inferenceService").get("serviceAnnotationDisallowedList") or []
        if not isinstance(listed, list):
            raise NimError(
                f"serviceAnnotationDisallowedList (key inferenceService of {self._where}) is not a"
                " list: mend KServe's config"
            )
        return annotation in listed

    def default_mode(self) -> str:
        """The mode of what names none."""
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
            raise NimError(f"key {key} of {self._where} is not a JSON object: mend KServe's config")
        return found
