# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""All modules and filters as a play of one task runs them, by pytest-ansible.

In a pytest of their own (`make unit`): Ansible's loader of collections stays in the process.
"""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path
from ansible_collections.nimops.nim.plugins.module_utils._engine.generated_keys import GENERATED_KEY

try:
    from ansible.template import trust_as_template
except ImportError:  # until ansible-core 2.18, every text is a template

    def trust_as_template(text):
        return text


pytestmark = [
    pytest.mark.filterwarnings("ignore:Host management is deprecated"),
    pytest.mark.filterwarnings("ignore:AnsibleCollectionFinder has already been configured"),
]

ROOT = Path(__file__).resolve().parents[2]
NIM_FILE = ROOT / "tests/nimservice.json"
NIM = json.loads(NIM_FILE.read_text())
RECONCILE = "ansible_collections.nimops.nim.plugins.plugin_utils._reconcile"
MANIFEST = "{big: {model: m, tags: {precision: fp8}}, small: {model: m, tags: {precision: bf16}}}"


@pytest.fixture
def run(localhost, cluster, tmp_path, monkeypatch):
    """Run one task; its result."""
    monkeypatch.setenv("K8S_AUTH_KUBECONFIG", cluster.kubeconfig(tmp_path))
    monkeypatch.setenv("NIMOPS_REGISTRIES", "")

    def run_module(module, /, **arguments):
        return getattr(localhost, module)(**arguments)["localhost"]

    return run_module


def test_observe_and_report(run, cluster):
    stored = cluster.put(api_path("NIMService", "nim", "llm"), NIM)
    seen = run("nimops.nim.nim_observe", resource=stored)
    assert seen["changed"] is False
    assert json.loads(seen["observed"])["resource"]["kind"] == "NIMService"

    reported = run("nimops.nim.nim_report", observed=seen["observed"])
    assert (reported["changed"], reported["status"]["state"]) == (True, "NotReady")
    live = cluster.objects[api_path("NIMService", "nim", "llm")]
    assert live["status"]["state"] == "NotReady"
    again = run(
        "nimops.nim.nim_report", resource=live, observed=seen["observed"], registered="wrote_"
    )
    assert again["changed"] is False


def test_write(run, cluster):
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "keys", "namespace": "nim"},
        "data": {"key": GENERATED_KEY},
    }
    wrote = run("nimops.nim.nim_write", plan={"apply": [secret]}, stage="own")
    assert wrote["changed"] is True
    assert "data" not in wrote["outcome"]["written"]["Secret/nim/keys"]
    assert cluster.objects[api_path("Secret", "nim", "keys")]["data"]["key"] != GENERATED_KEY


def test_reconcile(run, cluster):
    path = api_path("NIMService", "nim", "llm")
    stored = cluster.put(path, NIM)
    done = run("nimops.nim.nim_reconcile", resource=stored)
    assert (done["changed"], done["status"]["state"], done["period"]) == (True, "NotReady", "1s")
    assert "Deployment/nim/llm" in done["written"]
    result = run("nimops.nim.requeue_after", resource=cluster.objects[path])
    assert (result["changed"], result["written"], bool(result["period"])) == (False, [], True)
    assert run("nimops.nim.requeue_after", period="7s")["period"] == "7s"
    assert run("nimops.nim.requeue_after")["failed"] is True


def test_reconcile_reports_failure_in_status(run, cluster, servers):
    path = api_path("NIMService", "nim", "llm")
    stored = cluster.put(path, {**NIM, "status": {"state": "Ready"}})
    cluster.refuse["GET", api_path("Deployment", "nim", "llm")] = [
        servers.kube_status(403, "not for you")
    ]
    found = run("nimops.nim.requeue_after", resource=stored)
    assert (found["failed"], "period" in found) == (True, True)
    assert "not for you" in found["msg"]
    reported = cluster.objects[path]["status"]["conditions"]
    assert [item for item in reported if "not for you" in item["message"]]


def test_reconcile_reports_internal_error(run, cluster, monkeypatch):
    path = api_path("NIMService", "nim", "llm")
    stored = cluster.put(path, NIM)
    monkeypatch.setattr(f"{RECONCILE}.reconcile", lambda *_: {}["lost"])
    found = run("nimops.nim.nim_reconcile", resource=stored)
    assert found["failed"] is True
    reported = cluster.objects[path]["status"]["conditions"]
    assert [item for item in reported if "unexpected KeyError: 'lost'" in item["message"]]


WRONG = {
    "a kind of others": ({"resource": {**NIM, "kind": "Pod"}}, "kind 'Pod' is not one of"),
    "no resource": ({}, "missing required arguments: resource"),
    "not a resource": ({"resource": 1}, "cannot be converted to a dict"),
}


@pytest.mark.parametrize(("given", "message"), WRONG.values(), ids=WRONG)
def test_observe_invalid_input(run, given, message):
    found = run("nimops.nim.nim_observe", **given)
    assert found["failed"] is True
    assert message in found["msg"]


def test_preflight(run, cluster):
    checked = run("nimops.nim.nim_preflight_info", files=[str(NIM_FILE)])
    assert (checked["changed"], checked.get("failed", False)) == (False, False)
    assert checked["runnable"] is False
    assert "nodes" in {item["check"] for item in checked["checks"] if item["level"] == "error"}


def test_plan_and_apply(run, cluster):
    planned = run("nimops.nim.nim_plan_info", files=[str(NIM_FILE)])
    assert {change["action"] for change in planned["changes"]} == {"create"}
    assert (planned["changed"], planned.get("failed", False)) == (True, False)
    assert {call.query.get("dryRun") for call in cluster.calls("PATCH")} == {"All"}
    failed = run("nimops.nim.nim_apply", files=[str(NIM_FILE)], wait_timeout=1)
    assert failed["failed"] is True
    assert failed["msg"].startswith("not Ready after 1 s: NIMService nim/llm: NotReady")
    assert cluster.objects[api_path("Deployment", "nim", "llm")]["spec"]["replicas"] == 1


def test_profiles_and_gather(run, cluster, tmp_path):
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(MANIFEST)
    offered = run("nimops.nim.nim_profiles_info", manifest=str(manifest), gpus=["H100"])
    assert [profile["id"] for profile in offered["profiles"]] == ["big", "small"]
    assert (offered["fitting"], offered.get("failed", False)) == ([], False)
    cluster.put(api_path("NIMService", "nim", "llm"), NIM)
    found = run("nimops.nim.nim_gather", namespace="nim", path=str(tmp_path / "all.tar.gz"))
    assert (tmp_path / "all.tar.gz").stat().st_size == found["bytes"]


def test_report(run, cluster, tmp_path):
    cluster.put(api_path("NIMService", "nim", "llm"), NIM)
    file = tmp_path / "report.html"
    found = run("nimops.nim.nim_fleet_report", namespace="nim", path=str(file))
    assert file.stat().st_size == found["bytes"]
    assert (found["changed"], found["problems"], found["missing"]) == (True, 1, [])


def test_render_and_status(run, cluster, tmp_path):
    found = run("nimops.nim.nim_render", files=[str(NIM_FILE)], output_dir=str(tmp_path))
    assert (found["changed"], found["count"]) == (True, 5)
    cluster.put(api_path("NIMService", "nim", "llm"), NIM)
    (line,) = run("nimops.nim.nim_status_info", namespace="nim")["resources"]
    assert (line["kind"], line["name"], line["state"]) == ("NIMService", "llm", "")


def test_gpus(run, cluster):
    policy = {"metadata": {"name": "p"}, "spec": {"driver": {"upgradePolicy": {}}}}
    cluster.put(api_path("ClusterPolicy", "", "p"), policy)
    labels = {"feature.node.kubernetes.io/pci-10de.present": "true"}
    cluster.put("/api/v1/nodes/n", {"metadata": {"name": "n", "labels": labels}})
    seen = run("nimops.nim.gpu_status_info")
    assert [(node["node"], node["state"]) for node in seen["nodes"]] == [("n", "Waiting")]
    assert (seen["ready"], seen["changed"]) == (False, False)
    planned = run("nimops.nim.gpu_upgrade_plan_info")
    assert planned["msg"].startswith("driver.upgradePolicy.autoUpgrade is not true")
    planned = run("nimops.nim.gpu_upgrade_plan_info", assume_outdated=True)
    assert (planned["plan"]["total"], planned["problems"]) == (0, [])


def test_images(run):
    found = run("nimops.nim.nim_images_info", files=[str(NIM_FILE)])
    image = "{repository}:{tag}".format_map(NIM["spec"]["image"])
    assert [(item["image"], item["users"]) for item in found["images"]] == [
        (image, ["Deployment llm"])
    ]
    assert (found["changed"], found.get("failed", False)) == (False, False)


def test_model_files_and_bundle(run, cluster, tmp_path):
    found = run("nimops.nim.nim_model_files_info", files=[str(NIM_FILE)])
    assert found["changed"] is False
    assert isinstance(found["models"], list)
    (tmp_path / "model").mkdir()
    (tmp_path / "model/weights").write_text("w")
    models, path = {"models/m:1": str(tmp_path / "model")}, str(tmp_path / "bundle")
    packed = run("nimops.nim.nim_bundle", models=models, path=path)
    assert (packed["changed"], packed["packed"]) == (True, ["models/m:1"])
    missing = run("nimops.nim.nim_unbundle", bundle=str(tmp_path), to="r.example")
    assert missing["failed"] is True
    assert missing["msg"].endswith("is not a folder that bundle wrote: it has no oci-layout")


def test_takeover(run, cluster, tmp_path):
    """Our operator's pod never comes up here, so the reference is not stopped."""
    alone = run("nimops.nim.nim_takeover", back=True)
    assert alone["failed"] is True
    assert alone["msg"].startswith("the reference operator is not installed")

    manager = (ROOT / "config/manager/manager.yaml").read_text()
    ours = next(item for item in yaml.safe_load_all(manager) if item["kind"] == "Deployment")
    (tmp_path / "ours.yaml").write_text(yaml.safe_dump(ours))
    reference = copy.deepcopy(ours)
    reference["metadata"] |= {"name": "reference", "labels": {}}
    reference["spec"]["template"]["metadata"]["labels"] = {}
    reference["spec"]["template"]["spec"]["containers"][0]["image"] = "example/k8s-nim-operator:v3"
    path = api_path("Deployment", ours["metadata"]["namespace"], "reference")
    cluster.put(path, reference)
    backup = tmp_path / "before.yaml"
    manifests = [str(tmp_path / "ours.yaml")]
    failed = run("nimops.nim.nim_takeover", manifests=manifests, backup=str(backup), wait_timeout=0)
    assert (failed["failed"], failed["backup"]) == (True, str(backup))
    assert "is not available after 0 s" in failed["msg"]
    assert cluster.objects[path]["spec"]["replicas"] == 1


def test_custom_resources(run, cluster):
    """An operator is simulated."""
    cluster.has_controllers = True
    image = {"repository": "registry.example/llm", "tag": "1"}
    spec = {"image": image, "storage": {"emptyDir": {}}, "expose": {"service": {"port": "8000"}}}
    named = {"name": "llm", "namespace": "nim"}
    done = run("nimops.nim.nim_service", **named, spec=spec)
    assert (done["changed"], done["ready"], done["models"]) == (True, True, ["acme/llm"])
    assert run("nimops.nim.nim_service", **named, spec=spec)["changed"] is False
    ngc = {"modelPuller": "registry.example/llm:1", "pullSecret": "a", "authSecret": "b"}
    cache = {"source": {"ngc": ngc}, "storage": {"pvc": {}}}
    done = run("nimops.nim.nim_cache", **named, spec=cache)
    assert (done["changed"], done["ready"]) == (True, True)
    services = [{"name": "llm", "enabled": "true", "spec": spec}]
    assert run("nimops.nim.nim_pipeline", **named, spec={"services": services})["changed"] is True
    done = run("nimops.nim.nim_build", **named, spec={"image": image, "nimCache": {"name": "llm"}})
    assert (done["changed"], len(cluster.objects)) == (True, 4)
    found = run("nimops.nim.nim_resource_info", kind="NIMService", name="llm")
    assert [(row["endpoint"], row["ready"]) for row in found["resources"]] == [
        ("10.0.0.1:8000", True)
    ]
    failed = run("nimops.nim.nim_service", **named)
    assert failed["failed"] is True
    assert failed["msg"] == "state is present but all of the following are missing: spec"
    for name in ("service", "cache", "pipeline", "build"):
        assert run(f"nimops.nim.nim_{name}", **named, state="absent")["changed"] is True
    assert cluster.objects == {}


def test_release(run, cluster):
    path, name = api_path("NIMService", "nim", "llm"), "finalizer.nimservice.apps.nvidia.com"
    cluster.put(path, {**NIM, "metadata": {**NIM["metadata"], "finalizers": [name]}})
    found = run("nimops.nim.nim_release")
    assert (found["changed"], found.get("failed", False)) == (True, False)
    assert [item["finalizer"] for item in found["finalizers"]] == [name]
    assert "finalizers" not in cluster.objects[path]["metadata"]


def test_install(run, cluster):
    cluster.has_controllers = True
    found = run("nimops.nim.nim_install")
    assert (found["changed"], found.get("failed", False)) == (True, False)
    assert {item["action"] for item in found["changes"]} == {"create"}
    assert any(path.endswith("/nimservices.apps.nvidia.com") for path in cluster.objects)
    assert run("nimops.nim.nim_install")["changed"] is False
    found = run("nimops.nim.nim_install", state="absent")
    assert (found["changed"], found["kept"]) == (True, [])
    assert cluster.objects == {}


def test_databases(run, cluster, tmp_path, monkeypatch):
    """Nothing is written for a server that does not answer; Ansible's own Python asks it."""
    broken = tmp_path / "python3.13"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    metadata = {"name": "e", "namespace": "nim"}
    credentials = {"user": "me", "secretName": "pw"}
    database = {"host": "db", "databaseName": "data", "credentials": credentials}
    resource = {"kind": "NemoEvaluator", "metadata": metadata, "spec": {"databaseConfig": database}}
    cluster.put(api_path("NemoEvaluator", "nim", "e"), resource)
    failed = run("nimops.nim.nim_databases", namespace="nim", login_port=1, login_password="secret")
    assert failed["failed"] is True
    assert failed["msg"].startswith("PostgreSQL: ")
    assert "refused" in failed["msg"]
    assert cluster.calls("PATCH") == []


FILTERS = {
    "plan_resource": (
        NIM,
        "nimops.nim.plan_resource({})).apply | map(attribute='kind') | first",
        "ServiceAccount",
    ),
    "select_profiles": (
        MANIFEST,
        "nimops.nim.select_profiles({'precision': 'fp8'})).selected",
        ["big"],
    ),
    "writable_children": (
        {"apply": [NIM]},
        "nimops.nim.writable_children('first'))[0].kind",
        "NIMService",
    ),
    "device_claim": (
        [{"name": "gpu"}],
        "nimops.nim.device_claim).requests[0].exactly.selectors[0].cel.expression",
        'device.driver == "gpu.nvidia.com"',
    ),
}


@pytest.mark.parametrize(("given", "expression", "wanted"), FILTERS.values(), ids=FILTERS)
def test_filters(run, given, expression, wanted):
    template = trust_as_template(f"{{{{ ({json.dumps(given)} | {expression} }}}}")
    assert run("ansible.builtin.debug", msg=template)["msg"] == wanted


@pytest.mark.parametrize("kind", ["modules", "filter"])
def test_modules_are_all_tested(kind):
    text = Path(__file__).read_text()
    names = [item.stem for item in (ROOT / "plugins" / kind).glob("[a-z]*.py")]
    ways = {"modules": 'run("nimops.nim.{}"', "filter": '    "{}": ('}
    assert [name for name in names if ways[kind].format(name) not in text] == []
