# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Where an object refers to another one, found without the collection's own table of references."""

from __future__ import annotations

import re
import typing as t

Json = dict[str, t.Any]

_FIELDS = {
    "ConfigMap": r"(configMap|configMapRef|configMapKeyRef|certConfig)\.name",
    "PersistentVolumeClaim": r"claimName",
    "ResourceClaim": r"resourceClaimName",
    "ResourceClaimTemplate": r"resourceClaimTemplateName|resourceClaimTemplate\.name",
    "RuntimeClass": r"runtimeClassName",
    "Secret": r"secretName|(secret|secretRef|secretKeyRef|imagePullSecrets)\.name",
    "Service": r"serviceName|(service|backendRefs?|endpointPickerRef)\.name",
    "ServiceAccount": r"serviceAccount(Name)?",
}
ELSEWHERE = re.compile(
    r"(^|\.)metadata(\.|$)|(^|\.)(labels|annotations|selector|matchLabels|nodeSelector|data)(\.|$)"
)
"""Names and labels of the object itself, and of its pods."""


def list_texts(value: t.Any, path: str = "") -> t.Iterator[tuple[str, str, Json]]:
    """Path without indexes, text, and what holds it, of each text in a tree."""
    items = value.items() if isinstance(value, dict) else ()
    for key, item in items:
        where = f"{path}.{key}" if path else key
        if isinstance(item, str):
            yield where, item, value
        else:
            yield from list_texts(item, where)
    for item in value if isinstance(value, list) else ():
        if isinstance(item, str):
            yield path, item, {}
        else:
            yield from list_texts(item, path)


def mentions(item: Json, kind: str, name: str) -> list[str]:
    """The paths at which an object refers to the one of this kind and name."""
    fields = _FIELDS.get(kind)
    wanted = re.compile(rf"(^|\.)({fields})$") if fields else None
    return [
        path
        for path, text, holder in list_texts({key: item[key] for key in item if key != "kind"})
        if text == name
        and not ELSEWHERE.search(path)
        and (
            (wanted and wanted.search(path) and "kind" not in holder)
            or (path.endswith(".name") and holder.get("kind") == kind)
        )
    ]
