# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Model manifests: what a NIM's image says about the profiles it can run."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

try:
    import yaml

    _SafeLoader: t.Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
except ImportError:  # every file must import on a bare Python; Ansible itself needs PyYAML
    _SafeLoader = object
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.yaml_text import dump_yaml

NOT_FOUND = "model_manifest.yaml not found"
"""What a pod prints if there is no manifest."""

NO_PULLER = "download-to-cache not found"
"""What a probe pod prints besides if its image cannot download a model by itself."""

BEGIN_MARK, END_MARK = "--- nimops: manifest begins ---", "--- nimops: manifest ends ---"
"""Lines around the manifest in the log of our pods; other operators' pods print none."""

INPUT_TAG = "input_profile"
"""Tag of a profile in the status of a NIMCache that was not downloaded but built, from this one."""

_TEXT = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"
_TEXT_FIELDS = {"container_url", "id", "model", "release", "schema_version"}
_V1_FIELDS = ("model", "release", "tags", "container_url")
_V2_FIELDS = ("id", "tags")
_EXCERPT = 200

Json = dict[str, t.Any]


@dataclass(frozen=True)
class Profile:
    """One way to run the model. ``model`` and ``release`` are empty in manifests of version 2."""

    id: str
    tags: dict[str, str] = field(default_factory=dict)
    model: str = ""
    release: str = ""

    def to_status(self) -> Json:
        """The profile as an entry of `status.profiles`."""
        said = {"name": self.id, "model": self.model, "release": self.release}
        config = {"config": dict(self.tags)} if self.tags else {}
        return {key: value for key, value in said.items() if value} | config


@dataclass(frozen=True)
class ModelManifest:
    """A manifest of version 1 or 2, and what a ConfigMap keeps of it.

    Profiles stand in the order of the file; those of version 1, which has none, by id.
    """

    version: int
    profiles: list[Profile]
    stripped: Json


@dataclass(frozen=True)
class LogReading:
    """What the log of a pod that prints a manifest tells.

    ``complete``: nothing more will come. ``text``: the manifest, empty if there is none.
    ``has_puller``: the image brings `download-to-cache`.
    """

    complete: bool
    text: str = ""
    has_puller: bool = True


class _Loader(_SafeLoader):  # type: ignore[misc]
    """Accepts every tag, and takes keys, tags of profiles and versions for what is written.

    A quoted "1" and a bare 1.10 both stay text: ids and tags are compared as text.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Json:
        for key, value in node.value:
            if key.tag != _MERGE:
                _as_text(key)
            if key.value == "tags" and isinstance(value, yaml.MappingNode):
                for _name, tag in value.value:
                    _as_text(tag)
            elif key.value in _TEXT_FIELDS:
                _as_text(value)
        return t.cast(Json, super().construct_mapping(node, deep))

    def construct_any(self, node: yaml.Node) -> t.Any:
        """The plain value under a tag that nobody knows."""
        if isinstance(node, yaml.MappingNode):
            return self.construct_mapping(node, deep=True)
        if isinstance(node, yaml.SequenceNode):
            return self.construct_sequence(node, deep=True)
        return self.construct_scalar(node)


if _SafeLoader is not object:
    _Loader.add_constructor(None, _Loader.construct_any)


def _as_text(node: yaml.Node) -> None:
    if isinstance(node, yaml.ScalarNode):
        node.tag = _TEXT


def manifest_map_name(cache: str) -> str:
    """The ConfigMap that keeps the manifests of a NIMCache."""
    return f"{cache}-manifest"


def read_log(log: str) -> LogReading:
    """Find the manifest in the log of a pod; NimError if its beginning is lost."""
    if NOT_FOUND in log:
        return LogReading(complete=True, has_puller=NO_PULLER not in log)
    head, begin, rest = log.partition(BEGIN_MARK)
    text, end, _tail = (rest if begin else head).partition(END_MARK)
    if end and not begin:
        raise _error(
            "its beginning is missing, as container logs are cut at the kubelet's"
            " containerLogMaxSize"
        )
    if (begin and not end) or NO_PULLER in head:
        return LogReading(complete=False)
    return LogReading(complete=bool(text.strip()), text=text.strip("\n"))


def parse_manifest(text: str) -> ModelManifest:
    """Parse a manifest, stripped or not, of either version; NimError if it is none."""
    try:
        document = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise _error(f"it is not valid YAML: {' '.join(str(error).split())[:_EXCERPT]}") from error
    if not isinstance(document, dict):
        raise _error(f"it is no mapping but starts with {text.strip()[:40]!r}")
    version = str(document.get("schema_version") or "1")
    parse = {"1": _parse_v1, "2": _parse_v2}.get(version.lstrip("v").partition(".")[0])
    if parse is None:
        raise _error(f"its schema_version {version!r} is unknown: only versions 1 and 2 are known")
    return parse(document)


def dump_manifest(manifest: ModelManifest) -> str:
    """The YAML text that the ConfigMap keeps: without the files of the workspaces."""
    return dump_yaml(manifest.stripped)


def _parse_v1(document: Json) -> ModelManifest:
    entries = {key: value for key, value in document.items() if key != "schema_version"}
    stripped: Json = {}
    profiles = []
    for name in sorted(entries):
        entry = _mapping(entries[name], f"profile {name[:80]!r}")
        tags = _tags(entry, name)
        stripped[name] = {key: entry[key] for key in _V1_FIELDS if key in entry} | {"tags": tags}
        model, release = (str(entry.get(key) or "") for key in ("model", "release"))
        profiles.append(Profile(name, tags, model, release))
    if not profiles:
        raise _error("it has no profiles")
    return ModelManifest(1, profiles, stripped)


def _parse_v2(document: Json) -> ModelManifest:
    entries = document.get("profiles")
    if not isinstance(entries, list) or not entries:
        raise _error("it has no list of profiles")
    kept, profiles = [], []
    for index, value in enumerate(entries):
        entry = _mapping(value, f"profiles[{index}]")
        if not entry.get("id"):
            raise _error(f"profiles[{index}] has no id")
        tags = _tags(entry, entry["id"])
        kept.append({key: entry[key] for key in _V2_FIELDS if key in entry} | {"tags": tags})
        profiles.append(Profile(entry["id"], tags))
    head = ("schema_version", "profile_selection_criteria")
    stripped = {key: document[key] for key in head if key in document}
    return ModelManifest(2, profiles, stripped | {"profiles": kept})


def _tags(entry: Json, name: str) -> dict[str, str]:
    tags = _mapping(entry.get("tags") or {}, f"tags of profile {name[:80]!r}")
    return {str(key): str(value) for key, value in sorted(tags.items())}


def _mapping(value: t.Any, what: str) -> Json:
    if not isinstance(value, dict):
        raise _error(f"{what} is no mapping but {str(value)[:40]!r}")
    return value


def _error(why: str) -> NimError:
    return NimError(f"the model manifest cannot be read: {why}", reason="ReconcileFailed")
