# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A cluster described by a few objects, to render without a real one."""

from __future__ import annotations

import base64
import typing as t

from .._base.errors import NimError
from .._base.json_copy import copy_json
from .._base.types import Json
from .._engine.api_resources import ObjectKey, identity, object_identity
from .._engine.node_rows import row_of_node
from .._engine.observed import OPENSHIFT, Observed
from .._engine.pod_rows import is_unready
from .._engine.reads import Read, Source, list_key

_OPENSHIFT_GROUPS = ".openshift.io"

Assumed = tuple[Read, Json]
"""A read, and the object that is assumed to exist if its answer is empty."""


class Objects(Source):
    """A source that contains only these objects; None stands for an absent object."""

    def __init__(self, objects: t.Mapping[ObjectKey, Json | None]) -> None:
        self._objects = objects

    def ask(self, read: Read) -> t.Any:
        """The answer to a read; the caller may modify it."""
        return copy_json(read.answer(self))

    def get(self, kind: str, namespace: str, name: str) -> Json | None:
        return self._objects.get(object_identity(kind, namespace, name))

    def get_presence(self, kind: str, namespace: str, name: str) -> Json | None:
        found = self.get(kind, namespace, name)
        return found and {"metadata": found["metadata"]}

    def get_secret(self, namespace: str, name: str) -> Json | None:
        return self.get("Secret", namespace, name)

    def list_objects(
        self, kind: str, namespace: str = "", *, selector: str = "", field: str = "", limit: int = 0
    ) -> list[Json] | None:
        found = [
            item
            for key, item in self._objects.items()
            if item is not None
            and key.kind == kind
            and namespace in ("", key.namespace)
            and (not field or _has_field(item, field))
            and _has_label(item, selector)
        ]
        return found[: limit or None]

    def serves_group(self, group: str) -> bool:
        """True, except for groups of OpenShift where the known nodes are of another distribution.

        A CustomResourceDefinition of the group proves that it is served.
        """
        nodes = self.list_nodes()
        if not nodes or not group.endswith(_OPENSHIFT_GROUPS):
            return True
        is_openshift = Observed({list_key("Node"): nodes}).orchestrator == OPENSHIFT
        definitions = self.list_objects("CustomResourceDefinition") or []
        return is_openshift or any(_has_field(item, f"spec.group={group}") for item in definitions)

    def list_nodes(self) -> list[Json]:
        return [{"metadata": item["metadata"]} for item in self.list_objects("Node") or []]

    def list_node_rows(self) -> list[Json]:
        return [row_of_node(item) for item in self.list_objects("Node") or []]

    def list_unready(self, namespace: str, selector: str) -> list[str]:
        pods = self.list_objects("Pod", namespace, selector=selector) or []
        return [pod["metadata"]["name"] for pod in pods if is_unready(pod)]

    def get_log(self, _namespace: str, _pod: str, _container: str, _lines: int = 0) -> str:
        return ""

    def fetch(self, _url: str, _namespace: str, _service: str) -> Json:
        return {"status": 0, "body": "", "error": "there is no cluster to query"}

    def find_protocol(self, _image: str, _namespace: str, _pull_secrets: t.Iterable[str]) -> str:
        return ""

    def now(self) -> str:
        return ""


class Facts(Objects):
    """A cluster with these objects that serves every kind.

    ``native_images``: images with a single model in the native layout. ``assumed``: objects that
    exist unless the given ones answer their read. ``namespace``: the default namespace of objects.
    """

    def __init__(
        self,
        objects: t.Iterable[Json],
        native_images: t.Iterable[str] = (),
        assumed: t.Iterable[Assumed] = (),
        namespace: str = "",
    ) -> None:
        known = {identity(item): item for item in (_as_stored(one, namespace) for one in objects)}
        super().__init__(known)
        for read, item in assumed:
            if not self.ask(read):
                known[identity(item)] = item
        self._native_images = set(native_images)

    def is_assumed(self, _kind: str, _namespace: str, _name: str) -> bool:
        return True

    def find_protocol(self, image: str, _namespace: str, _pull_secrets: t.Iterable[str]) -> str:
        return "native" if image in self._native_images else "legacy"


def _as_stored(manifest: Json, namespace: str) -> Json:
    """An object from a file in its stored form: in a namespace, with `stringData` in `data`."""
    metadata = dict(manifest["metadata"])
    given = metadata.get("namespace") or namespace
    if given := object_identity(manifest["kind"], given, metadata["name"]).namespace:
        metadata["namespace"] = given
    if manifest["kind"] != "Secret" or "stringData" not in manifest:
        return {**manifest, "metadata": metadata}
    stored = {key: value for key, value in manifest.items() if key != "stringData"}
    data, texts = (_values_of(manifest, field) for field in ("data", "stringData"))
    added = {key: base64.b64encode(str(value).encode()).decode() for key, value in texts.items()}
    return {**stored, "metadata": metadata, "data": {**data, **added}}


def _values_of(secret: Json, field: str) -> Json:
    """The values in a field of a Secret; NimError if they are not a map."""
    found = secret.get(field) or {}
    if not isinstance(found, dict):
        raise NimError(f'Secret "{secret["metadata"]["name"]}": {field} must be a map')
    return found


def _has_label(manifest: Json, selector: str) -> bool:
    """Whether an object matches a selector: a label, or a label and its value."""
    label, sign, value = selector.partition("=")
    labels = manifest["metadata"].get("labels") or {}
    return labels.get(label) == value if sign else not label or label in labels


def _has_field(manifest: Json, field: str) -> bool:
    """Whether an object matches a field selector such as `spec.nodeName=a`."""
    path, _sign, value = field.partition("=")
    found: t.Any = manifest
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return bool(found == value)
