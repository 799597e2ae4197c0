# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Additions by an optional part of the installation, and config/default without a part."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def generator(load_module):
    return load_module(ROOT / "hack/generate_kinds.py")


@pytest.fixture(scope="module")
def kinds(generator):
    """A permanent kind, an optional kind, and a cluster-scoped kind of a component."""
    loaded = generator.load()
    api, kind = (
        __import__(f"{generator.PACKAGE}._engine.{name}", fromlist=["_"])
        for name in ("api_resources", "kind")
    )

    def declare(name, **fields):
        functions = dict.fromkeys(("app", "reads", "desired", "assess"))
        return kind.Kind(name=name, plural=f"{name.lower()}s", **functions, **fields)

    loaded.declared = [
        declare(
            "Agent",
            access=(kind.Access("Service", "read write", "address"),),
            rules=(kind.Rule("x.io", "constraints", "use", "granted", names="one"),),
        ),
        declare(
            "Scout",
            component="nemo",
            access=(
                kind.Access("Service", "read write delete", "address"),
                kind.Access("Secret", "read", "keys"),
            ),
            rules=(
                kind.Rule("", "secrets", "list", "granted"),
                kind.Rule("x.io", "constraints", "use", "granted", names="one"),
                kind.Rule("y.io", "constraints", "use", "granted", names="one two"),
            ),
        ),
        declare(
            "Fleet",
            group="fleet.example.com",
            version="v1",
            is_namespaced=False,
            has_finalizer=False,
            component="fleet",
            access=(
                kind.Access("Node", "list patch", "labels"),
                kind.Access("Deployment", "read write delete", "pods"),
                kind.Access("ConfigMap", "read write", "scripts"),
                kind.Access("Pod", "list delete", "outdated pods"),
            ),
            rules=(
                kind.Rule("", "nodes", "watch", "news of nodes"),
                kind.Rule("", "pods", "create", "a child is granted it", is_local=True),
                kind.Rule("", "pods/eviction", "create", "drains nodes"),
                kind.Rule("x.io", "constraints", "use", "granted", names="all", is_local=True),
            ),
        ),
    ]
    loaded.descriptions = {item.name: "A kind." for item in loaded.declared}
    loaded.folders = {item.name: f"_{item.singular}" for item in loaded.declared}
    for item in loaded.declared:
        loaded.resources[item.name] = api.ApiResource(
            item.api_version, item.plural, item.is_namespaced
        )
    return loaded


@pytest.fixture(scope="module")
def files(generator, kinds):
    return generator.generate(kinds)


def verbs(role):
    return {
        f"{group}/{resource}".lstrip("/"): " ".join(rule["verbs"])
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def test_default_without_component(files):
    for name in ("role.yaml", "node_role.yaml", "kustomization.yaml"):
        text = files[f"config/rbac/{name}"]
        assert "leet" not in text
        assert "gent" in text or name == "node_role.yaml"
    assert "Fleet" not in files["watches.yaml"]
    assert "fleet" not in files["config/crd/kustomization.yaml"]
    assert "scouts" in files["config/crd/kustomization.yaml"]
    assert not [name for name in files if name.startswith("config/rbac/fleet")]


def test_component_watches(files):
    parts = {
        name: yaml.safe_load(text) for name, text in files.items() if name.startswith("watches")
    }
    assert {name: [item["kind"] for item in watched] for name, watched in parts.items()} == {
        "watches.yaml": ["Agent", "Scout"],
        "watches-nim.yaml": ["Agent"],
        "watches-nemo.yaml": ["Scout"],
        "watches-fleet.yaml": ["Fleet"],
        "watches-nim-by-role.yaml": ["Agent"],
        "watches-nemo-by-role.yaml": ["Scout"],
        "watches-fleet-by-role.yaml": ["Fleet"],
    }
    assert {
        name: {entry["kind"] for entry in watched[0]["blacklist"] or ()}
        for name, watched in parts.items()
    } == {
        "watches.yaml": set(),
        "watches-nim.yaml": set(),
        "watches-nemo.yaml": {"Secret"},
        "watches-fleet.yaml": {"ConfigMap", "Node", "Pod"},
        "watches-nim-by-role.yaml": set(),
        "watches-nemo-by-role.yaml": {"Secret"},
        "watches-fleet-by-role.yaml": {"ConfigMap", "Node", "Pod"},
    }


def test_component_watches_by_role(files):
    [agent], [fleet] = (
        yaml.safe_load(files[f"watches-{name}-by-role.yaml"]) for name in ("nim", "fleet")
    )
    assert (agent["role"], agent["finalizer"]["role"]) == ("nimops.nim.agent", "nimops.nim.agent")
    assert fleet["role"] == "nimops.nim.fleet"
    assert "playbook" not in agent


def test_kind_without_finalizer(files):
    [agent], [fleet] = (yaml.safe_load(files[f"watches-{name}.yaml"]) for name in ("nim", "fleet"))
    assert agent["finalizer"]["playbook"] == "playbooks/finalize.yml"
    assert "finalizer" not in fleet


def test_default_with_optional_part(files):
    held = verbs(yaml.safe_load(files["config/rbac/role.yaml"]))
    assert held["services"] == "get list watch create patch delete"
    assert held["secrets"] == "get list"
    assert "config/rbac/scout_viewer_role.yaml" in files
    listed = yaml.safe_load(files["config/rbac/kustomization.yaml"])["resources"]
    assert "scout_viewer_role.yaml" in listed


def test_optional_part_verbs(files):
    [patch] = yaml.safe_load(files["config/components/without-nemo/role.yaml"])
    assert (patch["op"], patch["path"]) == ("replace", "/rules")
    assert verbs({"rules": patch["value"]}) == {
        "events": "create patch",
        "pods": "list watch",
        "services": "get list watch create patch",
        "apps.nvidia.com/agents": "get list watch update patch",
        "apps.nvidia.com/agents/finalizers": "update",
        "apps.nvidia.com/agents/status": "update patch",
        "x.io/constraints": "use",
    }


def test_optional_part_restored(files):
    text = files["config/components/nemo/role.yaml"]
    patches = yaml.safe_load(text)
    assert {(patch["op"], patch["path"]) for patch in patches} == {("add", "/rules/-")}
    rules = [patch["value"] for patch in patches]
    assert verbs({"rules": rules}) == {
        "secrets": "get list",
        "services": "delete",
        "apps.nvidia.com/scouts": "get list watch update patch",
        "apps.nvidia.com/scouts/finalizers": "update",
        "apps.nvidia.com/scouts/status": "update patch",
        "y.io/constraints": "use",
    }
    assert [rule["resourceNames"] for rule in rules if "resourceNames" in rule] == [["one", "two"]]
    assert "# Scout: address\n- op: add\n" in text


@pytest.mark.parametrize(("name", "value"), [("nemo", "on"), ("without-nemo", "off")])
def test_switch_variables(files, name, value):
    home = f"config/components/{name}"
    listed = yaml.safe_load(files[f"{home}/kustomization.yaml"])
    assert listed["kind"] == "Component"
    assert {f"{home}/{patch['path']}" for patch in listed["patches"]} == {
        path for path in files if path.startswith(f"{home}/") and "kustomization" not in path
    }
    switch = yaml.safe_load(files[f"{home}/switch.yaml"])
    [container] = switch["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "NIMOPS_NEMO", "value": value}]


def test_component_writes_own_namespace(files):
    everywhere, near = yaml.safe_load_all(files["config/components/fleet/role.yaml"])
    assert (everywhere["kind"], everywhere["metadata"]["name"]) == (
        "ClusterRole",
        "nimops-fleet-role",
    )
    assert "namespace" not in everywhere["metadata"]
    assert verbs(everywhere) == {
        "nodes": "list watch patch",
        "pods": "list",
        "pods/eviction": "create",
        "apps/deployments": "get list watch",
        "fleet.example.com/fleets": "get list watch patch",
        "fleet.example.com/fleets/finalizers": "update",
        "fleet.example.com/fleets/status": "update patch",
    }
    assert (near["kind"], near["metadata"]["namespace"]) == ("Role", "nimops-system")
    assert verbs(near) == {
        "configmaps": "get create patch",
        "pods": "create delete",
        "apps/deployments": "create patch delete",
        "x.io/constraints": "use",
    }
    [limited] = [rule for rule in near["rules"] if "resourceNames" in rule]
    assert limited["resourceNames"] == ["all"]


def test_component_bindings(files):
    bindings = list(yaml.safe_load_all(files["config/components/fleet/role_binding.yaml"]))
    assert [(item["kind"], item["roleRef"]["kind"]) for item in bindings] == [
        ("ClusterRoleBinding", "ClusterRole"),
        ("RoleBinding", "Role"),
    ]
    account = {"kind": "ServiceAccount", "name": "nimops-controller-manager"}
    for item in bindings:
        assert item["roleRef"]["name"] == "nimops-fleet-role"
        assert item["subjects"] == [account | {"namespace": "nimops-system"}]


def test_component_files(files):
    listed = yaml.safe_load(files["config/components/fleet/kustomization.yaml"])
    home = "config/components/fleet/"
    present = {name.removeprefix(home) for name in files if name.startswith(home)}
    patches = {patch["path"] for patch in listed["patches"]}
    assert {*listed["resources"], *patches, "kustomization.yaml"} == present | {"../../crd/bases"}
    definitions = yaml.safe_load(files["config/crd/bases/Kustomization"])
    assert definitions["resources"] == ["fleet.example.com_fleets.yaml"]
    [switch] = yaml.safe_load(files["config/components/fleet/switch.yaml"])
    assert switch["value"] == {"name": "NIMOPS_COMPONENT", "value": "fleet"}
