# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What an optional part of the installation adds, and that config/default has nothing of it."""

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
    """A default kind, and a cluster-scoped one of a component."""
    loaded = generator.load()
    api, kind = (
        __import__(f"{generator.PACKAGE}._engine.{name}", fromlist=["_"])
        for name in ("api_resources", "kind")
    )

    def declare(name, **fields):
        functions = dict.fromkeys(("app", "reads", "desired", "assess"))
        return kind.Kind(name=name, plural=f"{name.lower()}s", **functions, **fields)

    loaded.declared = [
        declare("Agent", access=(kind.Access("Service", "read write", "address"),)),
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
    loaded.abouts = {item.name: "A kind." for item in loaded.declared}
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


def test_the_default_part_knows_nothing_of_a_component(files):
    for name in ("role.yaml", "node_role.yaml", "kustomization.yaml"):
        text = files[f"config/rbac/{name}"]
        assert "leet" not in text
        assert "gent" in text or name == "node_role.yaml"
    assert "Fleet" not in files["watches.yaml"]
    assert "fleet" not in files["config/crd/kustomization.yaml"]
    assert not [name for name in files if name.startswith("config/rbac/fleet")]


def test_watches_of_a_component_are_all(files):
    watched = yaml.safe_load(files["watches-fleet.yaml"])
    assert [item["kind"] for item in watched] == ["Agent", "Fleet"]
    past = {item["kind"] for item in watched[0]["blacklist"]}
    assert past == {"ConfigMap", "Node", "Pod"}
    [default] = yaml.safe_load(files["watches.yaml"])
    assert not default["blacklist"]


def test_a_kind_without_a_finalizer_is_only_watched(files):
    agent, fleet = (
        next(item for item in yaml.safe_load(files["watches-fleet.yaml"]) if item["kind"] == kind)
        for kind in ("Agent", "Fleet")
    )
    assert agent["finalizer"]["playbook"] == "playbooks/finalize.yml"
    assert "finalizer" not in fleet


def test_a_component_writes_in_the_namespace_of_the_operator_only(files):
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


def test_a_component_is_bound_to_the_operator(files):
    bindings = list(yaml.safe_load_all(files["config/components/fleet/role_binding.yaml"]))
    assert [(item["kind"], item["roleRef"]["kind"]) for item in bindings] == [
        ("ClusterRoleBinding", "ClusterRole"),
        ("RoleBinding", "Role"),
    ]
    account = {"kind": "ServiceAccount", "name": "nimops-controller-manager"}
    for item in bindings:
        assert item["roleRef"]["name"] == "nimops-fleet-role"
        assert item["subjects"] == [account | {"namespace": "nimops-system"}]


def test_a_component_lists_its_files_and_definitions(files):
    listed = yaml.safe_load(files["config/components/fleet/kustomization.yaml"])
    home = "config/components/fleet/"
    present = {name.removeprefix(home) for name in files if name.startswith(home)}
    patches = {patch["path"] for patch in listed["patches"]}
    assert {*listed["resources"], *patches, "kustomization.yaml"} == present | {"../../crd/bases"}
    definitions = yaml.safe_load(files["config/crd/bases/Kustomization"])
    assert definitions["resources"] == ["fleet.example.com_fleets.yaml"]
    [switch] = yaml.safe_load(files["config/components/fleet/switch.yaml"])
    assert switch["value"] == {"name": "NIMOPS_COMPONENT", "value": "fleet"}
