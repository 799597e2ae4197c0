# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The values of the Helm chart: their defaults, their documentation and their schema."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    """One value. `example`: a value other than the default that changes the rendered chart."""

    path: str
    default: Any
    schema: Schema
    doc: str
    example: Any


def list_values(
    project: Project, items: Sequence[Manifest], own_env: Iterable[str] = ()
) -> list[Value]:
    """Return all values, with the settings of config/default as defaults.

    ``own_env``: the variables that are set by values other than `env`.
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
            "One replica is enough (models keep serving while the operator is down); further "
            "replicas are standbys.",
            2,
        ),
        Value(
            "resources",
            container["resources"],
            _MAP,
            "Resources of the operator's container. More concurrent reconciles need more memory.",
            {"limits": {"memory": "3Gi"}},
        ),
        Value(
            "maxConcurrentReconciles",
            int(parallel),
            {"type": "integer", "minimum": 1},
            "Concurrent reconciles per kind.",
            2,
        ),
        Value(
            "leaderElection.enabled",
            True,
            {"type": "boolean"},
            "False: run without a Lease, with one replica only; an update stops the old pod before "
            "it starts the new one. Never install another operator, such as NVIDIA's, beside it.",
            False,
        ),
        Value(
            "watchNamespaces",
            [],
            {"type": "array", "items": _NAME, "uniqueItems": True},
            "The namespaces to serve, which must exist: the operator then only gets a Role in each "
            "(docs/operate/rbac.md). Empty: all namespaces.",
            ["nim"],
        ),
        Value(
            "hardened",
            False,
            {"type": "boolean"},
            "Forbid features that tenants rarely need (docs/operate/install.md#hardened). `env` can"
            " allow individual features again, and `nemo.enabled` the NeMo services.",
            True,
        ),
        Value(
            "nemo.enabled",
            None,
            {"type": ["boolean", "null"]},
            "Serve the NeMo services. False removes the permissions that only they need; their "
            "CRDs, their resources and their pods stay (docs/operate/install.md#nemo-services). "
            "Null: true, or false with `hardened`.",
            False,
        ),
        Value(
            "gpu.enabled",
            False,
            {"type": "boolean"},
            "Also serve ClusterPolicies: the driver and everything else that nodes need for GPUs "
            "(docs/user/gpu/README.md). Installs their CRD and permissions. Not possible with "
            "`watchNamespaces` or alongside NVIDIA's GPU operator.",
            True,
        ),
        Value(
            "gpu.namespace",
            "",
            {"type": "string", "pattern": "^([a-z0-9]([a-z0-9-]*[a-z0-9])?)?$"},
            "The existing namespace of the driver and the other components; by default that of the "
            "operator.",
            "gpu-operator-resources",
        ),
        Value(
            "env",
            {},
            _variables_schema(project, own),
            f"Environment variables of the operator, as strings: see {VARIABLES}. Other variables, "
            "such as HTTPS_PROXY, are passed on as well.",
            {"HTTPS_PROXY": "http://proxy.example.com:3128"},
        ),
        Value(
            "crds.install",
            True,
            {"type": "boolean"},
            "Install and upgrade the CRDs. `helm uninstall` always keeps them, along with all "
            "custom resources and models.",
            False,
        ),
        Value(
            "networkPolicy.enabled",
            True,
            {"type": "boolean"},
            "Limit access to the metrics, and the operator's outgoing connections.",
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
            "The operator's image: to build and push it, see docs/operate/install.md.",
            "registry.example.com/operator",
        ),
        Value(
            "image.tag",
            "",
            {"type": "string"},
            "The image tag; by default the version of the chart.",
            "1",
        ),
        Value(
            "image.digest",
            "",
            {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
            "The image digest, such as sha256:…, used instead of the tag.",
            f"sha256:{'0' * 64}",
        ),
        Value(
            "image.pullPolicy",
            "",
            {"enum": ["", "Always", "IfNotPresent", "Never"]},
            "The pull policy; by default that of Kubernetes.",
            "Always",
        ),
        Value(
            "image.pullSecrets",
            [],
            {"type": "array", "items": {"type": "string"}},
            "Names of image pull Secrets in the operator's namespace.",
            ["registry"],
        ),
    ]


def _monitor_values() -> list[Value]:
    return [
        Value(
            "serviceMonitor.enabled",
            False,
            {"type": "boolean"},
            "Create a ServiceMonitor. Requires the Prometheus operator, and the label "
            "`metrics: enabled` on the namespace of Prometheus.",
            True,
        ),
        Value(
            "serviceMonitor.labels",
            {},
            _TEXTS,
            "Labels that your Prometheus uses to select the ServiceMonitor.",
            {"a": "b"},
        ),
        Value(
            "serviceMonitor.interval",
            "",
            {"type": "string", "pattern": "^(([0-9]+(ms|s|m|h))+)?$"},
            "The interval of scrapes, such as 30s; by default that of Prometheus.",
            "30s",
        ),
        Value(
            "serviceMonitor.relabelings",
            [],
            _OBJECTS,
            "Relabelings of the target, before a scrape.",
            [{"action": "labeldrop", "regex": "pod"}],
        ),
        Value(
            "serviceMonitor.metricRelabelings",
            [],
            _OBJECTS,
            "Relabelings of the metrics, after a scrape.",
            [{"action": "drop", "sourceLabels": ["__name__"], "regex": "go_.*"}],
        ),
        Value(
            "rules.enabled",
            False,
            {"type": "boolean"},
            "Create PrometheusRules: recording rules, and alerts with runbooks "
            "(docs/operate/monitoring.md). Requires the Prometheus operator.",
            True,
        ),
        Value(
            "rules.labels",
            {},
            _TEXTS,
            "Labels that your Prometheus uses to select the PrometheusRules.",
            {"a": "b"},
        ),
        Value(
            "dashboards.enabled",
            False,
            {"type": "boolean"},
            "Create a ConfigMap with the dashboards, labeled for the sidecar of Grafana's chart.",
            True,
        ),
        Value(
            "dashboards.labels",
            {},
            _TEXTS,
            "Labels that your Grafana uses to select the dashboards.",
            {"a": "b"},
        ),
        Value(
            "serviceAccount.annotations",
            {},
            _TEXTS,
            "Annotations of the operator's ServiceAccount.",
            {"a": "b"},
        ),
    ]


def _pod_values() -> list[Value]:
    return [
        Value(
            "podAnnotations",
            {},
            _TEXTS,
            "Additional annotations of the operator's pod.",
            {"a": "b"},
        ),
        Value("podLabels", {}, _TEXTS, "Additional labels of the operator's pod.", {"a": "b"}),
        Value(
            "nodeSelector",
            {},
            _TEXTS,
            "Node selector of the operator's pod.",
            {"kubernetes.io/arch": "amd64"},
        ),
        Value(
            "tolerations",
            [],
            _OBJECTS,
            "Tolerations of the operator's pod.",
            [{"operator": "Exists"}],
        ),
        Value("affinity", {}, _MAP, "Affinity of the operator's pod.", {"nodeAffinity": {}}),
        Value(
            "priorityClassName",
            "",
            {"type": "string"},
            "Priority class of the operator's pod.",
            "high",
        ),
        Value(
            "extraVolumes",
            [],
            _OBJECTS,
            "Additional volumes of the operator's pod, such as a certificate authority.",
            [{"name": "ca", "configMap": {"name": "ca"}}],
        ),
        Value(
            "extraVolumeMounts",
            [],
            _OBJECTS,
            "Mounts of `extraVolumes`.",
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
    """The schema of `env`: describes documented variables and excludes the chart's own."""
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
    """Return values.schema.json, which rejects unknown values, as they would have no effect."""
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
    # Charts that include this one set `global`.
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
    """Return values.yaml, with each default below its documentation."""
    lines = ["# Values of the chart nimops. Their types are in values.schema.json.", ""]
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
    """Return the value as a nested mapping: the path `a.b` is the key b in a."""
    for name in reversed(path.split(".")):
        value = {name: value}
    nested: Mapping[str, Any] = value
    return nested


_REFERENCE_HEAD = """# Values of the chart

<!-- Generated by hack/generate_chart_values.py from values.schema.json of the chart. -->

The values of [the Helm chart](../operate/install.md#helm). Helm refuses values of another type or
form, and unknown ones.

| value | type | default | meaning |
|---|---|---|---|
"""
_PATH = re.compile(r"\bdocs/([a-z]+/[\w./-]+\.md(?:#[\w-]+)?)")


def write_reference(schema: Schema) -> str:
    """Return the page of values.schema.json: a row for each value."""
    rows = "".join(
        f"| `{path}` | {_type_of(node)} | `{json.dumps(node['default'])}` | {_link(node)} |\n"
        for path, node in _leaves(schema)
        if "description" in node
    )
    return _REFERENCE_HEAD + rows


def _leaves(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield the values with their schemas."""
    for name, node in schema["properties"].items():
        if "default" not in node and "properties" in node:
            yield from _leaves(node, f"{path}{name}.")
        else:
            yield f"{path}{name}", node


def _type_of(node: Schema) -> str:
    """Return the type of a value in words; the schema has its pattern."""
    if "enum" in node:
        return ", ".join(f"`{json.dumps(value)}`" for value in node["enum"])
    kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
    words = " or ".join(kinds)
    if "array" in kinds:
        words = f"list of {node['items']['type']}s"
    elif isinstance(node.get("additionalProperties"), dict):
        words = f"map of {node['additionalProperties']['type']}s"
    if "minimum" in node:
        words += f", at least {node['minimum']}"
    return words


def _link(node: Schema) -> str:
    """Return the description, with links to the documents that it names."""
    return _PATH.sub(r"[\1](../\1)", str(node["description"]).replace("|", "\\|"))
