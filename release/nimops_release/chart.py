# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The Helm chart, generated from the builds of config/default and its overlays."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from . import values
from .errors import ReleaseError
from .images import WAIT_IMAGE
from .manifests import (
    CAPABILITY,
    MANAGER_ROLE,
    NAMESPACE,
    Manifest,
    Project,
    by_key,
    key_of,
    manager_of,
    of_kind,
    read_samples,
    to_yaml,
)
from .templates import Hooks, guard, map_scalars

NAME = "nimops"
KUBERNETES = ">=1.30.0-0"
STATIC = Path(__file__).resolve().parents[1] / "chart"
ALL_NAMESPACES = "not $.Values.watchNamespaces"
ELECTION = "$.Values.leaderElection.enabled"
GPU = "$.Values.gpu.enabled"
NEMO = 'include "nimops.nemo" $'
GPU_NAMESPACE = "NIMOPS_GPU_NAMESPACE"
"""the variable of `gpu.namespace`"""
_FILES = {
    "CustomResourceDefinition": "crds",
    "ValidatingAdmissionPolicy": "admission",
    "ValidatingAdmissionPolicyBinding": "admission",
    "NetworkPolicy": "network_policies",
    "Service": "service",
    "ServiceAccount": "service_account",
    "Deployment": "deployment",
    "PodDisruptionBudget": "pod_disruption_budget",
    "ServiceMonitor": "service_monitor",
    "PrometheusRule": "rules",
    "ConfigMap": "dashboards",
}
"""template by kind; the other kinds are RBAC"""
_DASHBOARDS = "files/dashboards"
_SWITCHES = {
    "CustomResourceDefinition": "crds.install",
    "NetworkPolicy": "networkPolicy.enabled",
    "ServiceMonitor": "serviceMonitor.enabled",
    "PrometheusRule": "rules.enabled",
    "ConfigMap": "dashboards.enabled",
}
"""the value that determines whether a kind is rendered"""


class Chart:
    """The chart. Overlays define the effect of a value, so that each effect has one source."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._base = project.build("default")
        self._hooks = Hooks()

    def _overlay(self, name: str) -> Sequence[Manifest]:
        return self._project.build(f"overlays/{name}")

    def files(self) -> dict[str, str]:
        """Return the content of each file, by its path in the chart."""
        own = {*self._added_env("gpu"), *self._added_env("without-nemo"), GPU_NAMESPACE}
        listed = values.list_values(self._project, self._base, own)
        return {
            "Chart.yaml": to_yaml(self._metadata()),
            "values.yaml": values.make_values_file(listed),
            "values.schema.json": values.make_schema(listed),
            "README.md": self._readme(listed),
            "LICENSE": (self._project.root / "LICENSE").read_text(),
            "files/ready.py": (STATIC / "ready.py").read_text(),
            "templates/NOTES.txt": (STATIC / "NOTES.txt").read_text(),
            "templates/_helpers.tpl": self._fill("_helpers.tpl"),
            "templates/tests/ready.yaml": self._fill("test.yaml"),
            **self._verbatim(),
            **self._templates(),
        }

    def _verbatim(self) -> dict[str, str]:
        """Return the rules and dashboards, whose templates are those of Prometheus and Grafana."""
        items = self._overlay("monitoring")
        found = {
            _rules_file(item): to_yaml(item["spec"]) for item in of_kind(items, "PrometheusRule")
        }
        [dashboards] = of_kind(items, "ConfigMap")
        return found | {f"{_DASHBOARDS}/{name}": text for name, text in dashboards["data"].items()}

    def _metadata(self) -> Manifest:
        galaxy, publisher = self._project.galaxy, self._project.publisher
        return {
            "apiVersion": "v2",
            "name": NAME,
            "description": galaxy["description"],
            "type": "application",
            "version": self._project.version,
            "appVersion": self._project.version,
            "kubeVersion": KUBERNETES,
            "home": galaxy["homepage"],
            "sources": [galaxy["repository"]],
            "icon": f"{publisher['repository']}/raw/main/release/bundle/icon.svg",
            "maintainers": [
                {
                    "name": galaxy["authors"][0],
                    "email": publisher["contact"],
                    "url": galaxy["homepage"],
                }
            ],
            "keywords": galaxy["tags"],
            "annotations": self._annotations(),
        }

    def _annotations(self) -> dict[str, str]:
        """Return what Artifact Hub shows about the chart."""
        galaxy, version = self._project.galaxy, self._project.version
        definitions = [
            {
                "kind": item["spec"]["names"]["kind"],
                "version": item["spec"]["versions"][0]["name"],
                "name": item["metadata"]["name"],
                "displayName": item["spec"]["names"]["kind"],
                "description": _description(item),
            }
            for item in of_kind(self._objects(), "CustomResourceDefinition")
        ]
        image = _pod(manager_of(self._base))["containers"][0]["image"]
        links = [
            {"name": "Documentation", "url": galaxy["documentation"]},
            {"name": "Issues", "url": galaxy["issues"]},
        ]
        return {
            "artifacthub.io/category": "ai-machine-learning",
            "artifacthub.io/crds": to_yaml(definitions),
            "artifacthub.io/crdsExamples": to_yaml(read_samples(self._project)),
            "artifacthub.io/images": to_yaml(
                [{"name": "manager", "image": image}, {"name": "wait", "image": WAIT_IMAGE}]
            ),
            "artifacthub.io/license": galaxy["license"][0],
            "artifacthub.io/links": to_yaml(links),
            "artifacthub.io/operator": "true",
            "artifacthub.io/operatorCapabilities": CAPABILITY,
            "artifacthub.io/prerelease": str("-" in version).lower(),
        }

    def _readme(self, listed: Sequence[values.Value]) -> str:
        rows = "".join(
            f"| `{item.path}` | `{json.dumps(item.default)}` | {item.doc} |\n" for item in listed
        )
        return (
            f"# {NAME}\n\nThe operator of nimops.nim. To install, upgrade and uninstall it, see "
            f"{self._project.galaxy['documentation']}/operate/install.md.\n\n"
            f"| value | default | meaning |\n|---|---|---|\n{rows}"
        )

    def _fill(self, name: str) -> str:
        """Fill the values from config/ into a file of release/chart."""
        text = (STATIC / name).read_text()
        definitions = of_kind(self._base, "CustomResourceDefinition")
        resources = sorted(
            "/".join((spec["group"], spec["versions"][0]["name"], spec["names"]["plural"]))
            for spec in (item["spec"] for item in definitions)
        )
        [container] = _pod(manager_of(self._base))["containers"]
        without_nemo = self._added_env("without-nemo")
        hardened = {
            name: value
            for name, value in self._added_env("hardened").items()
            if name not in without_nemo
        }
        served = {
            name for rule in self._manager_rules("without-nemo") for name in rule["resources"]
        }
        nemo = [item for item in resources if item.rpartition("/")[2] not in served]
        filled = {
            "HARDENED_ENV": json.dumps(hardened, sort_keys=True),
            "WITHOUT_NEMO_ENV": json.dumps(without_nemo, sort_keys=True),
            "NEMO_RESOURCES": " ".join(map(json.dumps, nemo)),
            "GPU_ENV": json.dumps(self._added_env("gpu"), sort_keys=True),
            "GPU_NAMESPACE": GPU_NAMESPACE,
            "GPU_PATHS": " ".join(f'"{path}"' for path in self._gpu_paths()),
            "RESOURCES": " ".join(map(json.dumps, resources)),
            "LEASE": values.read_flag(container["args"], "leader-election-id"),
        }
        for key, value in filled.items():
            text = text.replace(f"@{key}@", value)
        return text

    def _templates(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for item in self._objects():
            if item["kind"] == "Namespace":
                # Helm creates the release's namespace with --create-namespace.
                continue
            name = f"templates/{_FILES.get(item['kind'], 'rbac')}.yaml"
            found[name] = found.get(name, "") + self._template(item)
        return found

    def _objects(self) -> list[Manifest]:
        """Return the objects of config/default, and the additional objects of overlays."""
        found = by_key(self._base)
        for name in ("namespaced", "monitoring", "gpu"):
            found |= {
                key: item for key, item in by_key(self._overlay(name)).items() if key not in found
            }
        return list(found.values())

    def _template(self, item: Manifest) -> str:
        own = self._label(self._hook(copy.deepcopy(item)))
        text = f"---\n{self._hooks.render(self._localize(own))}"
        for condition in self._conditions(item):
            text = guard(condition, text)
        if key_of(item) in by_key(self._overlay("namespaced")).keys() - by_key(self._base).keys():
            text = f"{{{{- range $namespace := .Values.watchNamespaces }}}}\n{text}{{{{- end }}}}\n"
        return text

    def _conditions(self, item: Manifest) -> list[str]:
        """Return the conditions under which an object is rendered."""
        key = key_of(item)
        found = []
        is_monitoring = (
            key in by_key(self._overlay("monitoring")).keys() - by_key(self._base).keys()
        )
        if key not in by_key(self._overlay("namespaced")) and not is_monitoring:
            found.append(ALL_NAMESPACES)
        if key not in by_key(self._overlay("without-leader-election")) and key in by_key(
            self._base
        ):
            found.append(ELECTION)
        if key in self._gpu_keys():
            found.append(GPU)
        if item["kind"] in _SWITCHES:
            found.append(f"$.Values.{_SWITCHES[item['kind']]}")
        return found

    def _localize(self, item: Manifest) -> Manifest:
        """Replace the fields that kustomize sets: the namespace and the managed-by label."""
        watched = self._hooks.mark("{{ $namespace }}")
        places = {
            ("namespace", NAMESPACE): self._hooks.mark("{{ $.Release.Namespace }}"),
            ("namespace", "nim"): watched,
            ("app.kubernetes.io/managed-by", "kustomize"): self._hooks.mark(
                "{{ $.Release.Service }}"
            ),
        }

        def change(key: str, value: Any) -> Any:
            return places.get((key, value), value) if isinstance(value, str) else value

        changed: Manifest = map_scalars(item, change)
        return changed

    def _label(self, item: Manifest) -> Manifest:
        """Add the labels that Helm recommends, not to pods: a new chart restarts no operator."""
        labels = item["metadata"].setdefault("labels", {})
        labels.setdefault("app.kubernetes.io/name", NAME)
        labels.setdefault("app.kubernetes.io/managed-by", "kustomize")
        labels[self._hooks.mark('{{- include "nimops.labels" $ | nindent @N@ }}')] = None
        return item

    def _hook(self, item: Manifest) -> Manifest:
        if key_of(item) in self._gpu_keys() and "namespace" in item["metadata"]:
            given = "{{ $.Values.gpu.namespace | default $.Release.Namespace }}"
            item["metadata"]["namespace"] = self._hooks.mark(given)
        hooked = {
            "ClusterRole": self._hook_role,
            "ConfigMap": self._hook_dashboards,
            "CustomResourceDefinition": self._hook_definition,
            "Deployment": self._hook_deployment,
            "NetworkPolicy": self._hook_policy,
            "PrometheusRule": self._hook_rules,
            "Role": self._hook_role,
            "ServiceAccount": self._hook_account,
            "ServiceMonitor": self._hook_monitor,
        }.get(item["kind"])
        if hooked:
            hooked(item)
        return item

    def _hook_definition(self, item: Manifest) -> None:
        # Deleting a definition deletes its resources, and with them models.
        item["metadata"].setdefault("annotations", {})["helm.sh/resource-policy"] = "keep"

    def _hook_role(self, item: Manifest) -> None:
        # With watchNamespaces, a Role with the same rules in each namespace.
        if item["metadata"]["name"] == MANAGER_ROLE:
            less = {_target(rule): rule for rule in self._manager_rules("without-nemo")}
            item["rules"] = [
                rule
                if rule == (kept := less.get(_target(rule)))
                else self._hooks.mark(_choice(NEMO, [rule], [kept] if kept else []))
                for rule in item["rules"]
            ]

    def _manager_rules(self, overlay: str) -> list[dict[str, Any]]:
        """Return the operator's rules in an overlay."""
        rules: list[dict[str, Any]] = by_key(self._overlay(overlay))["ClusterRole", MANAGER_ROLE][
            "rules"
        ]
        return rules

    def _hook_account(self, item: Manifest) -> None:
        given = "$.Values.serviceAccount.annotations"
        text = f"annotations: {{{{- toYaml {given} | nindent 4 }}}}\n"
        item["metadata"][self._hooks.mark(guard(given, text))] = None

    def _hook_monitor(self, item: Manifest) -> None:
        self._add(item["metadata"]["labels"], "serviceMonitor.labels")
        [endpoint] = item["spec"]["endpoints"]
        for name in ("interval", "relabelings", "metricRelabelings"):
            given = f"{{{{- with $.Values.serviceMonitor.{name} }}}}\n{name}: {{{{ toJson . }}}}\n"
            endpoint[self._hooks.mark(f"{given}{{{{- end }}}}")] = None

    def _hook_rules(self, item: Manifest) -> None:
        self._add(item["metadata"]["labels"], "rules.labels")
        item["spec"] = self._hooks.mark(
            f'{{{{- $.Files.Get "{_rules_file(item)}" | nindent @N@ }}}}'
        )

    def _hook_dashboards(self, item: Manifest) -> None:
        self._add(item["metadata"]["labels"], "dashboards.labels")
        files = f'($.Files.Glob "{_DASHBOARDS}/*.json").AsConfig'
        item["data"] = self._hooks.mark(f"{{{{- {files} | nindent @N@ }}}}")

    def _hook_policy(self, item: Manifest) -> None:
        direction = "egress" if "egress" in item["spec"] else "ingress"
        rules = item["spec"][direction]
        strict = by_key(self._overlay("hardened"))[key_of(item)]["spec"][direction]
        if [rule for rule in strict if rule not in rules]:
            name = item["metadata"]["name"]
            raise ReleaseError(f"config/overlays/hardened: {name} has rules that the chart lacks")
        item["spec"][direction] = [
            rule
            if rule in strict
            else self._hooks.mark(guard("not $.Values.hardened", to_yaml([rule])))
            for rule in rules
        ]

    def _hook_deployment(self, item: Manifest) -> None:
        spec = item["spec"]
        alone = manager_of(self._overlay("without-leader-election"))["spec"]
        spec["replicas"] = self._hooks.mark("{{ $.Values.replicas }}")
        election, none = (to_yaml({"strategy": side["strategy"]}) for side in (spec, alone))
        del spec["strategy"]
        spec[self._hooks.mark(guard(ELECTION, f"{election}{{{{- else }}}}\n{none}"))] = None
        template = spec["template"]
        self._add(template["metadata"]["annotations"], "podAnnotations")
        self._add(template["metadata"]["labels"], "podLabels")
        pod = template["spec"]
        for name in ("pullSecrets", "placement"):
            pod[self._hooks.mark(f'{{{{- include "nimops.{name}" $ | nindent @N@ }}}}')] = None
        self._add_items(pod, "volumes", "extraVolumes")
        [container] = pod["containers"]
        self._hook_container(container, _pod({"spec": alone})["containers"][0]["args"])

    def _hook_container(self, container: dict[str, Any], args_alone: Sequence[str]) -> None:
        container["image"] = self._hooks.mark('{{ include "nimops.image" $ | quote }}')
        pull = "{{- with $.Values.image.pullPolicy }}\nimagePullPolicy: {{ . }}\n{{- end }}"
        container[self._hooks.mark(pull)] = None
        container["resources"] = self._hooks.mark("{{- toYaml $.Values.resources | nindent @N@ }}")
        container["args"] = [self._argument(arg, args_alone) for arg in container["args"]]
        watched = '{{ join "," $.Values.watchNamespaces | quote }}'
        for entry in container["env"]:
            if entry["name"] == "WATCH_NAMESPACE":
                entry["value"] = self._hooks.mark(watched)
        container["env"].append(self._hooks.mark('{{- include "nimops.env" $ | nindent @N@ }}'))
        self._add_items(container, "volumeMounts", "extraVolumeMounts")

    def _argument(self, arg: str, args_alone: Sequence[str]) -> str:
        name, equals, _value = arg.partition("=")
        if name == "--max-concurrent-reconciles":
            return f"{name}{equals}{self._hooks.mark('{{ $.Values.maxConcurrentReconciles }}')}"
        if arg in args_alone:
            return arg
        return self._hooks.mark(guard(ELECTION, f"- {arg}\n"))

    def _added_env(self, overlay: str) -> Mapping[str, str]:
        """Return the variables that an overlay adds."""
        [container] = _pod(manager_of(self._base))["containers"]
        [changed] = _pod(manager_of(self._overlay(overlay)))["containers"]
        return {
            entry["name"]: entry.get("value", "")
            for entry in changed["env"]
            if entry not in container["env"]
        }

    def _gpu_keys(self) -> Set[tuple[str, str]]:
        """Return the objects that only config/overlays/gpu has."""
        return by_key(self._overlay("gpu")).keys() - by_key(self._base).keys()

    def _gpu_paths(self) -> list[str]:
        """Return the paths of the custom resources that require config/overlays/gpu."""
        specs = [
            item["spec"]
            for item in of_kind(self._overlay("gpu"), "CustomResourceDefinition")
            if key_of(item) in self._gpu_keys()
        ]
        return [
            f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
            for spec in specs
        ]

    def _add(self, owner: dict[str, Any], path: str) -> None:
        """Add the entries of a value to a mapping."""
        owner[self._hooks.mark(_entries(path))] = None

    def _add_items(self, owner: dict[str, Any], key: str, path: str) -> None:
        """Add the items of a value to a list."""
        owner[key].append(self._hooks.mark(_entries(path)))


def _description(definition: Manifest) -> str:
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return str(schema["description"])


def _rules_file(item: Manifest) -> str:
    return f"files/rules/{item['metadata']['name']}.yaml"


def _target(rule: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the identity of an RBAC rule: its API groups and resources."""
    return tuple(json.dumps(rule.get(name)) for name in ("apiGroups", "resources", "resourceNames"))


def _choice(condition: str, items: Sequence[Any], others: Sequence[Any]) -> str:
    """Return list items that depend on a condition."""
    otherwise = f"{{{{- else }}}}\n{to_yaml(others)}" if others else ""
    return guard(condition, f"{to_yaml(items)}{otherwise}")


def _entries(path: str) -> str:
    return f"{{{{- with $.Values.{path} }}}}\n{{{{- toYaml . | nindent @N@ }}}}\n{{{{- end }}}}"


def _pod(deployment: Manifest) -> dict[str, Any]:
    pod: dict[str, Any] = deployment["spec"]["template"]["spec"]
    return pod
