# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The configuration of the endpoint picker: our ConfigMap, or one that the user names."""

from __future__ import annotations

import typing as t

from ...._base.errors import NimError
from ...._base.types import Manifest
from ...._base.yaml_text import dump_yaml
from ...._builders.expose import PICKER_FIELD
from ...._engine.field_ownership import own_entry
from ...._engine.metadata import Labels, hash_name
from ..app import NIMServiceApp

CONFIG_ANNOTATION = "nimops.nim/picker-config"

_KEY = "default-plugins.yaml"


def picker_name(app: NIMServiceApp) -> str:
    """The name of all the picker's objects except its configuration and the InferencePool."""
    return f"{app.name}-epp"


def generated_config(app: NIMServiceApp) -> str:
    """The name of the ConfigMap of `build_config`."""
    return f"{picker_name(app)}-config"


def config_map_ref(app: NIMServiceApp) -> tuple[str, str]:
    """The name of the configuration's ConfigMap, and its key there."""
    given = app.spec.picker
    own = generated_config(app), _KEY
    return (given.config_map, given.config_key) if given.config_map else own


def build_config(app: NIMServiceApp) -> Manifest:
    """The ConfigMap with `config`, unchanged."""
    labels, annotations = app.labels, config_annotations(app)
    name, data = generated_config(app), {_KEY: _text(app)}
    return app.child("ConfigMap", labels=labels, annotations=annotations, name=name, data=data)


def config_annotations(app: NIMServiceApp) -> Labels:
    """Annotations that identify the configuration, for the pods and the ConfigMap.

    A picker reads its configuration at startup, so a change must restart it. The first
    configuration is not marked: the pods then equal the reference operator's, and adopting them
    restarts none; nor is one that replaces a text of somebody else. The ConfigMap is marked too, as
    it is written first, and a pass may end between the two.
    """
    if not app.spec.picker.config:
        return {}
    live = app.live("ConfigMap", generated_config(app)) or {"metadata": {}}
    deployment = app.live("Deployment", picker_name(app)) or {}
    template = (deployment.get("spec") or {}).get("template") or {}
    written = (own_entry(live) or {}).get("fieldsV1") or {}
    is_ours = f"f:{_KEY}" in (written.get("f:data") or {})
    is_changed = is_ours and (live.get("data") or {}).get(_KEY) != _text(app)
    if is_changed or _is_marked(live) or _is_marked(template):
        return {CONFIG_ANNOTATION: hash_name(_text(app))}
    return {}


def _is_marked(item: t.Mapping[str, t.Any]) -> bool:
    return CONFIG_ANNOTATION in ((item.get("metadata") or {}).get("annotations") or {})


def _text(app: NIMServiceApp) -> str:
    if app.spec.picker.config is None:
        raise NimError(f"{PICKER_FIELD}: set config or configMapRef")
    return dump_yaml(app.spec.picker.config)
