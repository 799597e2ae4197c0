# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Our CRDs equal the reference operator's, except for DIFFERENCES and the rules in admission.md."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of

ROOT = Path(__file__).resolve().parents[3]
BASES = ROOT / "config/crd/bases"
REFERENCE = ROOT.parent / "shared/reference/crds"
VALIDATIONS = "x-kubernetes-validations"
# test_reserved_keys.py checks the places of this rule.
RESERVED = "keys that begin with __ansible are reserved for Ansible"
SPEC_IS_LONG = "must be at most 98304 bytes long, move some of it to ConfigMaps"
SIZES = {"maxItems", "maxProperties", "maxLength"}
COPIED = {"pullPolicy": 64, "subPath": 1024}
"""Texts with smaller bounds, because each container gets a copy."""

INT32 = {"minimum": -(2**31), "maximum": 2**31 - 1}

pytestmark = pytest.mark.skipif(
    not REFERENCE.is_dir(),
    reason="the schemas of the reference operator are not at ../shared/reference/crds",
)

Schema = dict[str, Any]

ADMISSION = ROOT / "docs/reference/admission.md"
REASONS = {"crash", "loss", "hole", "newer"}
NEMO_KINDS = [
    *("NemoCustomizer", "NemoDatastore", "NemoEntitystore", "NemoEvaluator", "NemoGuardrail"),
]
ALIASES = {"NeMo kinds": NEMO_KINDS}
PLURALS = {"ClusterPolicy": "clusterpolicies"}
CONSTRAINTS = SIZES | {"minItems", "minLength", "minimum", "pattern", "enum", "required"}
ACCEPTS_MORE = {("spec.source.ngc", "required")}
"""Differences that accept more, although their keyword is a constraint."""

WITHOUT_RULES = {"clusterpolicies"}
WITH_TIMESTAMPS = {"clusterpolicies", "nvidiadrivers"}
"""Their column Age shows a time; ours shows an age, like the columns of other kinds."""

DEVICE = "spec.draResources[].claimCreationSpec.devices[]"
EPP = "spec.expose.router.eppConfig"

SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}
"""The subresource that the kinds with replicas have in addition."""

SHORT_NAMES = {
    "nimservices": {"nimsvc"},
    "nimcaches": {"nimc"},
    "nimpipelines": {"nimpl"},
    "nimbuilds": {"nimb"},
    "nemocustomizers": {"nemocust"},
    "nemodatastores": {"nemods"},
    "nemoentitystores": {"nemoes"},
    "nemoevaluators": {"nemoeval"},
    "nemoguardrails": {"nemoguard"},
    "clusterpolicies": {"nvcp"},
}
"""Short names that the reference lacks; it has others for NVIDIADriver."""

Difference = dict[tuple[str, str], tuple[Any, str]]
NO_IMAGE = "no node can pull such an image"
QUANTITY_COST = "cost of the check that it is a quantity"
REPORTED: Difference = {
    ("status.operatorVersion", "+"): ({"type": "string"}, "names the release that computed it"),
    ("status.observedGeneration", "+"): ({"type": "integer", "format": "int64"}, "for kstatus"),
    ("status.reason", "+"): ({"type": "string"}, "the column Reason"),
    ("status", "default"): ({"observedGeneration": -1}, "kstatus waits for the first pass"),
}
TEXT_FIELD: Schema = {"type": "string"}
REPORTED_GPU: Difference = REPORTED | {
    ("status", "default"): (
        {"observedGeneration": -1, "state": "notReady"},
        "kstatus waits for the first pass; state is required",
    ),
}
SCALE_TO_ZERO: Difference = {
    ("spec.scale.hpa.minReplicas", "minimum"): (0, "since 3.1.3"),
    ("spec.scale.hpa.metrics", "maxItems"): (5, "since 3.1.3"),
}
PRECOMPILED_GDRCOPY: Difference = {
    ("spec.gdrcopy.usePrecompiled", "+"): (
        {"type": "boolean"},
        "pull request 2516 of the GPU Operator",
    ),
}
COMPONENTS = (
    *("driver", "toolkit", "devicePlugin", "dcgm", "dcgmExporter", "gfd", "nodeStatusExporter"),
    *("migManager", "validator", "vfioManager", "sandboxDevicePlugin", "kataSandboxDevicePlugin"),
    *("vgpuManager", "vgpuDeviceManager", "ccManager", "kataManager"),
)
TEXT = {"type": "string", "maxLength": 4096}
VOLUME_FIELDS: dict[str, Any] = {
    "extraVolumes": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string", "maxLength": 63}},
        "x-kubernetes-preserve-unknown-fields": True,
    },
    "extraVolumeMounts": {
        "type": "object",
        "required": ["mountPath", "name"],
        "properties": {
            "mountPath": TEXT,
            "mountPropagation": TEXT,
            "name": TEXT,
            "readOnly": {"type": "boolean"},
            "recursiveReadOnly": TEXT,
            "subPath": TEXT,
            "subPathExpr": TEXT,
        },
    },
}
VOLUMES: Difference = {
    (f"spec.{component}.{field}", "+"): (
        {"type": "array", "maxItems": 32, "items": items},
        "pull request 2507 of the GPU Operator",
    )
    for component in COMPONENTS
    for field, items in VOLUME_FIELDS.items()
}


def image_of(*paths: str) -> Difference:
    return {
        (f"{path}.image.{field}", "minLength"): (1, NO_IMAGE)
        for path in paths
        for field in ("repository", "tag")
    }


# Kind, then path and keyword: our value, and the reason for the difference. "+" is an added field.
DOWNLOAD: Schema = {
    "type": "object",
    "properties": {
        "profiles": {"type": "integer", "format": "int32", **INT32},
        "started": {"type": "boolean"},
        "bytes": {"type": "integer", "format": "int64"},
        "totalBytes": {"type": "integer", "format": "int64"},
        "percent": {"type": "integer", "format": "int32", **INT32},
    },
}
PROFILE: Schema = {
    "type": "object",
    "properties": {
        **{name: {"type": "string"} for name in ("name", "model", "release")},
        "config": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "maxProperties": 256,
            "x-kubernetes-validations": [
                {"message": RESERVED, "rule": "self.all(key, !key.startsWith('__ansible'))"}
            ],
        },
    },
}
FOLDER = {"type": "string", "pattern": r"^\.nimops/[0-9a-f]{1,64}$"}
VERSION: Schema = {
    **{name: {"type": "string"} for name in ("id", "trigger")},
    "folder": FOLDER,
    "bytes": {"type": "integer", "format": "int64"},
    "source": {
        "type": "object",
        "properties": {
            name: {"type": "string"}
            for name in (
                *("artifact", "kind", "modelPuller", "modelEndpoint", "endpoint"),
                *("namespace", "modelName", "datasetName", "revision"),
            )
        },
    },
}

DIFFERENCES: dict[str, Difference] = {
    "nimservices": {
        ("", "required"): (["spec"], "there is nothing to serve without one"),
        **SCALE_TO_ZERO,
        ("spec.image.repository", "minLength"): (1, NO_IMAGE),
        ("spec.image.tag", "minLength"): (1, NO_IMAGE),
        **image_of("spec.initContainers[]", "spec.sidecarContainers[]"),
        (f"{EPP}.containerSpec.image.repository", "minLength"): (1, NO_IMAGE),
        (f"{EPP}.containerSpec.image.tag", "minLength"): (0, "an empty tag means latest here"),
        (f"{EPP}.config.plugins[].parameters", "type"): (None, "O-28"),
        (f"{EPP}.config.plugins[].parameters", "format"): (None, "O-28"),
        (f"{EPP}.config.plugins[].parameters", "x-kubernetes-preserve-unknown-fields"): (
            True,
            "O-28",
        ),
        ("spec.storage.pvc.size", "maxLength"): (64, QUANTITY_COST),
        ("spec.draResources", "maxItems"): (32, "cost of the check for duplicates"),
        ("spec.draResources[].claimCreationSpec.devices", "minItems"): (
            1,
            "a claim of no device",
        ),
        ("spec.draResources[].claimCreationSpec.devices", "maxItems"): (
            32,
            "limit of a claim in Kubernetes",
        ),
        ("spec.draResources[].claimCreationSpec.generateName", "pattern"): (
            r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)*[a-z0-9][-a-z0-9]*$",
            "no template could have such a name",
        ),
        ("spec.draResources[].requests", "maxItems"): (32, "limit of a claim in Kubernetes"),
        ("spec.draResources[].requests[]", "maxLength"): (63, "limit of a request in Kubernetes"),
        (f"{DEVICE}.name", "maxLength"): (63, "limit of a request in Kubernetes"),
        (f"{DEVICE}.name", "pattern"): (
            "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
            "Kubernetes refuses the template",
        ),
        (f"{DEVICE}.count", "minimum"): (1, "Kubernetes refuses the template"),
        (f"{DEVICE}.deviceClassName", "minLength"): (1, "Kubernetes refuses the template"),
        (f"{DEVICE}.deviceClassName", "maxLength"): (253, "Kubernetes refuses the template"),
        (f"{DEVICE}.deviceClassName", "pattern"): (
            r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
            "Kubernetes refuses the template",
        ),
        (f"{DEVICE}.driverName", "minLength"): (1, "no device has such a driver"),
        (f"{DEVICE}.attributeSelectors", "maxItems"): (20, "documented, and the cost of a check"),
        (f"{DEVICE}.capacitySelectors", "maxItems"): (12, "documented, and the cost of a check"),
        (f"{DEVICE}.celExpressions", "maxItems"): (32, "limit of a request in Kubernetes"),
        (f"{DEVICE}.attributeSelectors[]", "required"): (["key", "op", "value"], "O-49"),
        **{
            (f"{DEVICE}.{selectors}[].key", "pattern"): (
                r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z_][A-Za-z0-9_]*$",
                "no device has another, and it would be part of an expression",
            )
            for selectors in ("attributeSelectors", "capacitySelectors")
        },
        **REPORTED,
        ("status.onDeletion", "+"): (
            {"type": "string"},
            "announces the deletion of models",
        ),
        ("status.replicas", "+"): (
            {"type": "integer", "format": "int32", **INT32},
            "the scale subresource",
        ),
        ("status.selector", "+"): ({"type": "string"}, "the scale subresource"),
    },
    "clusterpolicies": {
        ("", "required"): (["spec"], "there is nothing to deploy without one"),
        **PRECOMPILED_GDRCOPY,
        **VOLUMES,
        **REPORTED_GPU,
        ("status.readyOperands", "+"): (TEXT_FIELD, "the column Ready"),
    },
    "nvidiadrivers": {
        ("", "required"): (["spec"], "there is nothing to deploy without one"),
        **PRECOMPILED_GDRCOPY,
        **REPORTED_GPU,
        ("status.readyNodes", "+"): (TEXT_FIELD, "the column Ready"),
    },
    "nimbuilds": {
        ("", "required"): (["spec"], "there is nothing to build without one"),
        **image_of("spec"),
        ("spec.nimCache.name", "minLength"): (1, "there is no such cache"),
        **{
            (f"status.{profile}.config", "maxProperties"): (256, "that of a NIMCache's profiles")
            for profile in ("inputProfile", "outputProfile")
        },
        **REPORTED,
    },
    "nimcaches": {
        ("", "required"): (["spec"], "there is nothing to download without one"),
        **image_of("spec.initContainers[]"),
        ("spec.source.ngc", "required"): (["modelPuller"], "optional since 3.1.3"),
        ("spec.source.ngc.modelPuller", "minLength"): (1, NO_IMAGE),
        ("spec.source.hf.modelName", "minLength"): (1, "would be a download of nothing"),
        ("spec.source.hf.datasetName", "minLength"): (1, "would be a download of nothing"),
        ("spec.source.dataStore.modelName", "minLength"): (1, "would be a download of nothing"),
        ("spec.source.dataStore.datasetName", "minLength"): (1, "would be a download of nothing"),
        ("spec.storage.pvc.size", "maxLength"): (64, QUANTITY_COST),
        ("status.profiles", "maxItems"): (4096, "cost of the check of keys"),
        ("status.profiles[].config", "maxProperties"): (256, "cost of the check of keys"),
        **REPORTED,
        ("status.download", "+"): (
            DOWNLOAD,
            "what is fetched, and its progress; tells a rule that the volume may hold a part of the model",
        ),
        ("status.served", "+"): (
            {"type": "object", "required": ["id"], "properties": VERSION},
            "the served version while the spec has a different one",
        ),
        ("status.renewal", "+"): (
            {
                "type": "object",
                "required": ["id"],
                "properties": {
                    **{name: {"type": "string"} for name in ("id", "state", "type")},
                    "folder": FOLDER,
                    "download": DOWNLOAD,
                    "profiles": {"type": "array", "maxItems": 4096, "items": PROFILE},
                },
            },
            "the download beside the served version",
        ),
        ("status.former", "+"): (
            {
                "type": "array",
                "maxItems": 4,
                "items": {
                    "type": "object",
                    "required": ["id"],
                    "properties": {
                        **VERSION,
                        "type": {"type": "string"},
                        "removed": {"type": "boolean"},
                        "profiles": {"type": "array", "maxItems": 512, "items": PROFILE},
                    },
                },
            },
            "the versions that services still mount, or whose files are to be removed",
        ),
        ("status.selection", "+"): (
            {
                "type": "object",
                "properties": {
                    "considered": {"type": "integer", "format": "int32", **INT32},
                    "selected": {
                        "type": "array",
                        "maxItems": 256,
                        "items": {"type": "string", "maxLength": 253},
                    },
                    "dropped": {
                        "type": "array",
                        "maxItems": 256,
                        "items": {
                            "type": "object",
                            "required": ["profile", "reason"],
                            "properties": {
                                "profile": {"type": "string", "maxLength": 253},
                                "reason": {"type": "string", "maxLength": 64},
                                "message": {"type": "string", "maxLength": 1024},
                            },
                        },
                    },
                },
            },
            "explains the selection of profiles (O-57)",
        ),
    },
}

NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
NO_OBJECT = "no object can have such a name"
NO_KEY = "no Secret can have such a key"


def name_of_object(*paths: str, keywords: Schema | None = None) -> Difference:
    found = keywords or {"maxLength": 253, "pattern": NAME}
    return {(path, key): (value, NO_OBJECT) for path in paths for key, value in found.items()}


def key_of_data(*paths: str, keywords: Schema | None = None) -> Difference:
    found = keywords or {"minLength": 1, "maxLength": 253, "pattern": "^[-._a-zA-Z0-9]+$"}
    return {(path, key): (value, NO_KEY) for path in paths for key, value in found.items()}


def claim(path: str) -> Difference:
    name = {"maxLength": 253, "pattern": f"^({NAME[1:-1]})?$"}
    return {
        **name_of_object(f"{path}.name", keywords=name),
        (f"{path}.size", "maxLength"): (64, QUANTITY_COST),
    }


# The reference sets a minimum length for most names.
LONGER = {"minLength": 1, "maxLength": 253, "pattern": NAME}
DATABASE = {
    **name_of_object("spec.databaseConfig.credentials.secretName"),
    **key_of_data("spec.databaseConfig.credentials.passwordKey"),
}
NEMO: Difference = {
    ("", "required"): (["spec"], "there is nothing to serve without one"),
    **SCALE_TO_ZERO,
    **image_of("spec"),
    **{
        (f"{EPP}.containerSpec.image.{field}", "minLength"): (0, "ignored here")
        for field in ("repository", "tag")
    },
    **{
        where: difference
        for where, difference in DIFFERENCES["nimservices"].items()
        if where[0] == f"{EPP}.config.plugins[].parameters" or where[0].startswith("status")
    },
    ("status.endpoint", "+"): (TEXT_FIELD, "the column Endpoint"),
    **DATABASE,
}
DIFFERENCES |= {
    "nemocustomizers": {
        **NEMO,
        **name_of_object("spec.modelConfig.name", "spec.trainingConfig.configMap.name"),
        **name_of_object(
            "spec.modelDownloadJobs.hfSecret.name", "spec.modelDownloadJobs.ngcAPISecret.name"
        ),
        **key_of_data(
            "spec.modelDownloadJobs.hfSecret.key", "spec.modelDownloadJobs.ngcAPISecret.key"
        ),
        **name_of_object("spec.wandb.secretName"),
        **key_of_data("spec.wandb.encryptionKey"),
        **key_of_data(
            "spec.wandb.apiKeyKey", keywords={"maxLength": 253, "pattern": "^[-._a-zA-Z0-9]+$"}
        ),
        **image_of("spec.trainingConfig"),
        **claim("spec.trainingConfig.modelPVC"),
        ("spec.trainingConfig.workspacePVC.size", "maxLength"): (
            64,
            QUANTITY_COST,
        ),
    },
    "nemodatastores": {
        **NEMO,
        **name_of_object(
            "spec.secrets.datastoreConfigSecret",
            "spec.secrets.datastoreInitSecret",
            "spec.secrets.datastoreInlineConfigSecret",
            "spec.secrets.giteaAdminSecret",
            "spec.secrets.lfsJwtSecret",
            "spec.objectStoreConfig.credentials.secretName",
            keywords=LONGER,
        ),
        **key_of_data("spec.objectStoreConfig.credentials.passwordKey"),
        **claim("spec.pvc"),
    },
    "nemoentitystores": NEMO,
    "nemoevaluators": NEMO,
    "nemoguardrails": {
        **NEMO,
        **name_of_object("spec.configStore.configMap.name"),
        **claim("spec.configStore.pvc"),
    },
}

DIFFERENCES["nimpipelines"] = {
    **{
        (path.replace("spec.", "spec.services[].spec.", 1), keyword): difference
        for (path, keyword), difference in DIFFERENCES["nimservices"].items()
        if path.startswith("spec.")
    },
    **REPORTED,
    ("status.readyServices", "+"): (TEXT_FIELD, "the column Ready"),
}
DIFFERENCES["nimservices"] |= {
    ("status.cacheVersion", "+"): ({"type": "string"}, "the version of a renewed NIMCache"),
    ("status.disruptionBudget", "+"): ({"type": "string"}, "names what max-unavailable made"),
    ("status.model.adapters", "+"): (
        {"type": "array", "items": {"type": "string"}},
        "the LoRA adapters that the model server lists",
    ),
}


# Path and rule of the reference that ours relaxes: it accepts an absent `expose` and `service`.
GUARDED = {
    ("spec", "has(self.expose.ingress) && "): "has(self.expose) && has(self.expose.ingress) && ",
    (
        "spec.expose",
        "has(self.service.grpcPort)",
    ): "has(self.service) && has(self.service.grpcPort)",
    (
        "spec.expose",
        "has(self.service.metricsPort)",
    ): "has(self.service) && has(self.service.metricsPort)",
}

# Kind, then path, rule and message of a rule of the reference that ours replace: the reason.
RELAXED: dict[str, dict[tuple[str, str, str], str]] = {
    "nimbuilds": {
        ("spec", "self == oldSelf", "spec is immutable"): "only what the engine is built from is",
    },
    "nimcaches": {
        (
            "spec.source.ngc.modelPuller",
            "self == oldSelf",
            "modelPuller is an immutable field. Please create a new NIMCache resource instead when"
            " you want to change this container.",
        ): "a change is refused only while the first download runs",
    },
}


@functools.cache
def parse(folder: Path, plural: str) -> Schema:
    crd: Schema = yaml.safe_load(next(folder.glob(f"*_{plural}.yaml")).read_text())
    return crd


def load(folder: Path, plural: str) -> Schema:
    """Return a copy to change."""
    return copy.deepcopy(parse(folder, plural))


def pop_schema(crd: Schema) -> Schema:
    schema: Schema = crd["spec"]["versions"][0].pop("schema")["openAPIV3Schema"]
    return schema


def without_descriptions(schema: Any) -> Any:
    """Keep a field with the name description."""
    if isinstance(schema, list):
        return [without_descriptions(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: without_descriptions(value)
        for key, value in schema.items()
        if not (key == "description" and isinstance(value, str))
    }


def join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def children(schema: Schema) -> dict[str, Schema]:
    found = {f".{name}": child for name, child in schema.get("properties", {}).items()}
    if "items" in schema:
        found["[]"] = schema["items"]
    if isinstance(schema.get("additionalProperties"), dict):
        found["{}"] = schema["additionalProperties"]
    return found


def is_bound(theirs: Schema, ours: Schema, key: str, path: str) -> bool:
    """We also bound sizes and 32-bit numbers, as the API server does not check formats."""
    if path.startswith("spec.") and key in SIZES and key not in theirs:
        name = path.rpartition(".")[2]
        return bool(ours[key] >= COPIED.get(name, default_size(ours)))
    return theirs.get("format") == "int32" and key in INT32 and ours.get(key) == INT32[key]


def default_size(schema: Schema) -> int:
    """The default bounds of a list, a map or a text; test_generator.py tests them."""
    if "items" in schema:
        return 512 if schema["items"].get("type") == "string" else 64
    if "additionalProperties" in schema:
        return 128
    return 64 if schema.get("x-kubernetes-int-or-string") else 4096


def differences(
    theirs: Schema, ours: Schema, path: str = ""
) -> Iterator[tuple[tuple[str, str], Any]]:
    """Path and keyword, our value; "+" for an added field, "-" for a missing one; no CEL rules."""
    structure = {"properties", "items", "additionalProperties", VALIDATIONS}
    for key in sorted({*theirs, *ours} - structure):
        if theirs.get(key) != ours.get(key) and not is_bound(theirs, ours, key, path):
            yield (path, key), ours.get(key)
    left, right = children(theirs), children(ours)
    for name in sorted({*left, *right}):
        below = (path + name).lstrip(".")
        if name not in left:
            yield (below, "+"), right[name]
        elif name not in right:
            yield (below, "-"), None
        else:
            yield from differences(left[name], right[name], below)


def rules(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    for rule in schema.get(VALIDATIONS, []):
        yield path, rule
    for name, child in children(schema).items():
        yield from rules(child, (path + name).lstrip("."))


def identity(path: str, rule: Schema) -> tuple[str, str, str]:
    return path, " ".join(rule["rule"].split()), " ".join(rule["message"].split())


def guarded(path: str, rule: Schema) -> tuple[str, str, str]:
    """A rule of the reference in our form."""
    place, text, message = identity(path, rule)
    for (where, part), whole in GUARDED.items():
        if where == place and part in text and whole not in text:
            text = text.replace(part, whole)
    return place, text, message


def test_every_crd_compared() -> None:
    assert set(DIFFERENCES) == {path.stem.partition("_")[2] for path in BASES.glob("*.yaml")}


@pytest.mark.parametrize("plural", sorted(DIFFERENCES))
def test_structure_equals_reference(plural: str) -> None:
    theirs = without_descriptions(pop_schema(load(REFERENCE, plural)))
    ours = without_descriptions(pop_schema(load(BASES, plural)))
    expected = {where: value for where, (value, _reason) in DIFFERENCES[plural].items()}
    assert dict(differences(theirs, ours)) == expected


@pytest.mark.parametrize("plural", sorted(DIFFERENCES))
def test_reference_rules_present(plural: str) -> None:
    theirs = [guarded(*entry) for entry in rules(pop_schema(load(REFERENCE, plural)))]
    ours = [identity(*entry) for entry in rules(pop_schema(load(BASES, plural)))]
    assert theirs or plural in WITHOUT_RULES
    assert set(theirs) - set(ours) == set(RELAXED.get(plural, {}))


def additional_rules(plural: str) -> list[tuple[str, Schema]]:
    """Path and CEL rule that the reference's CRD lacks, without those that every kind has."""
    theirs = {guarded(*entry) for entry in rules(pop_schema(load(REFERENCE, plural)))}
    return [
        (path, rule)
        for path, rule in rules(pop_schema(load(BASES, plural)))
        if identity(path, rule) not in theirs and rule["message"] not in (RESERVED, SPEC_IS_LONG)
    ]


def stricter_fields(plural: str) -> set[str]:
    """The fields of the spec on which our CRD is stricter than the reference's."""
    found = {f"{path}{rule.get('fieldPath', '')}" for path, rule in additional_rules(plural)}
    for (path, keyword), (value, _reason) in DIFFERENCES[plural].items():
        is_stricter = keyword in CONSTRAINTS and value and (path, keyword) not in ACCEPTS_MORE
        if is_stricter and not path.startswith("status"):
            found.add(path or "spec")
    return {field.removeprefix(".") for field in found}


def expand(field: str) -> list[str]:
    """The fields that one with alternatives in braces stands for."""
    start, brace, rest = field.partition("{")
    if not brace:
        return [field]
    names, _brace, end = rest.partition("}")
    return [f"{start}{name}{more}" for name in names.split(",") for more in expand(end)]


@functools.cache
def documented() -> dict[str, dict[str, str]]:
    """Kind, then field: the reason of the rule according to admission.md."""
    _head, _title, text = ADMISSION.read_text().partition("\n## Reasons for additional rules\n")
    found: dict[str, dict[str, str]] = {plural: {} for plural in DIFFERENCES}
    for line in text.partition("\n## ")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) != 4 or cells[2] not in REASONS:
            continue
        names = [name for kind in cells[0].split(", ") for name in ALIASES.get(kind, [kind])]
        fields = [field for part in re.findall("`([^`]*)`", cells[1]) for field in expand(part)]
        for name in names:
            place = "spec.services[].spec" if name == "NIMPipeline" else "spec"
            plural = PLURALS.get(name, f"{name.lower()}s")
            found[plural] |= {field.replace("spec", place, 1): cells[2] for field in fields}
    return found


@pytest.mark.parametrize("plural", sorted(DIFFERENCES))
def test_stricter_fields_documented(plural: str) -> None:
    """Each rule that the reference lacks has a reason; what its CRDs accept is otherwise accepted."""
    assert sorted(documented()[plural]) == sorted(stricter_fields(plural))


def test_pipeline_rules_equal_service_rules() -> None:
    """The same spec gets the same answer as a service and within a pipeline.

    The API server has no old value of an item of a list, so transition rules, which are at the root
    of a NIMService, apply when the operator writes the NIMService.
    """
    services = [identity(path, rule) for path, rule in additional_rules("nimservices") if path]
    pipelines = [
        identity(path.replace("spec.services[].spec", "spec", 1), rule)
        for path, rule in additional_rules("nimpipelines")
    ]
    assert sorted(pipelines) == sorted(services)


def category_of(plural: str) -> str:
    return next((name for name in ("nim", "nemo") if plural.startswith(name)), "gpu")


def test_short_names_unique() -> None:
    """No two kinds share a name, a kind of the reference that we do not serve included.

    The API server does not accept a name that another CRD of the group has, and kubectl expands a
    category before it searches a name.
    """
    names: list[str] = []
    categories: set[str] = set()
    ours = sorted(BASES.glob("*_*.yaml"))
    others = {path.name for path in REFERENCE.glob("*_*.yaml")} - {path.name for path in ours}
    assert others
    for path in [*ours, *(REFERENCE / name for name in others)]:
        found = yaml.safe_load(path.read_text())["spec"]["names"]
        names += [found["plural"], found["singular"], *found.get("shortNames", ())]
        categories |= set(found.get("categories", ()))
    assert len(names) == len(set(names))
    assert categories == {"nimops", "nim", "nemo", "gpu"}
    assert not categories & set(names)


@pytest.mark.parametrize("plural", sorted(DIFFERENCES))
def test_reason_independent_of_order(plural: str) -> None:
    """No column takes a condition by its position."""
    columns = load(BASES, plural)["spec"]["versions"][0]["additionalPrinterColumns"]
    paths = {column["name"]: column["jsonPath"] for column in columns}
    assert paths["Status"] == ".status.state"
    assert paths["Reason"] == ".status.reason"
    assert not any("conditions" in path for path in paths.values())


@pytest.mark.parametrize("plural", sorted(DIFFERENCES))
def test_names_and_subresources(plural: str) -> None:
    theirs, ours = load(REFERENCE, plural), load(BASES, plural)
    columns = {}
    for name, crd in (("theirs", theirs), ("ours", ours)):
        pop_schema(crd)
        columns[name] = crd["spec"]["versions"][0].pop("additionalPrinterColumns")
    scale = ours["spec"]["versions"][0]["subresources"].pop("scale", None)
    assert scale == (SCALE if kind_of(ours["spec"]["names"]).is_scalable else None)
    names = ours["spec"]["names"]
    added_names = set(names.get("shortNames", ())) - set(
        theirs["spec"]["names"].get("shortNames", ())
    )
    assert added_names == SHORT_NAMES.get(plural, set())
    assert names.pop("categories") == ["nimops", category_of(plural)]
    assert set(names.pop("shortNames")) == added_names | set(
        theirs["spec"]["names"].pop("shortNames", ())
    )
    assert ours == theirs
    added = {"Reason", "Available", "Ready", "Model", "Endpoint", "Percent", "Renewal"}
    kept = [column for column in columns["ours"] if column["name"] not in added]
    if plural in WITH_TIMESTAMPS:
        kept[-1] = {**kept[-1], "type": "string"}
        kept[-1].pop("format")
    assert kept == columns["theirs"]
