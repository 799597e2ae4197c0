# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The manifests hang together: kustomizations, the manager, its image, the samples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import API_VERSION

ROOT = Path(__file__).resolve().parents[3]
CONFIG = ROOT / "config"
VERSION = yaml.safe_load((ROOT / "galaxy.yml").read_text())["version"]
PACKAGES = sorted(path.parent for path in CONFIG.rglob("kustomization.yaml"))
SAMPLES = sorted((CONFIG / "samples").glob("*.yaml"))


def load_all(path: Path) -> list[dict]:
    return [item for item in yaml.safe_load_all(path.read_text()) if item]


def load_manager() -> dict:
    return next(
        item
        for item in load_all(CONFIG / "manager" / "manager.yaml")
        if item["kind"] == "Deployment"
    )


def flag(name: str) -> str:
    container = load_manager()["spec"]["template"]["spec"]["containers"][0]
    return next(
        arg.partition("=")[2] or "true"
        for arg in container["args"]
        if arg.partition("=")[0] == f"--{name}"
    )


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda path: path.name)
def test_kustomization_lists_every_file_of_its_folder(folder):
    content = yaml.safe_load((folder / "kustomization.yaml").read_text())
    listed = {*content["resources"], *(patch["path"] for patch in content.get("patches", []))}
    assert all((folder / item).exists() for item in listed)
    present = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
    assert present - listed == set()


def test_crd_kustomization_lists_every_base():
    listed = yaml.safe_load((CONFIG / "crd" / "kustomization.yaml").read_text())["resources"]
    assert listed == sorted(
        f"bases/{path.name}" for path in (CONFIG / "crd" / "bases").glob("*.yaml")
    )


def test_manager_fits_the_restricted_pod_security_standard():
    pod = load_manager()["spec"]["template"]["spec"]
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    for container in pod["containers"]:
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert set(container["resources"]) == {"limits", "requests"}


@pytest.mark.parametrize(
    ("probe", "path"), [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")]
)
def test_probes_ask_where_the_operator_answers(probe, path):
    container = load_manager()["spec"]["template"]["spec"]["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    action = container[probe]["httpGet"]
    assert action["path"] == path
    assert f":{ports[action['port']]}" == flag("health-probe-bind-address")


def test_metrics_port_is_the_one_that_service_and_network_policy_name():
    port = int(flag("metrics-bind-address").removeprefix(":"))
    service = load_all(CONFIG / "default" / "metrics_service.yaml")[0]
    assert [item["targetPort"] for item in service["spec"]["ports"]] == [port]
    policy = load_all(CONFIG / "network-policy" / "allow-metrics-and-health.yaml")[0]
    guarded = {
        item["port"]
        for rule in policy["spec"]["ingress"]
        if "from" in rule
        for item in rule["ports"]
    }
    assert guarded == {port}


def test_leader_election_shares_the_lease_of_the_reference():
    assert flag("leader-elect") == "true"
    assert flag("leader-election-id") == "a0715c6e.nvidia.com"
    leases = [
        rule
        for rule in load_all(CONFIG / "rbac" / "leader_election_role.yaml")[0]["rules"]
        if "leases" in rule["resources"]
    ]
    named = [rule for rule in leases if "resourceNames" in rule]
    assert [rule["resourceNames"] for rule in named] == [["a0715c6e.nvidia.com"]]


def test_one_version_everywhere():
    container = load_manager()["spec"]["template"]["spec"]["containers"][0]
    env = {item["name"]: item.get("value") for item in container["env"]}
    images = yaml.safe_load((CONFIG / "manager" / "kustomization.yaml").read_text())["images"]
    in_image = re.search(r"^ARG OPERATOR_VERSION=(\S+)$", (ROOT / "Dockerfile").read_text(), re.M)
    assert {env["OPERATOR_VERSION"], images[0]["newTag"], in_image.group(1)} == {VERSION}


def test_image_installs_what_the_collection_depends_on():
    wanted = yaml.safe_load((ROOT / "galaxy.yml").read_text())["dependencies"]
    listed = yaml.safe_load((ROOT / "requirements.yml").read_text())["collections"]
    assert {item["name"]: item["version"] for item in listed} == wanted


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_sample_is_of_our_kinds_and_leaves_the_namespace_open(path):
    if path.name == "kustomization.yaml":
        assert yaml.safe_load(path.read_text())["namespace"] == "nim"
        return
    for item in load_all(path):
        assert item["apiVersion"] == API_VERSION
        assert "namespace" not in item["metadata"]


def test_sample_services_use_caches_that_samples_make():
    items = [item for path in SAMPLES for item in load_all(path) if "spec" in item]
    caches = {item["metadata"]["name"] for item in items if item["kind"] == "NIMCache"}
    used = {
        item["spec"]["storage"]["nimCache"]["name"]
        for item in items
        if item["kind"] == "NIMService" and "nimCache" in item["spec"]["storage"]
    }
    names = [(item["kind"], item["metadata"]["name"]) for item in items]
    assert used <= caches
    assert len(names) == len(set(names))
