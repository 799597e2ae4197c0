# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The configuration of the endpoint picker: a ConfigMap of ours, or one that the user names."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.drift import own_entry
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import Labels, hash_name
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.yaml_text import dump_yaml
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    name_of,
    picker,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.metadata import (
    build,
    service_labels,
)

CONFIG_ANNOTATION = "nimops.nim/picker-config"

_KEY = "default-plugins.yaml"


def picker_name(cr: Resource) -> str:
    """The name of all of the picker's objects but its configuration and the InferencePool."""
    return f"{name_of(cr)}-epp"


def generated_config(cr: Resource) -> str:
    """The ConfigMap of `build_config`."""
    return f"{picker_name(cr)}-config"


def given_config(cr: Resource) -> str:
    """The ConfigMap that the user names, or an empty string."""
    return str((picker(cr).get("configMapRef") or {}).get("name") or "")


def config_place(cr: Resource) -> tuple[str, str]:
    """The ConfigMap of the configuration, and its key there."""
    given = picker(cr).get("configMapRef") or {}
    return (given_config(cr), str(given["key"])) if given else (generated_config(cr), _KEY)


def build_config(cr: Resource, observed: Observed) -> Manifest:
    """The ConfigMap of `config`, which is written as it stands there."""
    labels, annotations = service_labels(cr, observed), config_annotations(cr, observed)
    name, data = generated_config(cr), {_KEY: _text(cr)}
    return build(cr, "ConfigMap", labels, annotations, name=name, data=data)


def config_annotations(cr: Resource, observed: Observed) -> Labels:
    """What tells pods of one configuration from those of another, for these and the ConfigMap.

    A picker reads its configuration when it starts, so a change must restart it. The first one is
    not marked: the pods are then as the reference makes them, and taking them over restarts none.
    The ConfigMap is marked too, as it is written first, and a pass may end between the two.
    """
    if not picker(cr).get("config"):
        return {}
    live = observed.object("ConfigMap", generated_config(cr)) or {"metadata": {}}
    deployment = observed.object("Deployment", picker_name(cr)) or {}
    template = (deployment.get("spec") or {}).get("template") or {}
    is_changed = own_entry(live) and (live.get("data") or {}).get(_KEY) != _text(cr)
    if is_changed or _is_marked(live) or _is_marked(template):
        return {CONFIG_ANNOTATION: hash_name(_text(cr))}
    return {}


def _is_marked(item: t.Mapping[str, t.Any]) -> bool:
    return CONFIG_ANNOTATION in ((item.get("metadata") or {}).get("annotations") or {})


def _text(cr: Resource) -> str:
    if "config" not in picker(cr):
        raise NimError("spec.expose.router.eppConfig: give config or configMapRef")
    return dump_yaml(picker(cr)["config"])
