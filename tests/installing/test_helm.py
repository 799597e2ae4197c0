# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Helm installs, upgrades, rolls back and uninstalls, and custom resources stay."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from nimops_harness.cluster import kubectl
from nimops_harness.errors import HarnessError
from nimops_release.manifests import LOADER, MANAGER, NAMESPACE, by_key
from nimops_release.programs import run_program

ROOT = Path(__file__).resolve().parents[2]
CRD = "nimcaches.apps.nvidia.com"
RELEASE = ("nimops", "--namespace", NAMESPACE)
WAIT = ("--wait", "--timeout", "120s")


def definition_has(field: str) -> bool:
    crd = json.loads(kubectl("get", "crd", CRD, "-o", "json"))
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return field in schema["properties"]["spec"]["properties"]


def operator_version() -> str:
    path = "jsonpath={.spec.template.spec.containers[0].env[?(@.name=='OPERATOR_VERSION')].value}"
    return kubectl("-n", NAMESPACE, "get", "deployment", MANAGER, "-o", path)


@pytest.fixture(scope="module")
def next_chart(chart: Path, project: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chart of a later version, whose NIMCache has an additional field."""
    folder = tmp_path_factory.mktemp("next") / "nimops"
    shutil.copytree(chart, folder)
    for file in (folder / "Chart.yaml", folder / "templates/deployment.yaml"):
        file.write_text(file.read_text().replace(project.version, "99.0.0"))
    file = folder / "templates/crds.yaml"
    head, mark, rest = file.read_text().partition(f"  name: {CRD}\n")
    place = "            properties:\n              certConfig:\n"
    assert place in rest
    added = place.replace(
        "certConfig:\n", "later:\n                type: string\n              certConfig:\n"
    )
    file.write_text(head + mark + rest.replace(place, added, 1))
    return folder


@pytest.fixture(scope="module")
def unlabeled_chart(chart: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unlabeled") / "nimops"
    shutil.copytree(chart, folder)
    file = folder / "templates/_helpers.tpl"
    head, mark, rest = file.read_text().partition('{{- define "nimops.labels" -}}\n')
    assert mark
    file.write_text(f"{head}{mark}{rest[rest.index('{{- end }}') :]}")
    return folder


# Helm 4 applies on the server by default.
ON_SERVER = ("--server-side=true", "--force-conflicts")
LIFE_CYCLES = {
    "Helm 3": (("helm",), ("helm",)),
    "Helm 4": (("helm4",), ("helm4",)),
    "Helm 4 without server-side apply": (("helm4", "--server-side=false"),) * 2,
    "from Helm 3 to Helm 4": (("helm",), ("helm4", *ON_SERVER)),
}
"""The program that installs and its options, and those of the one that upgrades."""
IN_CI = {"Helm 3", "from Helm 3 to Helm 4"}


@pytest.mark.parametrize(
    ("first", "then"),
    [
        pytest.param(*both, id=name, marks=() if name in IN_CI else pytest.mark.nightly)
        for name, both in LIFE_CYCLES.items()
    ],
)
def test_helm_life_cycle(unmanaged, kept, chart, next_chart, project, first, then):
    # The CRDs already exist, as after another installation method.
    options = ("--create-namespace", "--take-ownership", *WAIT)
    helm, *flags = first
    run_program(helm, "install", *RELEASE, str(chart), *options, *flags)
    assert operator_version() == project.version
    assert not definition_has("later")

    helm, *flags = then
    run_program(helm, "upgrade", *RELEASE, str(next_chart), *WAIT, *flags)
    assert operator_version() == "99.0.0"
    assert definition_has("later")

    run_program(helm, "rollback", "nimops", "1", "--namespace", NAMESPACE, *WAIT, *flags)
    assert operator_version() == project.version
    assert not definition_has("later")

    text = run_program(helm, "get", "manifest", *RELEASE)
    run_program(helm, "uninstall", *RELEASE, "--wait")
    assert kept.is_there()
    for kind, name in by_key(item for item in yaml.load_all(text, LOADER) if item):
        command = ("get", kind, name, "-n", NAMESPACE, "--ignore-not-found", "-o", "name")
        assert bool(kubectl(*command)) is (kind == "CustomResourceDefinition"), name

    # The kept objects belong to the same release: Helm adopts them without a flag.
    run_program(helm, "install", *RELEASE, str(chart), *WAIT)
    assert kept.is_there()


@pytest.mark.nightly
def test_helm4_upgrade_of_definitions_by_kubectl(unmanaged, kept, chart, next_chart):
    """Helm 4 applies on the server, where a field that it changes still belongs to kubectl."""
    kubectl("apply", "--server-side", "-f", "-", stdin=unmanaged)
    options = ("--create-namespace", "--take-ownership", *WAIT)
    run_program("helm4", "install", *RELEASE, str(chart), *options)
    upgrade = ("helm4", "upgrade", *RELEASE, str(next_chart), *WAIT)
    with pytest.raises(Exception, match='conflict with "kubectl"'):
        run_program(*upgrade)
    run_program(*upgrade, "--force-conflicts")
    assert definition_has("later")
    assert kept.is_there()


@pytest.mark.parametrize("helm", ["helm", pytest.param("helm4", marks=pytest.mark.nightly)])
def test_helm_upgrade_from_unlabeled(clean, chart, unlabeled_chart, helm):
    """The first charts did not have the labels that Helm recommends; selectors are immutable."""
    options = ("--create-namespace", "--take-ownership", *WAIT)
    run_program(helm, "install", *RELEASE, str(unlabeled_chart), *options)
    assert "helm.sh/chart" not in labels_of("deployment", MANAGER)
    before = pods()
    run_program(helm, "upgrade", *RELEASE, str(chart), *WAIT)
    assert labels_of("deployment", MANAGER)["app.kubernetes.io/instance"] == "nimops"
    assert labels_of("crd", CRD)["helm.sh/chart"].startswith("nimops-")
    assert pods() == before, "the operator was restarted"


def labels_of(kind: str, name: str) -> dict[str, str]:
    found = json.loads(kubectl("-n", NAMESPACE, "get", kind, name, "-o", "json"))
    labels: dict[str, str] = found["metadata"].get("labels", {})
    return labels


def pods() -> set[str]:
    options = ("-l", "control-plane=controller-manager", "-o", "name")
    return set(kubectl("-n", NAMESPACE, "get", "pods", *options).split())


def test_helm_over_other_installation(clean, chart):
    kubectl("annotate", "crd", CRD, "meta.helm.sh/release-name-")
    with pytest.raises(Exception, match="cannot be imported"):
        run_program("helm", "install", *RELEASE, str(chart), "--create-namespace")


def test_helm_watch_namespaces_permissions(clean, kept, chart):
    options = (
        "--create-namespace",
        "--take-ownership",
        "--set",
        f"watchNamespaces={{{kept.namespace}}}",
    )
    run_program("helm", "install", *RELEASE, str(chart), *options, *WAIT)
    account = f"--as=system:serviceaccount:{NAMESPACE}:{MANAGER}"
    assert may("get", "nimcaches", kept.namespace, account)
    assert may("create", "deployments", kept.namespace, account)
    assert not may("get", "nimcaches", "default", account)
    run_program("helm", "upgrade", *RELEASE, str(chart), "--reset-values", *WAIT)
    assert may("get", "nimcaches", "default", account)


def may(verb: str, resource: str, namespace: str, account: str) -> bool:
    try:
        return kubectl("auth", "can-i", verb, resource, "-n", namespace, account).strip() == "yes"
    except HarnessError:
        return False


def test_helm_test_account_permissions(
    clean, kept, chart, load_module, tmp_path, monkeypatch, capsys
):
    options = ("--create-namespace", "--take-ownership")
    run_program("helm", "install", *RELEASE, str(chart), *options, *WAIT)
    manifest = run_program("helm", "get", "hooks", *RELEASE)
    [container] = yaml.safe_load(manifest)["spec"]["containers"]
    for entry in container["env"]:
        monkeypatch.setenv(entry["name"], entry["value"])
    cluster = json.loads(kubectl("config", "view", "--raw", "--minify", "-o", "json"))
    host, port = cluster["clusters"][0]["cluster"]["server"].removeprefix("https://").split(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    authority = kubectl("-n", NAMESPACE, "get", "configmap", "kube-root-ca.crt", "-o", "json")
    (tmp_path / "ca.crt").write_text(json.loads(authority)["data"]["ca.crt"])
    (tmp_path / "token").write_text(kubectl("-n", NAMESPACE, "create", "token", MANAGER))

    def renew(_seconds: float) -> None:
        spec = {"spec": {"holderIdentity": "one", "renewTime": "2026-01-01T00:00:01.000000Z"}}
        command = ("-n", NAMESPACE, "patch", "lease", "a0715c6e.nvidia.com", "--type=merge")
        kubectl(*command, f"--patch={json.dumps(spec)}")

    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "a0715c6e.nvidia.com"},
    }
    kubectl("-n", NAMESPACE, "create", "-f", "-", stdin=json.dumps(lease))
    module = load_module(ROOT / "release/chart/ready.py")
    monkeypatch.setattr(module, "ACCOUNT", tmp_path)
    monkeypatch.setattr(module.time, "sleep", renew)
    module.main()
    *counted, leader = capsys.readouterr().out.splitlines()
    counts = dict(line.rpartition("/")[2].split(": ") for line in counted)
    kinds = [
        item["spec"]["names"]["plural"]
        for item in yaml.safe_load_all(run_program("helm", "get", "manifest", *RELEASE))
        if item and item["kind"] == "CustomResourceDefinition"
    ]
    assert sorted(counts) == sorted(kinds)
    assert counts["nimcaches"] == "1"
    assert leader == "one leads"
