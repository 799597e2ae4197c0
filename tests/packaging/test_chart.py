# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Helm chart renders the same objects as config/."""

from __future__ import annotations

import copy
import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from nimops_release.errors import ReleaseError
from nimops_release.manifests import LOADER, MANAGER, NAMESPACE, Project, by_key, manager_of
from nimops_release.programs import run_program
from nimops_release.values import list_values, nest, read_variables, write_reference

ROOT = Path(__file__).resolve().parents[2]
VALUES = list_values(Project(ROOT), Project(ROOT).build("default"))
VERSION = Project(ROOT).version
LABELS = {
    "app.kubernetes.io/name": "nimops",
    "app.kubernetes.io/instance": "nimops",
    "app.kubernetes.io/version": VERSION,
    "app.kubernetes.io/managed-by": "Helm",
    "helm.sh/chart": f"nimops-{VERSION}",
}
HOOKED = {("Pod", "nimops-test")}
# Helm creates the release's own namespace with --create-namespace.
LEFT_OUT = {("Namespace", NAMESPACE)}


def as_helm(items):
    """The objects built by kustomize, with Helm's values and its protection of the CRDs."""
    found = {}
    for key, item in by_key(copy.deepcopy(items)).items():
        labels = item["metadata"].get("labels", {})
        if labels.get("app.kubernetes.io/managed-by") == "kustomize":
            labels["app.kubernetes.io/managed-by"] = "Helm"
        if item["kind"] == "CustomResourceDefinition":
            item["metadata"].setdefault("annotations", {})["helm.sh/resource-policy"] = "keep"
        item["metadata"]["labels"] = {**LABELS, **labels}
        found[key] = item
    return {key: item for key, item in found.items() if key not in LEFT_OUT}


def without_hooks(items):
    return {key: item for key, item in by_key(items).items() if key not in HOOKED}


@pytest.mark.parametrize(
    ("folder", "values"),
    [
        pytest.param("default", {}, id="default"),
        pytest.param("overlays/namespaced", {"watchNamespaces": ["nim"]}, id="namespaced"),
        pytest.param("overlays/hardened", {"hardened": True}, id="hardened"),
        pytest.param("overlays/prometheus", {"serviceMonitor": {"enabled": True}}, id="prometheus"),
        pytest.param(
            "overlays/monitoring",
            {name: {"enabled": True} for name in ("serviceMonitor", "rules", "dashboards")},
            id="monitoring",
        ),
        pytest.param("overlays/without-nemo", {"nemo": {"enabled": False}}, id="without-nemo"),
        pytest.param("overlays/gpu", {"gpu": {"enabled": True}}, id="gpu"),
        pytest.param(
            "overlays/without-leader-election",
            {"leaderElection": {"enabled": False}},
            id="without-leader-election",
        ),
    ],
)
def test_chart_equals_kustomize(config, render, folder, values):
    wanted, seen = as_helm(config(folder)), copy.deepcopy(without_hooks(render(values)))
    assert seen.keys() == wanted.keys()
    for key, item in wanted.items():
        if key == ("Deployment", MANAGER):
            # The order of independent environment variables is irrelevant.
            for side in (item, seen[key]):
                side["spec"]["template"]["spec"]["containers"][0]["env"].sort(
                    key=lambda e: e["name"]
                )
        assert seen[key] == item


def test_labels_left_out_of_selectors(render):
    """Selectors are immutable, and a label of a pod that names the chart's version restarts it."""
    ours = LABELS.keys() - {"app.kubernetes.io/name"}
    for item in render({"serviceMonitor": {"enabled": True}}):
        assert LABELS.items() - {("app.kubernetes.io/name", "nimops")} <= (
            item["metadata"]["labels"].items()
        )
        if "spec" in item and item["kind"] != "CustomResourceDefinition":
            assert not ours & set(re.findall(r"[a-z./]+", json.dumps(item["spec"]))), item["kind"]


@pytest.mark.parametrize("version", ["1.2.3-rc.1+build.7", f"1.2.3-{'a' * 80}"])
def test_labels_of_long_version(chart, tmp_path, version):
    """The label of the chart stays a valid value of a label."""
    copied = tmp_path / "nimops"
    shutil.copytree(chart, copied)
    file = copied / "Chart.yaml"
    file.write_text(re.sub(r"(?m)^version: .*", f"version: {version}", file.read_text()))
    text = run_program("helm", "template", "nimops", str(copied), "--show-only=templates/rbac.yaml")
    labels = {
        item["metadata"]["labels"]["helm.sh/chart"] for item in yaml.safe_load_all(text) if item
    }
    [label] = labels
    assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", label)


def test_service_monitor(render):
    given = {
        "interval": "45s",
        "relabelings": [{"action": "labeldrop", "regex": "pod"}],
        "metricRelabelings": [{"action": "drop", "sourceLabels": ["__name__"], "regex": "go_.*"}],
    }
    [plain], [changed] = (
        [item for item in render({"serviceMonitor": values}) if item["kind"] == "ServiceMonitor"]
        for values in ({"enabled": True}, {"enabled": True, **given})
    )
    [endpoint] = changed["spec"]["endpoints"]
    assert endpoint == plain["spec"]["endpoints"][0] | given


def test_metadata(chart, render, project):
    """What Helm and Artifact Hub show."""
    metadata = yaml.safe_load((chart / "Chart.yaml").read_text())
    publisher = project.publisher
    assert metadata["icon"].startswith(f"{publisher['repository']}/raw/main/")
    assert (ROOT / metadata["icon"].partition("/raw/main/")[2]).is_file()
    [maintainer] = metadata["maintainers"]
    assert maintainer["email"] == publisher["contact"]
    found = {key.partition("/")[2]: text for key, text in metadata["annotations"].items()}
    assert yaml.safe_load(found["images"]) == [
        {"name": "manager", "image": container_of(render({}))["image"]},
        {"name": "wait", "image": "busybox"},
    ]
    defined = {
        item["metadata"]["name"]: item["spec"]["names"]["kind"]
        for item in render({"gpu": {"enabled": True}})
        if item["kind"] == "CustomResourceDefinition"
    }
    listed = yaml.safe_load(found["crds"])
    assert {item["name"]: item["kind"] for item in listed} == defined
    assert all(item["description"] for item in listed)
    examples = {item["kind"] for item in yaml.safe_load(found["crdsExamples"])}
    assert examples == set(defined.values()) - {"ClusterPolicy", "NVIDIADriver"}
    assert found["operatorCapabilities"].lower() == "seamless upgrades"


@pytest.mark.parametrize("helm", ["helm", "helm4"])
def test_chart_lint(chart, helm):
    run_program(helm, "lint", "--strict", str(chart))


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"watchNamespaces": ["nim"], "hardened": True},
        {name: {"enabled": True} for name in ("gpu", "serviceMonitor", "rules", "dashboards")},
    ],
    ids=["default", "one namespace", "all"],
)
def test_chart_helm_4(chart, render, tmp_path, values):
    """Helm 4 renders the same objects."""
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps(values))
    options = ("nimops", str(chart), "-n", "nimops-system", "-f", str(file))
    text = run_program("helm4", "template", *options)
    assert by_key(item for item in yaml.load_all(text, LOADER) if item) == by_key(render(values))


@pytest.mark.parametrize("values", [{}, {"serviceMonitor": {"enabled": True}}], ids=str)
def test_keys_unique(chart, tmp_path, values):
    """Server-side apply refuses a key that is there twice, which Helm 3 does not notice."""
    file = tmp_path / "values.yaml"
    file.write_text(json.dumps(values))
    text = run_program("helm", "template", "nimops", str(chart), "-f", str(file))
    for node in yaml.compose_all(text, LOADER):
        assert [*repeated_keys(node)] == []


def repeated_keys(node):
    """The keys of a YAML document that a mapping has twice."""
    if isinstance(node, yaml.MappingNode):
        names = [key.value for key, _value in node.value]
        yield from {name for name in names if names.count(name) > 1}
        for _key, value in node.value:
            yield from repeated_keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from repeated_keys(value)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value.path)
def test_chart_every_value_has_effect(render, value):
    values = nest(value.path, value.example)
    if value.path.endswith(".labels"):
        default = nest(value.path.replace(".labels", ".enabled"), True)
        values = nest(value.path.rpartition(".")[0], {"enabled": True, "labels": value.example})
    elif value.path.startswith("serviceMonitor.") and value.path != "serviceMonitor.enabled":
        default = {"serviceMonitor": {"enabled": True}}
        values = {"serviceMonitor": {"enabled": True, **values["serviceMonitor"]}}
    elif value.path == "gpu.namespace":
        values = {"gpu": {"enabled": True, **values["gpu"]}}
        default = {"gpu": {"enabled": True}}
    else:
        default = {}
    # The CRDs are most of the text, and take most of the time.
    few = {} if value.path == "crds.install" else {"crds": {"install": False}}
    assert render(values | few) != render(default | few)
    assert render(nest(value.path, value.default) | few) == render(few)


@pytest.mark.parametrize("kind", ["ServiceMonitor", "PrometheusRule", "ConfigMap"])
def test_chart_monitoring_is_independent_of_namespaces(render, kind):
    """It is in the release's namespace, whatever namespaces the operator serves."""
    values = {name: {"enabled": True} for name in ("serviceMonitor", "rules", "dashboards")}
    everywhere, selected = (
        [item for item in render(values | more) if item["kind"] == kind]
        for more in ({}, {"watchNamespaces": ["nim"]})
    )
    assert everywhere == selected != []


def test_values_file_defaults(chart):
    text = (chart / "values.yaml").read_text()
    loaded = yaml.safe_load(text)
    for value in VALUES:
        found = loaded
        *_parents, name = value.path.split(".")
        for part in value.path.split("."):
            found = found[part]
        assert found == value.default
        lines = text.splitlines()
        [at] = [
            number
            for number, line in enumerate(lines)
            if line.strip().startswith(f"{name}:")
            and (len(line) - len(line.lstrip())) == 2 * value.path.count(".")
            and belongs(lines, number, value.path)
        ]
        assert lines[at - 1].strip().startswith("#")


def belongs(lines, number, path):
    """Whether a line is below the line of the first part of its path."""
    if "." not in path:
        return True
    above = [line for line in lines[:number] if line and not line.startswith((" ", "#"))]
    return above[-1] == f"{path.partition('.')[0]}:"


def leaves(node, path=""):
    for name, child in node["properties"].items():
        if child.get("additionalProperties") is False:
            yield from leaves(child, f"{path}{name}.")
        else:
            yield f"{path}{name}", child


def test_values_schema_keys(chart):
    schema = json.loads((chart / "values.schema.json").read_text())
    assert {path for path, _node in leaves(schema)} == {item.path for item in VALUES} | {"global"}
    assert all(node.get("description") for path, node in leaves(schema) if path != "global")
    variables = schema["properties"]["env"]["properties"]
    documented = read_variables(Project(ROOT)).keys()
    set_by_chart = set(schema["properties"]["env"]["propertyNames"]["not"]["enum"])
    assert len(variables) > 15
    assert variables.keys() == documented - set_by_chart - {"NIMOPS_TEST_REGISTRIES"}


def test_values_reference(chart):
    """docs/reference/chart-values.md has a row for each value."""
    schema = json.loads((chart / "values.schema.json").read_text())
    page = (ROOT / "docs/reference/chart-values.md").read_text()
    assert page == write_reference(schema), "run make generate"
    rows = re.findall(r"^\| `([\w.]+)` \|", page, re.M)
    assert sorted(rows) == sorted(item.path for item in VALUES)


@pytest.mark.parametrize(
    ("values", "output"),
    [
        pytest.param({"replica": 2}, "replica", id="unknown"),
        pytest.param({"image": {"tags": "1"}}, "tags", id="unknown, deeper"),
        pytest.param({"replicas": "2"}, "integer", id="type"),
        pytest.param({"image": {"digest": "sha256:1"}}, "pattern", id="digest"),
        pytest.param({"serviceMonitor": {"interval": "30"}}, "pattern", id="interval"),
        pytest.param({"env": {"NIMOPS_RUN_SECONDS": 60}}, "string", id="number as environment"),
        pytest.param({"env": {"WATCH_NAMESPACE": "nim"}}, "WATCH_NAMESPACE", id="own variable"),
        pytest.param(
            {"replicas": 2, "leaderElection": {"enabled": False}}, "replicas", id="two leaders"
        ),
        pytest.param({"watchNamespaces": ["a,b"]}, "pattern", id="namespaces in one text"),
        pytest.param(
            {"env": {"NIMOPS_COMPONENT": "gpu"}}, "NIMOPS_COMPONENT", id="without its role"
        ),
        pytest.param({"env": {"NIMOPS_NEMO": "on"}}, "NIMOPS_NEMO", id="without its permissions"),
        pytest.param({"nemo": {"enabled": "off"}}, "nemo", id="a word that is not a boolean"),
        pytest.param(
            {"gpu": {"enabled": True}, "watchNamespaces": ["nim"]},
            "watchNamespaces",
            id="nodes in some namespaces",
        ),
    ],
)
def test_values_schema_invalid(render, values, output):
    with pytest.raises(ReleaseError, match=output):
        render(values)


def container_of(items):
    [container] = manager_of(items)["spec"]["template"]["spec"]["containers"]
    return container


def env_of(items):
    return {item["name"]: item.get("value") for item in container_of(items)["env"]}


def test_env_overrides_hardened(render):
    values = {"hardened": True, "env": {"NIMOPS_HOST_PATHS": "/data", "NIMOPS_REGISTRIES": ""}}
    env = env_of(render(values))
    assert env["NIMOPS_HOST_PATHS"] == "/data"
    assert env["NIMOPS_REGISTRIES"] == ""
    assert env["NIMOPS_ROOT_USER"] == "forbid"


def rules_of(items, kind="ClusterRole"):
    return by_key(items)[kind, "nimops-manager-role"]["rules"]


@pytest.mark.parametrize(
    ("values", "is_on"),
    [
        ({}, True),
        ({"nemo": None}, True),
        ({"nemo": {"enabled": True}}, True),
        ({"hardened": True}, False),
        ({"hardened": True, "nemo": {"enabled": None}}, False),
        ({"hardened": True, "nemo": {"enabled": True}}, True),
        ({"hardened": True, "nemo": {"enabled": False}}, False),
        ({"gpu": {"enabled": True}, "nemo": {"enabled": False}}, False),
        ({"watchNamespaces": ["nim"], "nemo": {"enabled": False}}, False),
    ],
    ids=str,
)
def test_without_nemo(config, render, values, is_on):
    folder = "default" if is_on else "overlays/without-nemo"
    items = render(values)
    kind = "Role" if "watchNamespaces" in values else "ClusterRole"
    assert rules_of(items, kind) == rules_of(config(folder))
    assert env_of(items).get("NIMOPS_NEMO") == (None if is_on else "off")
    defined = [item for item in items if item["kind"] == "CustomResourceDefinition"]
    assert len([item for item in defined if ".apps.nvidia.com" in item["metadata"]["name"]]) == 9
    [container] = by_key(items)["Pod", "nimops-test"]["spec"]["containers"]
    [listed] = [item["value"] for item in container["env"] if item["name"] == "RESOURCES"]
    assert ("nemo" in listed) is is_on
    assert "nimcaches" in listed


def test_watch_namespaces_roles(render):
    items = render({"watchNamespaces": ["one", "two"]})
    places = {
        (item["kind"], item["metadata"]["namespace"])
        for item in items
        if item["metadata"]["name"].startswith("nimops-manager-role")
    }
    assert places == {(kind, name) for kind in ("Role", "RoleBinding") for name in ("one", "two")}
    assert env_of(items)["WATCH_NAMESPACE"] == "one,two"


def test_gpu_namespace(render):
    items = render({"gpu": {"enabled": True, "namespace": "gpu-operator-resources"}})
    found = by_key(items)
    for kind in ("Role", "RoleBinding"):
        item = found[kind, f"nimops-gpu-{'role' if kind == 'Role' else 'rolebinding'}"]
        assert item["metadata"]["namespace"] == "gpu-operator-resources"
    subjects = found["RoleBinding", "nimops-gpu-rolebinding"]["subjects"]
    assert [item["namespace"] for item in subjects] == [NAMESPACE]
    env = env_of(items)
    assert (env["NIMOPS_COMPONENT"], env["NIMOPS_GPU_NAMESPACE"]) == (
        "gpu",
        "gpu-operator-resources",
    )


def test_uninstall_keeps_definitions(render):
    for item in render({}):
        kept = item["metadata"].get("annotations", {}).get("helm.sh/resource-policy")
        assert (kept == "keep") is (item["kind"] == "CustomResourceDefinition")


def test_notes_kinds(chart, render):
    notes = (chart / "templates/NOTES.txt").read_text()
    lines = [line for line in notes.splitlines() if line.startswith("  kubectl delete ")]
    default, gpu = (set(line.split()[2].split(",")) for line in lines)
    defined = [
        {
            item["spec"]["names"]["plural"]
            for item in render(values)
            if item["kind"] == "CustomResourceDefinition"
        }
        for values in ({}, {"gpu": {"enabled": True}})
    ]
    assert [default, default | gpu] == defined
    assert not default & gpu


def test_hooks(chart, render):
    hooked = [
        (item["kind"], item["metadata"]["name"], item["metadata"]["annotations"]["helm.sh/hook"])
        for item in render({})
        if "helm.sh/hook" in item["metadata"].get("annotations", {})
    ]
    assert hooked == [("Pod", "nimops-test", "test")]
    # Helm never upgrades the files in crds/.
    assert not (chart / "crds").exists()


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ({}, "{registry}/nim-operator:{version}"),
        ({"repository": "r.example.com/o", "tag": "1"}, "r.example.com/o:1"),
        (
            {"tag": "1", "digest": f"sha256:{'a' * 64}"},
            "{registry}/nim-operator@sha256:" + "a" * 64,
        ),
    ],
)
def test_image_value(project, render, image, name):
    items = render({"image": image})
    pods = [container_of(items), by_key(items)["Pod", "nimops-test"]["spec"]["containers"][0]]
    assert [pod["image"] for pod in pods] == [
        name.format(version=project.version, registry=project.publisher["registry"])
    ] * 2


def test_helm_test_pod_privileges(render):
    pod = by_key(render({}))["Pod", "nimops-test"]["spec"]
    manager = manager_of(render({}))["spec"]["template"]["spec"]
    assert pod["securityContext"] == manager["securityContext"]
    assert pod["containers"][0]["securityContext"] == container_of(render({}))["securityContext"]
    selectors = [
        item["spec"].get("podSelector") or item["spec"].get("selector")
        for item in render({})
        if item["kind"] in ("NetworkPolicy", "Service", "PodDisruptionBudget")
    ]
    labels = by_key(render({}))["Pod", "nimops-test"]["metadata"]["labels"]
    assert len(selectors) == 4
    for selector in selectors:
        assert not selector.get("matchLabels", selector).items() <= labels.items()


def test_helm_test_pod_resources(render):
    def listed(values):
        [container] = by_key(render(values))["Pod", "nimops-test"]["spec"]["containers"]
        env = {item["name"]: item["value"] for item in container["env"]}
        return env["LEASE"], env["RESOURCES"].split()

    lease, paths = listed({})
    plurals = [
        item["spec"]["names"]["plural"]
        for item in render({})
        if item["kind"] == "CustomResourceDefinition"
    ]
    assert lease == "a0715c6e.nvidia.com"
    assert paths == [f"/apis/apps.nvidia.com/v1alpha1/{plural}" for plural in plurals]
    _lease, paths = listed({"watchNamespaces": ["one", "two"]})
    assert len(paths) == 2 * len(plurals)
    assert "/apis/apps.nvidia.com/v1alpha1/namespaces/two/nimcaches" in paths
    assert listed({"leaderElection": {"enabled": False}})[0] == ""
    _lease, paths = listed({"gpu": {"enabled": True}})
    assert set(paths[len(plurals) :]) == {
        "/apis/nvidia.com/v1/clusterpolicies",
        "/apis/nvidia.com/v1alpha1/nvidiadrivers",
    }
