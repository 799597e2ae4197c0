# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Lists the models that custom resources download."""

from __future__ import annotations

import typing as t
from dataclasses import asdict, dataclass, field

from ..._base.errors import NimError
from ..._base.json_size import show_size
from ..._base.quantity import parse_quantity
from ..._base.types import Json
from ..._engine.api_resources import KINDS, ObjectKey, identity, object_identity
from ..._engine.observed import Observed
from ..._nim.cache.app import NIMCacheApp
from ..._nim.cache.disk_need import MODEL_SIZE
from ..._nim.cache.prepared import is_prepared
from ..._nim.cache.probe import Probe, stored_manifest
from ..._nim.cache.source import ARTIFACT
from ..._nim.cache_spec import Source
from ..._nim.pipeline.spec import parse_spec as parse_pipeline
from ..._nim.profiles.profile_selection import short_id
from ..._nim.service.app import NIMServiceApp
from ..text import write_table

COLUMNS = ("NAMESPACE", "KIND", "NAME", "SOURCE", "REVISION", "PROFILES", "SIZE", "CLAIM", "PATH")
KINDS_WITH_MODELS = ("NIMCache", "NIMService", "NIMPipeline")
"""A NIMBuild downloads nothing: it uses a NIMCache."""

_MODEL_NAME, _SCHEMES = "NIM_MODEL_NAME", ("hf://", "ngc://", "s3://", "gs://")
_MAX_NAMED = 3
_UNKNOWN = "?"


@dataclass(frozen=True)
class ModelFiles:
    """The model of a custom resource.

    ``source``: a URI, or the image whose model it is. ``endpoint``: the server of the source, if
    the spec sets one. ``image``: what downloads it. ``profiles``: ids; ``criteria``: those by
    which they are selected while they are unknown. ``size``: in bytes, None if unknown.
    ``is_prepared``: nothing is downloaded, because the claim holds the model.
    """

    namespace: str
    kind: str
    name: str
    source: str
    image: str
    revision: str = ""
    endpoint: str = ""
    profiles: list[str] = field(default_factory=list)
    criteria: dict[str, str] = field(default_factory=dict)
    size: int | None = None
    claim: str = ""
    path: str = ""
    is_prepared: bool = False

    def to_dict(self) -> Json:
        """The model as plain data."""
        return asdict(self)

    def cells(self) -> list[str]:
        """The row as text cells."""
        source = f"prepared, {self.source}" if self.is_prepared else self.source
        size = _UNKNOWN if self.size is None else show_size(self.size)
        profiles = self._describe_profiles()
        names = (self.namespace, self.kind, self.name)
        return [*names, source, self.revision, profiles, size, self.claim, self.path]

    def _describe_profiles(self) -> str:
        if not self.profiles:
            return ", ".join(f"{key}={value}" for key, value in self.criteria.items())
        more = len(self.profiles) - _MAX_NAMED
        names = ", ".join(short_id(name) for name in self.profiles[:_MAX_NAMED])
        return f"{names} and {more} more" if more > 0 else names


def list_model_files(
    resources: t.Iterable[Json], known: t.Mapping[ObjectKey, Json]
) -> list[ModelFiles]:
    """The models of these resources; ``known``: objects, such as stored model manifests."""
    found = [item for resource in resources for item in _find(resource, known)]
    return sorted(found, key=lambda item: (item.namespace, item.kind, item.name))


def write_model_files(found: t.Sequence[ModelFiles]) -> str:
    """The models as a table."""
    return write_table(COLUMNS, [item.cells() for item in found])


def manifest_key(cache: Json) -> ObjectKey:
    """The ConfigMap with the model manifest of a NIMCache."""
    app = NIMCacheApp(cache)
    return object_identity("ConfigMap", app.namespace, app.config_map_name)


def _find(resource: Json, known: t.Mapping[ObjectKey, Json]) -> t.Iterator[ModelFiles]:
    kind = resource["kind"]
    if kind == "NIMCache":
        yield from _find_of_cache(resource, known)
    elif kind == "NIMService":
        yield from _find_of_service(resource)
    elif kind == "NIMPipeline":
        namespace = resource["metadata"].get("namespace") or ""
        for entry in parse_pipeline(resource).entries:
            metadata = {"name": entry.name, "namespace": namespace}
            service = {
                "apiVersion": KINDS["NIMService"].version,
                "kind": "NIMService",
                "metadata": metadata,
                "spec": dict(entry.service_spec),
            }
            if entry.is_enabled:
                yield from _find_of_service(service)


def _find_of_cache(cache: Json, known: t.Mapping[ObjectKey, Json]) -> t.Iterator[ModelFiles]:
    stored = known.get(manifest_key(cache))
    app = NIMCacheApp(cache, Observed({str(identity(stored)): stored} if stored else {}))
    source = app.spec.source
    if source is None:
        return
    artifact = app.annotation(ARTIFACT).strip()
    listed = app.status.get("profiles") or []
    profiles = [str(item.get("name") or "") for item in listed] or list(source.profiles)
    wanted = {key: str(value) for key, value in source.wanted_model.items() if value}
    criteria = {} if profiles or not source.is_optimized else wanted
    yield ModelFiles(
        namespace=app.namespace,
        kind="NIMCache",
        name=app.name,
        source=artifact or _uri_of(source),
        image=source.puller,
        revision="" if artifact else source.revision or ("main" if source.is_hf else ""),
        endpoint="" if artifact else source.endpoint,
        profiles=profiles,
        criteria=criteria,
        size=_size_of(app, profiles),
        claim=app.spec.claim.name,
        path=app.spec.claim.sub_path,
        is_prepared=is_prepared(app),
    )


def _uri_of(source: Source) -> str:
    if source.is_hf:
        return f"hf://{source.namespace}/{source.dataset or source.model_name}"
    return source.model_endpoint or f"image {source.puller}"


def _size_of(app: NIMCacheApp, profiles: t.Sequence[str]) -> int | None:
    """The bytes according to the annotation or the manifest.

    Profiles share files, so the largest one counts.
    """
    try:
        if given := app.annotation(MODEL_SIZE):
            return int(parse_quantity(given.strip())) or None
        listed = stored_manifest(app, Probe()).profiles
    except (NimError, ValueError):
        return None
    return max((item.size for item in listed if item.id in profiles), default=0) or None


def _find_of_service(service: Json) -> t.Iterator[ModelFiles]:
    """The model of a service that downloads it itself, when its pods start."""
    app = NIMServiceApp(service)
    storage = app.spec.storage
    if storage.cache_name:
        return
    image = app.spec.image.reference
    given = {item["name"]: str(item.get("value") or "") for item in app.spec.env}
    name = given.get(_MODEL_NAME, "")
    uses_claim = storage.creates_claim or storage.claim.is_named
    yield ModelFiles(
        namespace=app.namespace,
        kind="NIMService",
        name=app.name,
        source=name if name.startswith(_SCHEMES) else f"image {image}",
        image=image,
        claim=storage.claim.name if uses_claim else "",
        path=storage.claim.sub_path if uses_claim else storage.host_path,
    )
