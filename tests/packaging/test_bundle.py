# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The OLM bundle contains the build of config/, and the catalog offers the bundle."""

from __future__ import annotations

import copy
import json
import subprocess
from pathlib import Path

import pytest
import yaml
from nimops_release.bundle import make_csv
from nimops_release.images import operator_images, rendered_images, sample_images, stack_images
from nimops_release.manifests import MANAGER, by_key, manager_of, of_kind
from nimops_release.programs import find_program, run_program
from nimops_release.releases import write_bundle

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def dist(project, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    write_bundle(project, folder)
    return folder


@pytest.fixture(scope="module")
def objects(dist):
    files = (dist / "bundle/manifests").iterdir()
    return by_key(yaml.safe_load(file.read_text()) for file in files)


@pytest.fixture(scope="module")
def csv(objects, project):
    return objects["ClusterServiceVersion", f"nimops.v{project.version}"]


def rules_of(items, *names):
    found = by_key(items)
    return [rule for kind, name in names for rule in found[kind, name]["rules"]]


def test_bundle_olm_validators(dist):
    command = [str(find_program("olm")), str(dist / "bundle")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # RBAC rules name no version, so this validator warns about a version that we do not use.
    output = [line for line in done.stderr.splitlines() if "horizontalpodautoscalers" not in line]
    assert (done.returncode, output) == (0, [])


def test_bundle_olm_validators_invalid(dist, tmp_path, csv):
    wrong = copy.deepcopy(csv)
    left_out = wrong["spec"]["customresourcedefinitions"]["owned"].pop(0)
    for file in (dist / "bundle/manifests").iterdir():
        (tmp_path / file.name).write_text(file.read_text())
    (tmp_path / "nimops.clusterserviceversion.yaml").write_text(yaml.safe_dump(wrong))
    command = [str(find_program("olm")), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert left_out["kind"] in done.stderr


def test_catalog_opm(dist, project, csv):
    run_program("opm", "validate", str(dist / "catalog"))
    text = (dist / "catalog/nimops/catalog.yaml").read_text()
    package, channel, bundle = yaml.safe_load_all(text)
    assert package["defaultChannel"] == channel["name"] == "stable"
    assert (
        [entry["name"] for entry in channel["entries"]]
        == [bundle["name"]]
        == [csv["metadata"]["name"]]
    )
    image, _wait = csv["spec"]["relatedImages"]
    assert image in bundle["relatedImages"]
    assert bundle["image"] == image["image"].replace("nim-operator:", "nim-operator-bundle:")


def test_csv_created(monkeypatch, project):
    """The time of the release, not of the build: the same tree gives the same bytes."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    csv = make_csv(project, project.build("default"))
    assert csv["metadata"]["annotations"]["createdAt"] == "2026-01-01T00:00:00Z"


def test_csv_features(csv):
    """OpenShift's catalog requires a value for each feature, as a string."""
    prefix = "features.operators.openshift.io/"
    found = {
        name.removeprefix(prefix): value
        for name, value in csv["metadata"]["annotations"].items()
        if name.startswith(prefix)
    }
    required = {"disconnected", "fips-compliant", "proxy-aware", "tls-profiles"}
    clouds = {f"token-auth-{cloud}" for cloud in ("aws", "azure", "gcp")}
    assert found.keys() == required | clouds | {"cnf", "cni", "csi"}
    assert set(found.values()) <= {"true", "false"}
    by_digest = all("@sha256:" in item["image"] for item in csv["spec"]["relatedImages"])
    assert found["disconnected"] == str(by_digest).lower()


def test_csv_related_images(csv, project):
    """The CSV lists the image of each pod, unless it is an image in a custom resource."""
    related = {item["image"] for item in csv["spec"]["relatedImages"]}
    assert related >= set(operator_images(project))
    deployed = rendered_images(project) - sample_images(project)
    of_stack = set(stack_images(project, "ubuntu24.04"))
    assert deployed - of_stack == related - set(operator_images(project)) != set()


LEVELS = ["Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"]
EVIDENCE = {
    "Basic Install": {
        "tests/installing/test_install_yaml.py": ["def test_install_yaml_idempotent("],
        "tests/packaging/test_bundle.py": [
            "def test_bundle_olm_validators(",
            "def test_csv_permissions(",
        ],
        "molecule/default/tasks/main_path_test.yml": ["The service lists the model's endpoints"],
    },
    "Seamless Upgrades": {
        "tests/installing/test_helm.py": ["def test_helm_life_cycle("],
        "tests/packaging/test_compatibility.py": [
            "def test_compare_compatible(",
            "def test_check_definitions_without_release(",
        ],
        "molecule/upgrade/tasks/replace.yml": ["Nothing was replaced, no pod template changed"],
        "molecule/node/tasks/upgrade.yml": ["To today's version, and back, and again"],
    },
}
"""Level → the tests that show it, by file: names of functions or of tasks."""


def test_capability_level_shown(csv):
    """Each level up to the claimed one has tests; no other is claimed."""
    claimed = csv["metadata"]["annotations"]["capabilities"]
    assert list(EVIDENCE) == LEVELS[: LEVELS.index(claimed) + 1]
    for level, files in EVIDENCE.items():
        for name, tests in files.items():
            text = (ROOT / name).read_text()
            assert [test for test in tests if test not in text] == [], level


def test_csv_permissions(config, csv):
    spec, items = csv["spec"]["install"]["spec"], config("default")
    inside = rules_of(
        items, ("Role", "nimops-leader-election-role"), ("ClusterRole", "nimops-manager-role")
    )
    outside = rules_of(items, ("ClusterRole", "nimops-node-role"))
    assert [item["serviceAccountName"] for item in spec["permissions"]] == [MANAGER]
    assert spec["permissions"][0]["rules"] == inside
    assert spec["clusterPermissions"] == [{"serviceAccountName": MANAGER, "rules": outside}]


def test_csv_deployment(config, csv):
    wanted = copy.deepcopy(manager_of(config("default")))
    [seen] = csv["spec"]["install"]["spec"]["deployments"]
    [container] = wanted["spec"]["template"]["spec"]["containers"]
    [watched] = [item for item in container["env"] if item["name"] == "WATCH_NAMESPACE"]
    assert watched.pop("value") == ""
    target = {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}
    watched["valueFrom"] = {"fieldRef": target}
    assert seen["spec"] == wanted["spec"]
    assert seen["name"] == wanted["metadata"]["name"]
    assert seen["label"].items() < wanted["metadata"]["labels"].items()


def test_csv_owned_definitions(config, csv, objects):
    wanted = of_kind(config("default"), "CustomResourceDefinition")
    assert of_kind(objects.values(), "CustomResourceDefinition") != []
    for item in wanted:
        assert objects["CustomResourceDefinition", item["metadata"]["name"]] == item
    owned = csv["spec"]["customresourcedefinitions"]["owned"]
    assert [(item["name"], item["kind"]) for item in owned] == [
        (item["metadata"]["name"], item["spec"]["names"]["kind"]) for item in wanted
    ]
    assert all(item["description"] for item in owned)
    examples = json.loads(csv["metadata"]["annotations"]["alm-examples"])
    assert {item["kind"] for item in examples} == {item["kind"] for item in owned}


def test_bundle_contents_complete(config, objects):
    left_out = {key for key in by_key(config("default")) if key not in objects}
    assert {kind for kind, _name in left_out} == {
        "Namespace",
        "ServiceAccount",
        "Deployment",
        "Role",
        "RoleBinding",
        "ClusterRole",
        "ClusterRoleBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }
    assert {name for kind, name in left_out if kind == "ClusterRole"} == {
        "nimops-manager-role",
        "nimops-node-role",
    }


def test_bundle_objects_localized(config, objects):
    wanted = by_key(config("default"))
    for key, item in objects.items():
        if key[0] == "ClusterServiceVersion":
            continue
        assert "namespace" not in item["metadata"]
        assert "app.kubernetes.io/managed-by" not in item["metadata"].get("labels", {})
        assert {part: item[part] for part in item if part != "metadata"} == {
            part: wanted[key][part] for part in wanted[key] if part != "metadata"
        }


def test_bundle_version(csv, project):
    version = project.version
    [container] = csv["spec"]["install"]["spec"]["deployments"][0]["spec"]["template"]["spec"][
        "containers"
    ]
    assert csv["spec"]["version"] == version
    assert container["image"].endswith(f":{version}")
    assert csv["metadata"]["annotations"]["olm.skipRange"] == f"<{version}"
    assert f"release {version}:" in csv["spec"]["description"]
