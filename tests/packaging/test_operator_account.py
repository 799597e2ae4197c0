# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Each installation method limits its own account: it is the parameter of the policy."""

from __future__ import annotations

import copy
import subprocess
from pathlib import Path

import pytest
import yaml
from nimops_release.manifests import MANAGER, NAMESPACE, by_key, of_kind
from nimops_release.programs import run_program
from nimops_release.releases import POLICIES, write_admission

NAME = "operator-account"


def reference(items):
    """Where the policy finds its account, after checking the policy and its binding."""
    found = by_key(items)
    [binding] = [
        item for (kind, name), item in found.items() if kind == POLICIES[1] and NAME in name
    ]
    policy = found[POLICIES[0], binding["spec"]["policyName"]]
    assert policy["spec"]["paramKind"] == {"apiVersion": "v1", "kind": "ServiceAccount"}
    assert binding["spec"]["validationActions"] == ["Deny"]
    given = dict(binding["spec"]["paramRef"])
    # Without an account there is no token, and all other requests must succeed.
    assert given.pop("parameterNotFoundAction") == "Allow"
    return given


def limited(items):
    """Names and namespaces of the accounts that the policy limits."""
    given = reference(items)
    assert set(given) == {"namespace", "selector"}
    assert set(given["selector"]) == {"matchLabels"}
    wanted = given["selector"]["matchLabels"].items()
    return [
        (item["metadata"]["name"], given["namespace"])
        for item in of_kind(items, "ServiceAccount")
        if wanted <= item["metadata"]["labels"].items()
        and item["metadata"]["namespace"] == given["namespace"]
    ]


def account_of(items):
    """Name and namespace of the operator pod's account."""
    [deployment] = of_kind(items, "Deployment")
    name = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    return name, deployment["metadata"]["namespace"]


OVERLAYS = sorted(path.name for path in Path(__file__).parents[2].glob("config/overlays/*"))


@pytest.mark.parametrize("folder", ["default", *(f"overlays/{name}" for name in OVERLAYS)])
def test_overlay_accounts(config, folder):
    items = config(folder)
    assert limited(items) == [account_of(items)] == [(MANAGER, NAMESPACE)]


@pytest.mark.parametrize("folder", ["default", "overlays/gpu", "overlays/namespaced"])
def test_second_installation_account(project, tmp_path, folder):
    own = tmp_path / "own"
    own.mkdir()
    kustomization = {
        # kustomize accepts no absolute paths.
        "resources": ["../config/" + folder],
        "namespace": "other",
        "namePrefix": "my-",
        "nameSuffix": "-b",
    }
    (own / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    subprocess.run(["cp", "-r", str(project.root / "config"), str(tmp_path)], check=True)
    items = list(yaml.safe_load_all(run_program("kubectl", "kustomize", str(own))))
    assert limited(items) == [account_of(items)] == [(f"my-{MANAGER}-b", "other")]


def test_chart_account(chart, render):
    assert limited(render()) == [account_of(render())] == [(MANAGER, NAMESPACE)]
    text = run_program("helm", "template", "mine", str(chart), "--namespace", "other")
    items = [item for item in yaml.safe_load_all(text) if item]
    assert limited(items) == [account_of(items)] == [(MANAGER, "other")]


def test_admission_yaml_contents(project, config, tmp_path):
    write_admission(project, tmp_path)
    text = (tmp_path / "admission.yaml").read_text()
    items = list(yaml.safe_load_all(text))
    # OLM creates the account of the bundle, without our label: test_bundle.py.
    named = {"name": MANAGER, "namespace": NAMESPACE}
    assert reference(items) == named
    expected = copy.deepcopy(of_kind(config("default"), *POLICIES))
    [given] = [item["spec"]["paramRef"] for item in expected if "paramRef" in item["spec"]]
    del given["selector"]
    given |= named
    assert items == expected
    command = ["sed", f"s/namespace: {NAMESPACE}/namespace: mine/"]
    moved = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    assert f"{command[0]} '{command[1].replace('mine', 'OTHER')}' admission.yaml" in text
    moved_items = list(yaml.safe_load_all(moved))
    assert reference(moved_items) == {"name": MANAGER, "namespace": "mine"}
