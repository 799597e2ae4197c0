# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The configuration of the endpoint picker: a generated ConfigMap or the user's."""

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
    """The name of the picker's objects, except its ConfigMap and the InferencePool."""
    return f"{app.name}-epp"


def generated_config(app: NIMServiceApp) -> str:
    """The name of the ConfigMap of `build_config`."""
    return f"{picker_name(app)}-config"


def config_map_ref(app: NIMServiceApp) -> tuple[str, str]:
    """The name and key of the ConfigMap with the configuration."""
    given = app.spec.picker
    own = generated_config(app), _KEY
    return (given.config_map, given.config_key) if given.config_map else own


def config_field(app: NIMServiceApp) -> str:
    """The field with the configuration."""
    return f"{PICKER_FIELD}.{'configMapRef' if app.spec.picker.config_map else 'config'}"


def build_config(app: NIMServiceApp) -> Manifest:
    """The ConfigMap with the unchanged `config`."""
    labels, annotations = app.labels, config_annotations(app)
    name, data = generated_config(app), {_KEY: _text(app)}
    return app.child("ConfigMap", labels=labels, annotations=annotations, name=name, data=data)


def config_annotations(app: NIMServiceApp) -> Labels:
    """Annotations with the configuration's hash, for the pods and the ConfigMap.

    A picker reads its configuration only at startup, so a changed hash must restart it. The first
    configuration that we write has no hash, even if it replaces another one: the pods then equal
    the reference operator's, and a takeover does not restart them. The ConfigMap also has the hash,
    because it is written before the Deployment and a pass may end in between.
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
