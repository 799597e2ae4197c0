# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Finds the changes that a simulation makes to a cluster, by object."""

from __future__ import annotations

import difflib
import json
import typing as t
from dataclasses import dataclass, replace
from functools import cached_property

from ..._base.types import Json
from ..._base.yaml_text import dump_yaml
from ..._builders.app import OPERATOR_VERSION_ANNOTATION
from ..._builders.nim_metadata import LAST_APPLIED_ANNOTATION, PARENT_HASH_ANNOTATION
from ..._cluster.simulated import Ask
from ..._engine.api_resources import ObjectKey as Key
from ..._engine.api_resources import identity, key_of
from ..._engine.desired import Child, Desired
from ..._engine.drift import has_wanted
from ..._engine.field_ownership import adopt_fields, own_entry, unwanted_fields
from ..._engine.kept_lists import keep_lists
from ..._engine.observed import Observed
from ..._engine.plan import compare
from ..._engine.reads import ReadObject, ReadSecretPlaceholders
from ..._engine.secret_placeholders import has_placeholders
from ..render.simulation import SIMULATED_UID_PREFIX, SimulationResult, Wanted
from .defaults import is_default

CREATE, CHANGE, ADOPT, DELETE = "create", "change", "adopt", "delete"

TEMPLATES = {
    "Deployment": "template",
    "LeaderWorkerSet": "leaderWorkerTemplate",
    "InferenceService": "predictor",
}
"""kind → the field of the spec whose change replaces the pods"""

_HASHES = (PARENT_HASH_ANNOTATION, LAST_APPLIED_ANNOTATION)
_OWN_METADATA = ("labels", "annotations")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True)
class Change:
    """A changed object.

    ``action``: create, change, delete, or adopt if only field ownership changes. ``parent``: the
    custom resource that causes the change; for a given resource, its own key. ``before`` and
    ``after`` have the relevant fields. ``restarts``: whether pods are replaced.
    """

    action: str
    key: Key
    parent: Key
    before: Json | None = None
    after: Json | None = None
    restarts: bool = False

    def diff(self) -> str:
        """A unified diff of YAML; empty if the content is equal."""
        return self._diff

    @cached_property
    def _diff(self) -> str:
        lines = difflib.unified_diff(
            to_yaml(self.before).splitlines(), to_yaml(self.after).splitlines(), lineterm="", n=3
        )
        return "\n".join(list(lines)[2:])

    def summarize(self) -> Json:
        """The action and the object as plain data."""
        kind, namespace, name = self.key
        return {"action": self.action, "kind": kind, "namespace": namespace, "name": name}

    def to_dict(self) -> Json:
        """The change as plain data."""
        return self.summarize() | {
            "parent": f"{self.parent[0]}/{self.parent[2]}",
            "restarts_pods": self.restarts,
            "diff": self.diff(),
        }


def find_changes(
    simulated: SimulationResult, resources: t.Mapping[Key, Json], base: Ask
) -> list[Change]:
    """All changes, in write order.

    ``resources``: the simulated custom resources, in their new form.
    """
    changes = [
        change
        for key, resource in resources.items()
        if (change := compare_resource(key, resource, _live(base, key)))
    ]
    for key, wanted in simulated.wanted.items():
        if change := _compare_child(key, wanted, _live_child(base, key, wanted.child)):
            changes.append(change)
    return changes + [Change(DELETE, key, key) for key in simulated.unwanted]


def compare_resource(key: Key, resource: Json, live: Json | None) -> Change | None:
    """The change of a given custom resource."""
    after = _shown_resource(resource)
    if live is None:
        return Change(CREATE, key, key, None, after)
    before = _shown_resource(live)
    return None if before == after else Change(CHANGE, key, key, before, after)


def remove_resource(live: Json) -> Change:
    """The deletion of a live custom resource."""
    key = identity(live)
    return Change(DELETE, key, key, _shown_resource(live))


def _compare_child(key: Key, wanted: Wanted, live: Json | None) -> Change | None:
    if live is None:
        created = hide_secrets(publish(wanted.child.manifest))
        return Change(CREATE, key, wanted.parent, None, created)
    wanted = Wanted(wanted.parent, _with_live_version(wanted.child, live))
    plan = _plan_of(wanted, live)
    if not plan.apply and not plan.adopt:
        return None
    child = keep_lists(wanted.child, live)
    shown, wanted_shown = _without_hashes(live), _without_hashes(child.manifest)
    wanted_after = publish(wanted_shown)
    found_before = publish(_before(shown, wanted_shown, _lost_fields(child, live)))
    former = found_before if has_placeholders(child.manifest) else wanted_after
    after, before = hide_secrets(wanted_after, former), hide_secrets(found_before)
    if before == after:
        return Change(ADOPT, key, wanted.parent)
    template = TEMPLATES.get(key[0], "")
    spec, old = after.get("spec") or {}, before.get("spec") or {}
    restarts = bool(template) and spec.get(template) != old.get(template)
    return Change(CHANGE, key, wanted.parent, before, after, restarts)


def _with_live_version(child: Child, live: Json) -> Child:
    """The child with the live operator version, which is unknown to a plan."""
    version = (live["metadata"].get("annotations") or {}).get(OPERATOR_VERSION_ANNOTATION)
    if version is None:
        return child
    metadata = child.manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), OPERATOR_VERSION_ANNOTATION: version}
    manifest = {**child.manifest, "metadata": {**metadata, "annotations": annotations}}
    return replace(child, manifest=manifest)


def _lost_fields(child: Child, live: Json) -> Json:
    """The fields that we applied or adopt, and that are no longer wanted."""
    managed = adopt_fields(live, child.manifest, child.applied)
    after = live if managed is None else {"metadata": {"managedFields": managed}}
    return unwanted_fields((own_entry(after) or {}).get("fieldsV1") or {}, child.manifest)


def _without_hashes(item: Json) -> Json:
    """The object without the reference operator's hashes, which are irrelevant to a diff."""
    metadata = dict(item["metadata"])
    annotations = metadata.pop("annotations", None) or {}
    kept = {key: value for key, value in annotations.items() if key not in _HASHES}
    return {**item, "metadata": metadata | ({"annotations": kept} if kept else {})}


def _plan_of(wanted: Wanted, live: Json) -> t.Any:
    """The plan for one child; a stub with the owner's identity is enough as the parent."""
    references = wanted.child.manifest["metadata"].get("ownerReferences") or [{}]
    kind, namespace, name = wanted.parent
    metadata = {"name": name, "namespace": namespace, "uid": references[0].get("uid", "")}
    parent = {"apiVersion": "", "kind": kind, "metadata": metadata}
    return compare(parent, Desired([wanted.child]), Observed({key_of(live): live}))


def _live(base: Ask, key: Key) -> Json | None:
    return t.cast("Json | None", base(ReadObject(*key)))


def _live_child(base: Ask, key: Key, child: Child) -> Json | None:
    """A live child; for a Secret with input values, as its kind reads it."""
    if not has_placeholders(child.manifest):
        return _live(base, key)
    read = ReadSecretPlaceholders(*key, tuple(child.manifest["data"].items()))
    return t.cast("Json | None", base(read))


def _shown_resource(resource: Json) -> Json:
    metadata = {
        field: {name: text for name, text in found.items() if name != _LAST_APPLIED}
        for field in _OWN_METADATA
        if (found := resource["metadata"].get(field))
    }
    return {"metadata": {key: item for key, item in metadata.items() if item}} | {
        "spec": resource.get("spec") or {}
    }


def _before(live: t.Any, want: t.Any, lost: Json, parents: tuple[str, ...] = ()) -> t.Any:
    """The live values of the fields in ``want``, and of the fields to remove (``lost``)."""
    if isinstance(want, dict) and isinstance(live, dict):
        found = {
            key: _before(live[key], value, lost.get(f"f:{key}") or {}, (*parents, key))
            if key in live
            else value
            for key, value in want.items()
            if key in live or has_wanted(None, value, (*parents, key))
        }
        gone = {
            name[2:]: _lost_part(live[name[2:]], below)
            for name, below in lost.items()
            if name.startswith("f:") and name[2:] in live and name[2:] not in want
        }
        return found | {name: part for name, part in gone.items() if not is_default(name, part)}
    if isinstance(want, list) and isinstance(live, list) and len(want) == len(live):
        return [
            _before(have, item, _removed_fields(have, lost), parents)
            for have, item in zip(live, want, strict=True)
        ]
    return want if has_wanted(live, want, parents) else live


def _lost_part(live: t.Any, lost: Json) -> t.Any:
    """The part of a map that is removed: keys of other managers stay."""
    names = [name[2:] for name in lost if name.startswith("f:")]
    return {name: live[name] for name in names if name in live} if names else live


def _removed_fields(item: t.Any, lost: Json) -> Json:
    """The lost fields of one list item, which the field set identifies by its keys."""
    for name, below in lost.items():
        if name.startswith("k:") and isinstance(item, dict):
            keys = json.loads(name[2:])
            if all(item.get(key) == value for key, value in keys.items()):
                return t.cast(Json, below)
    return {}


def publish(manifest: Json) -> Json:
    """An object for display, without simulated owners."""
    metadata = dict(manifest["metadata"])
    references = [
        item
        for item in metadata.pop("ownerReferences", None) or []
        if not str(item.get("uid", "")).startswith(SIMULATED_UID_PREFIX)
    ]
    if references:
        metadata["ownerReferences"] = references
    return {**manifest, "metadata": metadata}


def hide_secrets(manifest: Json, former: Json | None = None) -> Json:
    """The object; in a Secret, values are hidden, and marked if they differ from ``former``."""
    if manifest.get("kind") != "Secret":
        return manifest
    former = former or manifest
    hidden = {
        field: {
            key: "(hidden)" if value == (former.get(field) or {}).get(key) else "(hidden, changed)"
            for key, value in manifest[field].items()
        }
        for field in ("data", "stringData")
        if manifest.get(field)
    }
    return manifest | hidden


def to_yaml(value: Json | None) -> str:
    """YAML that keeps the order of keys and uses block style for texts; empty for None."""
    return "" if value is None else dump_yaml(value, sort_keys=False, by_line=True)
