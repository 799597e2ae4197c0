# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The values of the Helm chart: their defaults, their documentation and their schema."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .manifests import Manifest, Project, manager_of, to_yaml

Schema = dict[str, Any]

VARIABLES = "docs/operate/configuration.md"
_ROW = re.compile(r"^\| (`[A-Z][A-Z_`, ]+`)[^|]* \| [^|]* \| (.+) \|$", re.M)
_LINK = re.compile(r"\[([^]]+)\]\([^)]*\)")
_MAP = {"type": "object"}
_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
_NAME = {"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"}
_OBJECTS = {"type": "array", "items": {"type": "object"}}


@dataclass(frozen=True)
class Value:
    """One value. `example` is another than the default, that changes what the chart renders."""

    path: str
    default: Any
    schema: Schema
    doc: str
    example: Any


def list_values(
    project: Project, items: Sequence[Manifest], own_env: Iterable[str] = ()
) -> list[Value]:
    """Return them all. What config/default sets is the default here.

    ``own_env``: the variables that other values than `env` set.
    """
    deployment = manager_of(items)["spec"]
    [container] = deployment["template"]["spec"]["containers"]
    repository, _colon, _tag = container["image"].rpartition(":")
    parallel = read_flag(container["args"], "max-concurrent-reconciles")
    own = {item["name"] for item in container["env"]} | set(own_env)
    return [
        *_image_values(repository),
        Value(
            "replicas",
            deployment["replicas"],
            {"type": "integer", "minimum": 0},
            "One is enough: models keep serving without it. A second one waits for the Lease.",
            2,
        ),
        Value(
            "resources",
            container["resources"],
            _MAP,
            "Of the operator's container. More concurrent reconciles need more memory.",
            {"limits": {"memory": "3Gi"}},
        ),
        Value(
            "maxConcurrentReconciles",
            int(parallel),
            {"type": "integer", "minimum": 1},
            "Per kind.",
            2,
        ),
        Value(
            "leaderElection.enabled",
            True,
            {"type": "boolean"},
            "False: without a Lease, for one replica only; an update stops the old pod before it "
            "starts the new one. Never install a second operator, or NVIDIA's, beside it.",
            False,
        ),
        Value(
            "watchNamespaces",
            [],
            {"type": "array", "items": _NAME, "uniqueItems": True},
            "The namespaces to serve, which must exist: the operator then only has a Role in each "
            "(docs/operate/rbac.md). Empty: all namespaces.",
            ["nim"],
        ),
        Value(
            "hardened",
            False,
            {"type": "boolean"},
            "Forbid what tenants rarely need (docs/operate/install.md#hardened). `env` can allow "
            "single things again, and `nemo.enabled` the NeMo services.",
            True,
        ),
        Value(
            "nemo.enabled",
            None,
            {"type": ["boolean", "null"]},
            "Serve the NeMo services. False takes away the permissions that only they need; their "
            "CRDs, their resources and their pods stay (docs/operate/install.md#nemo-services). "
            "Null: true, but false with `hardened`.",
            False,
        ),
        Value(
            "gpu.enabled",
            False,
            {"type": "boolean"},
            "Serve ClusterPolicies, too: the driver and all else that nodes need to offer GPUs "
            "(docs/user/gpu/README.md). Their CRD and the permissions come with it. Not with "
            "`watchNamespaces`, and not beside NVIDIA's GPU operator.",
            True,
        ),
        Value(
            "gpu.namespace",
            "",
            {"type": "string", "pattern": "^([a-z0-9]([a-z0-9-]*[a-z0-9])?)?$"},
            "The namespace of the driver and all else, which must exist; by default that of the "
            "operator.",
            "gpu-operator-resources",
        ),
        Value(
            "env",
            {},
            _variables_schema(project, own),
            f"Environment of the operator, as text: {VARIABLES} lists the variables. Others, "
            "such as HTTPS_PROXY, are passed on too.",
            {"HTTPS_PROXY": "http://proxy.example.com:3128"},
        ),
        Value(
            "crds.install",
            True,
            {"type": "boolean"},
            "Install and upgrade the CRDs. `helm uninstall` always keeps them, and with them all "
            "custom resources and models.",
            False,
        ),
        Value(
            "networkPolicy.enabled",
            True,
            {"type": "boolean"},
            "Limit who reaches the metrics, and where the operator connects to.",
            False,
        ),
        *_monitor_values(),
        *_pod_values(),
    ]


def _image_values(repository: str) -> list[Value]:
    return [
        Value(
            "image.repository",
            repository,
            {"type": "string", "minLength": 1},
            "The operator's image: build and push it as docs/operate/install.md says.",
            "registry.example.com/operator",
        ),
        Value("image.tag", "", {"type": "string"}, "By default the version of the chart.", "1"),
        Value(
            "image.digest",
            "",
            {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
            "Used instead of the tag, such as sha256:….",
            f"sha256:{'0' * 64}",
        ),
        Value(
            "image.pullPolicy",
            "",
            {"enum": ["", "Always", "IfNotPresent", "Never"]},
            "By default that of Kubernetes.",
            "Always",
        ),
        Value(
            "image.pullSecrets",
            [],
            {"type": "array", "items": {"type": "string"}},
            "Names of Secrets in the namespace of the operator.",
            ["registry"],
        ),
    ]


def _monitor_values() -> list[Value]:
    return [
        Value(
            "serviceMonitor.enabled",
            False,
            {"type": "boolean"},
            "Needs the Prometheus operator. The namespace of Prometheus needs the label "
            "`metrics: enabled`.",
            True,
        ),
        Value(
            "serviceMonitor.labels", {}, _TEXTS, "By which your Prometheus selects it.", {"a": "b"}
        ),
        Value(
            "serviceAccount.annotations",
            {},
            _TEXTS,
            "Of the operator's ServiceAccount.",
            {"a": "b"},
        ),
    ]


def _pod_values() -> list[Value]:
    return [
        Value(
            "podAnnotations", {}, _TEXTS, "Further annotations of the operator's pod.", {"a": "b"}
        ),
        Value("podLabels", {}, _TEXTS, "Further labels of the operator's pod.", {"a": "b"}),
        Value(
            "nodeSelector", {}, _TEXTS, "Of the operator's pod.", {"kubernetes.io/arch": "amd64"}
        ),
        Value("tolerations", [], _OBJECTS, "Of the operator's pod.", [{"operator": "Exists"}]),
        Value("affinity", {}, _MAP, "Of the operator's pod.", {"nodeAffinity": {}}),
        Value("priorityClassName", "", {"type": "string"}, "Of the operator's pod.", "high"),
        Value(
            "extraVolumes",
            [],
            _OBJECTS,
            "Further volumes of the operator's pod, such as a certificate authority.",
            [{"name": "ca", "configMap": {"name": "ca"}}],
        ),
        Value(
            "extraVolumeMounts",
            [],
            _OBJECTS,
            "Where they are mounted.",
            [{"name": "ca", "mountPath": "/etc/pki/tls/service-ca"}],
        ),
    ]


def read_flag(args: Sequence[str], name: str) -> str:
    """Return the value of a flag of the Deployment."""
    return next(arg.partition("=")[2] for arg in args if arg.startswith(f"--{name}="))


def read_variables(project: Project) -> dict[str, str]:
    """Return the documented variables of the operator, with their meaning."""
    found: dict[str, str] = {}
    for names, meaning in _ROW.findall((project.root / VARIABLES).read_text()):
        for name in re.findall(r"`([A-Z_]+)`", names):
            found.setdefault(name, _LINK.sub(r"\1", meaning).replace("`", ""))
    return found


def _variables_schema(project: Project, own: set[str]) -> Schema:
    """Documented variables have a description; the chart's own cannot be set twice."""
    documented = {
        name: {"type": "string", "description": meaning}
        for name, meaning in read_variables(project).items()
        if name not in own and "for tests" not in meaning
    }
    return {
        "type": "object",
        "properties": documented,
        "additionalProperties": {"type": "string"},
        "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "not": {"enum": sorted(own)}},
    }


def make_schema(values: Sequence[Value]) -> str:
    """Return values.schema.json. No unknown value is accepted: it would have no effect."""
    root = _object()
    for value in values:
        node = root
        *parents, name = value.path.split(".")
        for parent in parents:
            node = node["properties"].setdefault(parent, _object())
        node["properties"][name] = value.schema | {
            "description": value.doc,
            "default": value.default,
            "examples": [value.example],
        }
    # `global` comes from charts that include this one.
    root["properties"]["global"] = {"type": "object"}
    root["$schema"] = "http://json-schema.org/draft-07/schema#"
    off = {"properties": {"leaderElection": {"properties": {"enabled": {"const": False}}}}}
    one = {"properties": {"replicas": {"maximum": 1}}}
    gpu = {
        "required": ["gpu"],
        "properties": {
            "gpu": {"required": ["enabled"], "properties": {"enabled": {"const": True}}}
        },
    }
    all_namespaces = {"properties": {"watchNamespaces": {"maxItems": 0}}}
    root["allOf"] = [{"if": off, "then": one}, {"if": gpu, "then": all_namespaces}]
    return f"{json.dumps(root, indent=2, sort_keys=True, ensure_ascii=False)}\n"


def _object() -> Schema:
    return {"type": "object", "additionalProperties": False, "properties": {}}


def make_values_file(values: Sequence[Value]) -> str:
    """Return values.yaml: each default below its documentation."""
    lines = ["# Values of the chart nimops. values.schema.json has their types.", ""]
    opened: list[str] = []
    for value in values:
        *parents, name = value.path.split(".")
        if parents and parents != opened:
            lines.append(f"{parents[0]}:")
        opened = parents
        indent = "  " * len(parents)
        lines += textwrap.wrap(
            value.doc, 110, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# "
        )
        lines += textwrap.indent(to_yaml({name: value.default}).rstrip(), indent).splitlines()
    return "\n".join([*lines, ""])


def nest(path: str, value: Any) -> Mapping[str, Any]:
    """Return the value as Helm reads it from a file: `a.b` is b in a."""
    for name in reversed(path.split(".")):
        value = {name: value}
    nested: Mapping[str, Any] = value
    return nested
