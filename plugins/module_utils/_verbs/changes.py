# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What an outlook changes in a cluster, object by object."""

from __future__ import annotations

import difflib
import json
import typing as t
from dataclasses import dataclass
from functools import cached_property

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Desired
from ansible_collections.nimops.nim.plugins.module_utils._common.drift import (
    has_wanted,
    own_entry,
    unwanted_fields,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    Observed,
    read_object,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.plan import make_plan
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import key_of
from ansible_collections.nimops.nim.plugins.module_utils._common.yaml_text import dump_yaml
from ansible_collections.nimops.nim.plugins.module_utils._verbs.outlook import (
    THOUGHT,
    Outlook,
    Wanted,
)
from ansible_collections.nimops.nim.plugins.module_utils._verbs.world import Ask, Key

Json = dict[str, t.Any]

CREATE, CHANGE, ADOPT, DELETE = "create", "change", "adopt", "delete"

_TEMPLATES = {
    "Deployment": "template",
    "LeaderWorkerSet": "leaderWorkerTemplate",
    "InferenceService": "predictor",
}
"""kind → the field of its spec whose change replaces its pods"""

_OWN_METADATA = ("labels", "annotations")
_NOTED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True)
class Change:
    """One object that does not stay as it is.

    ``action``: create, change, delete, or adopt where only the ownership of fields changes.
    ``parent``: the custom resource that wants it so; of one that is given itself, its own key.
    ``before`` and ``after`` have the fields that count. ``restarts``: its pods are replaced.
    """

    action: str
    key: Key
    parent: Key
    before: Json | None = None
    after: Json | None = None
    restarts: bool = False

    def diff(self) -> str:
        """The difference as unified diff of YAML; empty if no content differs."""
        return self._diff

    @cached_property
    def _diff(self) -> str:
        lines = difflib.unified_diff(
            to_yaml(self.before).splitlines(), to_yaml(self.after).splitlines(), lineterm="", n=3
        )
        return "\n".join(list(lines)[2:])

    def to_dict(self) -> Json:
        """The change as plain data."""
        kind, namespace, name = self.key
        return {
            "action": self.action,
            "kind": kind,
            "namespace": namespace,
            "name": name,
            "parent": f"{self.parent[0]}/{self.parent[2]}",
            "restarts_pods": self.restarts,
            "diff": self.diff(),
        }


def find_changes(outlook: Outlook, resources: t.Mapping[Key, Json], base: Ask) -> list[Change]:
    """All changes, in the order in which they would be made.

    ``resources`` are the custom resources that the outlook is about, as they will be.
    """
    changes = [
        change
        for key, resource in resources.items()
        if (change := compare_resource(key, resource, _live(base, key)))
    ]
    for key, wanted in outlook.wanted.items():
        if change := _compare_child(key, wanted, _live(base, key)):
            changes.append(change)
    return changes + [Change(DELETE, key, key) for key in outlook.unwanted]


def compare_resource(key: Key, resource: Json, live: Json | None) -> Change | None:
    """What becomes of a custom resource that is given."""
    after = _shown_resource(resource)
    if live is None:
        return Change(CREATE, key, key, None, after)
    before = _shown_resource(live)
    return None if before == after else Change(CHANGE, key, key, before, after)


def _compare_child(key: Key, wanted: Wanted, live: Json | None) -> Change | None:
    manifest = wanted.child.manifest
    after = hide_secrets(publish(manifest))
    if live is None:
        return Change(CREATE, key, wanted.parent, None, after)
    plan = _plan_of(wanted, live)
    if not plan.apply and not plan.adopt:
        return None
    entry = own_entry(live) or {}
    lost = unwanted_fields(entry.get("fieldsV1") or {}, manifest)
    before = hide_secrets(publish(_before(live, manifest, lost)))
    if before == after:
        return Change(ADOPT, key, wanted.parent)
    template = _TEMPLATES.get(key[0], "")
    spec, old = after.get("spec") or {}, before.get("spec") or {}
    restarts = bool(template) and spec.get(template) != old.get(template)
    return Change(CHANGE, key, wanted.parent, before, after, restarts)


def _plan_of(wanted: Wanted, live: Json) -> t.Any:
    """The plan for one child; a stand-in with its owner's identity is enough of a parent."""
    references = wanted.child.manifest["metadata"].get("ownerReferences") or [{}]
    kind, namespace, name = wanted.parent
    metadata = {"name": name, "namespace": namespace, "uid": references[0].get("uid", "")}
    parent = {"apiVersion": "", "kind": kind, "metadata": metadata}
    return make_plan(parent, Desired([wanted.child]), Observed({key_of(live): live}))


def _live(base: Ask, key: Key) -> Json | None:
    return t.cast("Json | None", base(read_object(*key)))


def _shown_resource(resource: Json) -> Json:
    metadata = {
        field: {name: text for name, text in found.items() if name != _NOTED}
        for field in _OWN_METADATA
        if (found := resource["metadata"].get(field))
    }
    return {"metadata": {key: item for key, item in metadata.items() if item}} | {
        "spec": resource.get("spec") or {}
    }


def _before(live: t.Any, want: t.Any, lost: Json, parents: tuple[str, ...] = ()) -> t.Any:
    """The part of what is live that ``want`` speaks of, and what we would take back (``lost``)."""
    if isinstance(want, dict) and isinstance(live, dict):
        found = {
            key: _before(live[key], value, lost.get(f"f:{key}") or {}, (*parents, key))
            if key in live
            else value
            for key, value in want.items()
            if key in live or has_wanted(None, value, (*parents, key))
        }
        gone = (name[2:] for name in lost if name.startswith("f:"))
        return found | {name: live[name] for name in gone if name in live and name not in want}
    if isinstance(want, list) and isinstance(live, list) and len(want) == len(live):
        return [
            _before(have, item, _lost_of(have, lost), parents)
            for have, item in zip(live, want, strict=True)
        ]
    return want if has_wanted(live, want, parents) else live


def _lost_of(item: t.Any, lost: Json) -> Json:
    """What is lost of one item of a list, which the set of fields names by its keys."""
    for name, below in lost.items():
        if name.startswith("k:") and isinstance(item, dict):
            keys = json.loads(name[2:])
            if all(item.get(key) == value for key, value in keys.items()):
                return t.cast(Json, below)
    return {}


def publish(manifest: Json) -> Json:
    """An object as people are shown it: without owners that no cluster knows."""
    metadata = dict(manifest["metadata"])
    references = [
        item
        for item in metadata.pop("ownerReferences", None) or []
        if not str(item.get("uid", "")).startswith(THOUGHT)
    ]
    if references:
        metadata["ownerReferences"] = references
    return {**manifest, "metadata": metadata}


def hide_secrets(manifest: Json) -> Json:
    """The object; of a Secret only which keys it has."""
    if manifest.get("kind") != "Secret":
        return manifest
    hidden = {
        field: dict.fromkeys(manifest[field], "(hidden)")
        for field in ("data", "stringData")
        if manifest.get(field)
    }
    return manifest | hidden


def to_yaml(value: Json | None) -> str:
    """YAML with the keys in their order; empty for None."""
    return "" if value is None else dump_yaml(value, sort_keys=False)
