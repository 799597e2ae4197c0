# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The manifests are consistent: kustomizations, the manager, its image, the samples."""

from __future__ import annotations

import collections
import functools
import ipaddress
import json
import os
import shutil
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import nimops_kustomize as kustomize
import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.quantity import parse_quantity
from ansible_collections.nimops.nim.plugins.module_utils._http.tls import AUTHORITY

ROOT = Path(__file__).resolve().parents[3]
CONFIG = ROOT / "config"
PACKAGES = sorted(path.parent for path in CONFIG.rglob("kustomization.yaml"))
BUILT = [
    "default",
    *(f"overlays/{path.name}" for path in PACKAGES if path.parent.name == "overlays"),
]
SAMPLES = sorted((CONFIG / "samples").glob("*.yaml"))


def load_all(path: Path) -> list[dict]:
    return [item for item in yaml.safe_load_all(path.read_text()) if item]


@functools.cache
def build(name: str) -> list[dict]:
    """The objects of a folder of config/, without the schemas of CRDs: test_install_manifests.py has those."""
    return kustomize.build(kustomize.copy_config() / name)


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
def test_kustomization_lists_files(folder):
    content = yaml.safe_load((folder / "kustomization.yaml").read_text())
    listed = {*content.get("resources", []), *content.get("configurations", [])}
    listed |= {patch["path"] for patch in content.get("patches", [])}
    assert all((folder / item).exists() for item in listed)
    files = set(folder.glob("*.yaml")) - {folder / "kustomization.yaml"}
    # The settings of another program are not an object.
    present = {path.name for path in files if any("apiVersion" in item for item in load_all(path))}
    assert present - listed == set()


def test_crd_kustomizations_list_bases():
    bases = CONFIG / "crd" / "bases"
    listed = yaml.safe_load((CONFIG / "crd" / "kustomization.yaml").read_text())["resources"]
    optional = yaml.safe_load((bases / "Kustomization").read_text())["resources"]
    assert sorted([*listed, *(f"bases/{name}" for name in optional)]) == sorted(
        f"bases/{path.name}" for path in bases.glob("*.yaml")
    )


def test_manager_restricted_standard():
    pod = load_manager()["spec"]["template"]["spec"]
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    for container in pod["containers"]:
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert set(container["resources"]) == {"limits", "requests"}


def test_manager_volumes():
    pod = load_manager()["spec"]["template"]["spec"]
    [container] = pod["containers"]
    [mount] = container["volumeMounts"]
    [volume] = pod["volumes"]
    assert (mount["mountPath"], mount["name"]) == ("/tmp", volume["name"])
    limit = parse_quantity(container["resources"]["limits"]["ephemeral-storage"])
    # Logs count additionally.
    assert limit > parse_quantity(volume["emptyDir"]["sizeLimit"])


def test_manager_service_account_token():
    account = load_all(CONFIG / "rbac" / "service_account.yaml")[0]
    assert account["automountServiceAccountToken"] is False
    assert load_manager()["spec"]["template"]["spec"]["automountServiceAccountToken"] is True


def select_manager(selector: dict) -> bool:
    labels = load_manager()["spec"]["template"]["metadata"]["labels"]
    return selector["matchLabels"].items() <= labels.items()


def test_pod_disruption_budget():
    budget = load_all(CONFIG / "manager" / "pod_disruption_budget.yaml")[0]["spec"]
    assert select_manager(budget["selector"])
    assert budget["maxUnavailable"] >= load_manager()["spec"]["replicas"]


def test_limit_egress():
    policy = load_all(CONFIG / "network-policy" / "limit-egress.yaml")[0]["spec"]
    assert select_manager(policy["podSelector"])
    assert policy["policyTypes"] == ["Egress"]
    anywhere = [
        port["port"] for rule in policy["egress"] if "to" not in rule for port in rule["ports"]
    ]
    assert sorted(set(anywhere)) == [53, 443, 6443]
    blocks = [
        peer["ipBlock"]
        for rule in policy["egress"]
        for peer in rule.get("to", [])
        if "ipBlock" in peer
    ]
    excepted = [ipaddress.ip_network(net) for block in blocks for net in block["except"]]
    for address in ("169.254.169.254", "169.254.170.2", "fe80::1", "fd00:ec2::254"):
        found = ipaddress.ip_address(address)
        assert any(found in net for net in excepted if net.version == found.version), address


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not on PATH")
@pytest.mark.parametrize("name", BUILT)
def test_builds_consistent(name):
    built = build(name)
    names = {(item["kind"], item["metadata"]["name"]) for item in built}
    assert len(names) == len(built)
    for item in built:
        if "policyName" in item.get("spec", {}):
            assert ("ValidatingAdmissionPolicy", item["spec"]["policyName"]) in names
        if "roleRef" in item:
            assert (item["roleRef"]["kind"], item["roleRef"]["name"]) in names
        for subject in item.get("subjects", []):
            assert (subject["kind"], subject["name"]) in names
            assert subject["namespace"] == "nimops-system"


# Objects that an overlay removes from config/default, adds and changes, as kind/name.
OVERLAYS = {
    "monitoring": (
        set(),
        {
            "ConfigMap/nimops-dashboards",
            "PrometheusRule/nimops-alerts",
            "PrometheusRule/nimops-recording",
            "ServiceMonitor/nimops-controller-manager-metrics-monitor",
        },
        set(),
    ),
    "gpu": (
        set(),
        {
            "ClusterRole/nimops-gpu-role",
            "ClusterRoleBinding/nimops-gpu-rolebinding",
            "CustomResourceDefinition/clusterpolicies.nvidia.com",
            "CustomResourceDefinition/nvidiadrivers.nvidia.com",
            "Role/nimops-gpu-role",
            "RoleBinding/nimops-gpu-rolebinding",
            *(
                f"ClusterRole/nimops-{kind}-{who}-role"
                for kind in ("clusterpolicy", "nvidiadriver")
                for who in ("admin", "editor", "viewer")
            ),
        },
        {"Deployment/nimops-controller-manager"},
    ),
    "hardened": (
        set(),
        set(),
        {
            "ClusterRole/nimops-manager-role",
            "Namespace/nimops-system",
            "Deployment/nimops-controller-manager",
            "NetworkPolicy/nimops-limit-egress",
        },
    ),
    "namespaced": (
        {
            "ClusterRole/nimops-manager-role",
            "ClusterRole/nimops-node-role",
            "ClusterRoleBinding/nimops-manager-rolebinding",
            "ClusterRoleBinding/nimops-node-rolebinding",
        },
        {"Role/nimops-manager-role", "RoleBinding/nimops-manager-rolebinding"},
        {"Deployment/nimops-controller-manager"},
    ),
    "openshift": (
        set(),
        {
            "ConfigMap/nimops-service-ca",
            "ServiceMonitor/nimops-controller-manager-metrics-monitor",
        },
        {
            "Deployment/nimops-controller-manager",
            "NetworkPolicy/nimops-allow-metrics-and-health",
        },
    ),
    "prometheus": (set(), {"ServiceMonitor/nimops-controller-manager-metrics-monitor"}, set()),
    "without-nemo": (
        set(),
        set(),
        {"ClusterRole/nimops-manager-role", "Deployment/nimops-controller-manager"},
    ),
    "without-leader-election": (
        {
            "Role/nimops-leader-election-role",
            "RoleBinding/nimops-leader-election-rolebinding",
        },
        set(),
        {"Deployment/nimops-controller-manager"},
    ),
}


def name_objects(name: str) -> dict[str, dict]:
    return {f"{item['kind']}/{item['metadata']['name']}": item for item in build(name)}


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not on PATH")
@pytest.mark.parametrize("name", [name for name in BUILT if name != "default"])
def test_overlay_changes(name):
    base, built = name_objects("default"), name_objects(name)
    changed = {key for key in base.keys() & built.keys() if base[key] != built[key]}
    seen = (base.keys() - built.keys(), built.keys() - base.keys(), changed)
    assert seen == OVERLAYS[name.removeprefix("overlays/")]


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not on PATH")
def test_gpu_component_variable():
    manager = "Deployment/nimops-controller-manager"
    containers = [
        name_objects(name)[manager]["spec"]["template"]["spec"]["containers"][0]
        for name in ("default", "overlays/gpu")
    ]
    added = [entry for entry in containers[1]["env"] if entry not in containers[0]["env"]]
    assert added == [{"name": "NIMOPS_COMPONENT", "value": "gpu"}]
    assert "COPY watches*.yaml" in (CONFIG.parent / "Dockerfile").read_text()


WATCHES = {
    part: yaml.safe_load((ROOT / f"watches-{part}.yaml").read_text())
    for part in ("nim", "nemo", "gpu")
}


def test_default_watches():
    usual = yaml.safe_load((ROOT / "watches.yaml").read_text())
    assert usual == WATCHES["nim"] + WATCHES["nemo"]


@pytest.mark.parametrize("component", ["", "gpu"])
@pytest.mark.parametrize("nemo", ["on", "off"])
def test_supervisor_watches(load_module, monkeypatch, component, nemo):
    monkeypatch.syspath_prepend(ROOT / "packages/nimops-supervisor/src")
    module = load_module(ROOT / "packages/nimops-supervisor/src/nimops_supervisor/component.py")
    environment = {"NIMOPS_COMPONENT": component, "NIMOPS_NEMO": nemo}
    text = module.compose_watches(str(ROOT / "watches.yaml"), environment)
    wanted = [*WATCHES["nim"]]
    wanted += WATCHES["nemo"] if nemo == "on" else []
    wanted += WATCHES["gpu"] if component else []
    if text:
        assert yaml.safe_load(text) == wanted
    else:
        assert wanted == WATCHES["nim"] + WATCHES["nemo"]


def combine(folder: Path, base: str, *components: str) -> dict[str, dict]:
    """Build an overlay with additional components: `default` as it is, others from their own build."""
    folder.mkdir()
    config = kustomize.copy_config()
    place = os.path.relpath(config / base, folder.resolve())
    if base != "default":
        place = "base.yaml"
        (folder / place).write_text(
            json.dumps({"kind": "List", "apiVersion": "v1", "items": build(base)})
        )
    where = {
        "resources": [place],
        "components": [
            os.path.relpath(config / "components" / name, folder.resolve()) for name in components
        ],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(where))
    built = kustomize.build(folder)
    return {f"{item['kind']}/{item['metadata']['name']}": item for item in built}


def granted(built: dict[str, dict]) -> set[tuple[str, str, str]]:
    role = built.get("ClusterRole/nimops-manager-role") or built["Role/nimops-manager-role"]
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def nemo_of(built: dict[str, dict]) -> list[str]:
    pod = built["Deployment/nimops-controller-manager"]["spec"]["template"]["spec"]
    return [item["value"] for item in pod["containers"][0]["env"] if item["name"] == "NIMOPS_NEMO"]


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not on PATH")
@pytest.mark.parametrize("base", BUILT)
def test_without_nemo_and_back(tmp_path, base):
    usual, less = (granted(name_objects(name)) for name in ("default", "overlays/without-nemo"))
    assert less < usual
    without = combine(tmp_path / "without", base, "without-nemo")
    assert (granted(without), nemo_of(without)) == (less, ["off"])
    back = combine(tmp_path / "back", base, "without-nemo", "nemo")
    assert (granted(back), nemo_of(back)) == (usual, ["on"])
    once = combine(tmp_path / "once", base, "nemo")
    assert (granted(once), nemo_of(once)) == (usual, ["on"])
    changed = {"nimops-manager-role", "nimops-controller-manager"}
    for key, item in name_objects(base).items():
        if key.partition("/")[2] not in changed:
            assert without[key] == back[key] == once[key] == item


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not on PATH")
def test_without_leader_election():
    spec = name_objects("overlays/without-leader-election")["Deployment/nimops-controller-manager"][
        "spec"
    ]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    [container] = spec["template"]["spec"]["containers"]
    base = load_manager()["spec"]["template"]["spec"]["containers"][0]["args"]
    assert container["args"] == [arg for arg in base if "leader-elect" not in arg]


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not on PATH")
def test_openshift_service_ca():
    built = name_objects("overlays/openshift")
    pod = built["Deployment/nimops-controller-manager"]["spec"]["template"]["spec"]
    [mount] = [item for item in pod["containers"][0]["volumeMounts"] if item["name"] != "tmp"]
    [volume] = [item for item in pod["volumes"] if item["name"] == mount["name"]]
    assert f"ConfigMap/{volume['configMap']['name']}" in built
    assert f"{mount['mountPath']}/service-ca.crt" == str(AUTHORITY)


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not on PATH")
def test_hardened_switches():
    built = {item["kind"]: item for item in build("overlays/hardened")}
    [container] = built["Deployment"]["spec"]["template"]["spec"]["containers"]
    env = {item["name"]: item.get("value", "") for item in container["env"]}
    switches = {
        "NIMOPS_HOST_PATHS": "",
        "NIMOPS_ROOT_USER": "forbid",
        "NIMOPS_POD_SECURITY": "restricted",
        "NIMOPS_INGRESS_ANNOTATIONS": "",
        "NIMOPS_PROBE_HOSTS": "",
        "NIMOPS_EXPOSED_SERVICES": "",
        "NIMOPS_NEMO": "off",
    }
    assert {name: env.get(name) for name in switches} == switches
    labels = built["Namespace"]["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    [egress] = [
        item["spec"]["egress"]
        for item in build("overlays/hardened")
        if item["kind"] == "NetworkPolicy" and "egress" in item["spec"]
    ]
    assert not [peer for rule in egress for peer in rule.get("to", []) if "ipBlock" in peer]


@pytest.mark.parametrize(
    ("probe", "path", "address"),
    [
        ("livenessProbe", "/livez", "--liveness-bind-address"),
        ("readinessProbe", "/readyz", "--health-probe-bind-address"),
    ],
)
def test_probe_ports(probe, path, address):
    container = load_manager()["spec"]["template"]["spec"]["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    action = container[probe]["httpGet"]
    assert action["path"] == path
    given = f"{address}=:{ports[action['port']]}"
    assert given in (CONFIG.parent / "Dockerfile").read_text() or given in container["args"]


def test_metrics_ports():
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


def test_leader_election_id():
    assert flag("leader-elect") == "true"
    assert flag("leader-election-id") == "a0715c6e.nvidia.com"
    leases = [
        rule
        for rule in load_all(CONFIG / "rbac" / "leader_election_role.yaml")[0]["rules"]
        if "leases" in rule["resources"]
    ]
    named = [rule for rule in leases if "resourceNames" in rule]
    assert [rule["resourceNames"] for rule in named] == [["a0715c6e.nvidia.com"]]


VERSIONS = collections.defaultdict(
    lambda: "apps.nvidia.com/v1alpha1", gpu="nvidia.com/v1", nvidia="nvidia.com/v1alpha1"
)
"""API version by the first word of a sample's file name."""


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_samples_kinds(path):
    if path.name == "kustomization.yaml":
        assert yaml.safe_load(path.read_text())["namespace"] == "nim"
        return
    prerequisites = path.name.endswith("-prerequisites.yaml")
    for item in load_all(path):
        is_core = prerequisites or item["kind"] == "PersistentVolumeClaim"
        version = "v1" if is_core else VERSIONS[path.name.partition("_")[0]]
        assert item["apiVersion"] == version
        assert "namespace" not in item["metadata"]


# Our Services are named after the resource; other Services are in the comment of the prerequisites.
ELSEWHERE = {"mlflow-tracking", "milvus", "argo-workflows-server"}
BY_NAME = {"secretName": "Secret", "modelConfig": "ConfigMap", "configMap": "ConfigMap"}


def nemo_samples() -> list[dict]:
    found = [item for path in SAMPLES if path.name.startswith("nemo_") for item in load_all(path)]
    assert found
    return found


def references(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Kind and name of each Secret and ConfigMap in a spec."""
    if isinstance(value, dict):
        if "name" in value and (key in BY_NAME or key.endswith("Secret")):
            yield BY_NAME.get(key, "Secret"), value["name"]
        for name, child in value.items():
            yield from references(child, name)
    elif key == "secretName" or key.endswith("Secret"):
        yield "Secret", str(value)


def urls(value: object, key: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, child in value.items():
            yield from urls(child, name)
    elif key in {"endpoint", "baseURL"}:
        yield str(value)


def test_nemo_samples_inputs():
    made = {
        (item["kind"], item["metadata"]["name"])
        for item in load_all(CONFIG / "samples/nemo-prerequisites.yaml")
    }
    given = {("Secret", "ngc-api-secret")}
    used = {found for item in nemo_samples() for found in references(item["spec"])}
    assert used - given == made


def test_nemo_samples_addresses():
    services = {
        item["metadata"]["name"]: item["spec"]["expose"]["service"]["port"]
        for path in SAMPLES
        for item in load_all(path)
        if "expose" in item.get("spec", {}) and "service" in item["spec"]["expose"]
    }
    ports = {
        (split.hostname, split.port)
        for item in nemo_samples()
        for split in map(urllib.parse.urlsplit, urls(item["spec"]))
        if split.hostname not in ELSEWHERE
    }
    assert len(ports) == 3
    assert ports <= set(services.items())


def test_nemo_samples_databases():
    databases = [item["spec"]["databaseConfig"] for item in nemo_samples()]
    assert {found["host"] for found in databases} == {"postgresql"}
    logins = {
        (found["databaseName"], found["credentials"]["user"], found["credentials"]["secretName"])
        for found in databases
    }
    assert [len({login[place] for login in logins}) for place in range(3)] == [5, 5, 5]


def test_nemo_prerequisites_placeholders():
    for item in load_all(CONFIG / "samples/nemo-prerequisites.yaml"):
        for name, value in item.get("stringData", {}).items():
            assert value.startswith("example-") or "An example" in value or name == "service"


def test_sample_services_caches():
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
