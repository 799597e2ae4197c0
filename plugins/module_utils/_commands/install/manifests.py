# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The objects of an installation, which hack/generate_install.py built from config/."""

from __future__ import annotations

import json
import re
import typing as t
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..._base.errors import NimError
from ..._base.types import Json
from ..._engine.api_resources import collection_path

FOLDER = Path(__file__).parent / "data"
COMPONENTS = ("gpu", "nemo")
CRD = "CustomResourceDefinition"
MANAGER_NAME = "nimops-controller-manager"
"""The Deployment of the operator, and its ServiceAccount."""
NAMESPACE = "nimops-system"
"""The namespace of the operator in config/."""

_NAMESPACED = "namespaced"
_WATCHED = "nim"
"""The namespace in config/overlays/namespaced."""
_WATCH_VARIABLE = "WATCH_NAMESPACE"
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_IMAGE = re.compile(r"[A-Za-z0-9][\w.:/@-]{0,511}")
_RANKS = (
    *("Namespace", CRD, "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
    *("ServiceAccount", "ClusterRole", "Role"),
)
"""The order of creation; deletion reverses it. A binding names the namespace of the operator, by
which a second removal finds what a failed one has left."""
_LAST = "Deployment"


@dataclass(frozen=True)
class Order:
    """The requested parts. ``image``: that of the operator; empty for no operator."""

    components: frozenset[str] = frozenset({"nemo"})
    image: str = ""
    watch_namespaces: tuple[str, ...] = ()

    def check(self) -> None:
        """NimError if the parts do not fit together."""
        if self.image and not _IMAGE.fullmatch(self.image):
            raise NimError("image: is not the name of an image, such as registry.example/nim:1.0")
        if not self.watch_namespaces:
            return
        if not self.image:
            raise NimError("watch_namespaces: only an operator watches namespaces; set operator")
        if others := sorted(self.components - {"nemo"}):
            raise NimError(
                f"watch_namespaces: the component {', '.join(others)} serves the whole cluster;"
                " remove one of them"
            )
        for name in self.watch_namespaces:
            if not _NAME.fullmatch(name):
                raise NimError("watch_namespaces: has a text that is not the name of a namespace")

    @property
    def installation(self) -> str:
        """The name of the installation among the generated ones."""
        return "+".join(sorted({*self.components, *([_NAMESPACED] * bool(self.watch_namespaces))}))


@dataclass(frozen=True)
class _Entry:
    manifest: Json
    installations: frozenset[str]
    is_shared: bool


def select_manifests(order: Order, namespace: str = NAMESPACE) -> list[Json]:
    """The objects of an installation, in the order in which to apply them.

    ``namespace``: that of the operator.
    """
    name = order.installation
    found = list(definitions(name))
    for entry in _entries():
        if name in entry.installations and (entry.is_shared or order.image):
            found += _watched_copies(entry.manifest, order.watch_namespaces)
    moved = [_replace(item, NAMESPACE, namespace) for item in found]
    return sorted((_set_up(item, order) for item in moved), key=_rank)


def definitions(installation: str | None = None) -> t.Iterator[Json]:
    """The CRDs of an installation; by default of all."""
    for name, installations in _read()["definitions"].items():
        if installation is None or installation in installations:
            yield json.loads((FOLDER / f"{name}.json").read_text())


def known_objects(namespace: str = NAMESPACE, *, of_operator: bool = False) -> list[Json]:
    """The objects of all installations, once each, except for CRDs and the namespace.

    ``of_operator``: only those of the operator. Roles in watched namespaces have that of config/.
    """
    found = {
        (item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]): item
        for entry in _entries()
        if not (of_operator and entry.is_shared)
        for item in [_replace(entry.manifest, NAMESPACE, namespace)]
        if item["kind"] != "Namespace"
    }
    return sorted(found.values(), key=_rank, reverse=True)


def is_in_watched_namespace(item: Json) -> bool:
    """Whether each watched namespace has a copy of an object in config/."""
    return str(item["metadata"].get("namespace")) == _WATCHED


def path_of(item: Json) -> str:
    """The path of an object on the API server."""
    metadata = item["metadata"]
    return collection_path(
        item["apiVersion"], plural_of(item["kind"]), metadata.get("namespace"), metadata["name"]
    )


def plural_of(kind: str) -> str:
    """The plural in paths; for the kinds of our manifests."""
    name = kind.lower()
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _watched_copies(item: Json, namespaces: tuple[str, ...]) -> list[Json]:
    if not is_in_watched_namespace(item):
        return [item]
    return [
        {**item, "metadata": {**item["metadata"], "namespace": namespace}}
        for namespace in namespaces
    ]


def _set_up(item: Json, order: Order) -> Json:
    """The Deployment with the image and the watched namespaces; other objects as they are."""
    if item["kind"] != _LAST:
        return item
    changed: Json = json.loads(json.dumps(item))
    (container,) = changed["spec"]["template"]["spec"]["containers"]
    container["image"] = order.image
    for variable in container["env"]:
        if variable["name"] == _WATCH_VARIABLE:
            variable["value"] = ",".join(order.watch_namespaces)
    return changed


def _replace(value: t.Any, old: str, new: str) -> t.Any:
    """A copy in which each text that equals ``old`` is ``new``."""
    if isinstance(value, dict):
        return {key: _replace(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [_replace(item, old, new) for item in value]
    return new if value == old else value


def _rank(item: Json) -> tuple[int, str, str]:
    kind = item["kind"]
    rank = _RANKS.index(kind) if kind in _RANKS else len(_RANKS) + (kind == _LAST)
    return rank, kind, item["metadata"]["name"]


@cache
def _read() -> Json:
    return t.cast(Json, json.loads((FOLDER / "objects.json").read_text()))


def _entries() -> list[_Entry]:
    return [
        _Entry(item["manifest"], frozenset(item["installations"]), item["shared"])
        for item in _read()["objects"]
    ]
