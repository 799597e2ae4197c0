# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The verbs, called like by users: stdout, stderr and the exit code."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path

ROOT = Path(__file__).resolve().parents[4]
SERVICE = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMService",
    "metadata": {"name": "llm"},
    "spec": {
        "image": {"repository": "registry.example/llm", "tag": "1"},
        "storage": {"emptyDir": {}},
        "replicas": 1,
    },
}
KINDS = ["ServiceAccount", "Role", "RoleBinding", "Service", "Deployment"]
WITHOUT_OPENSHIFT = ["ServiceAccount", "Service", "Deployment"]
SERVICES = "/apis/apps.nvidia.com/v1alpha1/nimservices"
TEXT = yaml.safe_dump(SERVICE)


@pytest.fixture
def file(tmp_path):
    (tmp_path / "nim.yaml").write_text(TEXT)
    return "nim.yaml"


def test_render_to_pipe(call, file):
    code, out, err = call("render", files=[file])
    assert (code, err) == (0, "")
    assert [item["kind"] for item in yaml.safe_load_all(out)] == KINDS


def test_render_as_json(call, file):
    code, out, _err = call("render", files=[file], output="json", nim_namespace="there")
    listed = json.loads(out)
    assert code == 0
    assert listed["kind"] == "List"
    assert {item["metadata"]["namespace"] for item in listed["items"]} == {"there"}


def test_render_to_files(call, file, tmp_path):
    """Check mode makes none, a second run changes none."""
    code, out, _err = call("render", "--check", files=[file], output_dir="out")
    assert (code, out, (tmp_path / "out").exists()) == (0, "", False)
    code, out, err = call("render", files=[file], output_dir="out")
    assert (code, out) == (0, "")
    assert "wrote out/default/deployment-llm.yaml" in err
    names = sorted(item.name for item in (tmp_path / "out/default").iterdir())
    assert names == sorted(f"{kind.lower()}-llm.yaml" for kind in KINDS)
    assert call("render", files=[file], output_dir="out") == (0, "", "")


def test_render_with_facts(call, tmp_path):
    service = {**SERVICE, "spec": {**SERVICE["spec"], "storage": {"nimCache": {"name": "m"}}}}
    cache = {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMCache",
        "metadata": {"name": "m", "namespace": "default"},
        "spec": {"source": {"hf": {}}, "storage": {}},
        "status": {"state": "Ready", "pvc": "kept"},
    }
    (tmp_path / "facts.yaml").write_text(yaml.safe_dump(cache))
    code, out, _err = call("render", definition=service, facts="facts.yaml")
    assert code == 0
    assert "claimName: kept" in out
    code, out, err = call("render", definition=service)
    assert code == 0
    assert "Deployment" not in out
    assert "NIMService default/llm: NIMCache m not found" in err


GPU_SAMPLES = Path(__file__).resolve().parents[4] / "config/samples"
ASSUMED = (
    "assumed: one node with a GPU and ubuntu24.04; name the nodes of your cluster in facts, such as"
    " those of kubectl get nodes --output yaml"
)


def daemon_sets(out):
    found = (item for item in yaml.safe_load_all(out) if item["kind"] == "DaemonSet")
    return {item["metadata"]["name"]: item["spec"]["template"]["spec"] for item in found}


def test_render_of_policy_assumes_gpu_node(call):
    code, out, err = call("render", files=[str(GPU_SAMPLES / "gpu_clusterpolicy.yaml")])
    assert (code, err) == (0, f"{ASSUMED}\n")
    assert {"nvidia-driver-daemonset", "nvidia-operator-validator"} <= daemon_sets(out).keys()
    (driver, *_) = daemon_sets(out)["nvidia-driver-daemonset"]["containers"]
    assert driver["image"].endswith("-ubuntu24.04")
    assert "kind: Node\n" not in out


@pytest.mark.parametrize("has_gpu", [True, False])
def test_render_with_nodes_of_facts(call, tmp_path, has_gpu):
    features = "feature.node.kubernetes.io"
    labels = {
        f"{features}/system-os_release.ID": "rhel",
        f"{features}/system-os_release.VERSION_ID": "9.4",
        **({f"{features}/pci-10de.present": "true"} if has_gpu else {}),
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": labels}}
    (tmp_path / "facts.yaml").write_text(yaml.safe_dump(node))
    policy = str(GPU_SAMPLES / "gpu_clusterpolicy.yaml")
    code, out, err = call("render", files=[policy], facts="facts.yaml")
    assert (code, err) == (0, "")
    found = daemon_sets(out).get("nvidia-driver-daemonset")
    assert bool(found) == has_gpu
    assert not found or found["containers"][0]["image"].endswith("-rhel9")


def test_render_of_drivers_assumes_nodes(call, tmp_path):
    policy = yaml.safe_load((GPU_SAMPLES / "gpu_clusterpolicy.yaml").read_text())
    policy["spec"]["driver"] = {"useNvidiaDriverCRD": True}
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(policy))
    drivers = str(GPU_SAMPLES / "nvidia_v1alpha1_nvidiadriver.yaml")
    code, out, err = call("render", files=["policy.yaml", drivers])
    two = ASSUMED.replace("one node", "2 nodes").replace(" a GPU", " GPUs")
    assert (code, err) == (0, f"{two}\n")
    owners = {
        pod["nodeSelector"].get("nvidia.com/gpu-operator.driver.owner")
        for pod in daemon_sets(out).values()
    }
    assert {"default", "canary"} <= owners


def without_storage():
    metadata = {"name": "llm", "namespace": "default"}
    return {**SERVICE, "metadata": metadata, "spec": {**SERVICE["spec"], "storage": {}}}


def test_render_failing_resource(call, tmp_path):
    code, out, err = call("render", definition=without_storage())
    assert code == 2
    assert "kind: Service\n" in out
    assert "NIMService default/llm: neither external PVC name" in err
    assert "FAILED: cannot be served as it is: NIMService default/llm" in err


DEFINITIONS = {
    "a text": TEXT,
    "an object": SERVICE,
    "a list of objects": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}},
        SERVICE,
    ],
    "a list as kubectl prints it": {"apiVersion": "v1", "kind": "List", "items": [SERVICE]},
}


@pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=DEFINITIONS)
def test_definition_equals_file(call, file, definition):
    assert call("render", definition=definition) == call("render", files=[file])


def test_definition_evaluates_no_template(call, tmp_path):
    """Output of kubectl contains untrusted text."""
    text = "{{ lookup('pipe', 'touch evaluated') }} {{ 1 + 1 }} 😀"
    spec = {**SERVICE["spec"], "env": [{"name": "A", "value": text}]}
    (tmp_path / "vars.json").write_text(json.dumps({"definition": {**SERVICE, "spec": spec}}))
    for options, given in (
        ([], {"definition": {**SERVICE, "spec": spec}}),
        ([], {"definition": yaml.safe_dump({**SERVICE, "spec": spec})}),
        (["--extra-vars", "@vars.json"], {}),
    ):
        code, out, err = call("render", *options, **given)
        assert (code, err) == (0, "")
        (deployment,) = (item for item in yaml.safe_load_all(out) if item["kind"] == "Deployment")
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert {"name": "A", "value": text} in container["env"]
    assert not (tmp_path / "evaluated").exists()


def test_files_from_process_substitution(start, file):
    """Like <(cat nim.yaml): a worker inherits open descriptors."""
    end, other = os.pipe()
    with os.fdopen(other, "w") as stream:
        stream.write(TEXT)
    with start("render", pass_fds=[end], files=f"/dev/fd/{end}") as process:
        os.close(end)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    assert [item["kind"] for item in yaml.safe_load_all(out)] == KINDS


@pytest.mark.parametrize("path", ["-", "/dev/stdin"])
def test_files_refuse_stdin(call, file, path):
    for verb, given in {
        "render": {"files": [file], "facts": [path]},
        "plan": {"files": [path]},
        "apply": {"files": [file, path]},
        "profiles": {"manifest": path},
    }.items():
        code, out, err = call(verb, stdin=TEXT, **given)
        assert (code, out) == (2, "")
        assert err.startswith(f"FAILED: {path}: a module cannot read stdin")


WRONG = {
    "nothing": ({}, "files: missing; name files or folders, or pass a definition"),
    "no files": ({"files": []}, "files: missing; name files or folders, or pass a definition"),
    "no such file": ({"files": "nowhere.yaml"}, "nowhere.yaml: No such file or directory"),
    "an empty definition": ({"definition": ""}, "definition: is empty; omit it, or pass"),
    "not yaml": ({"definition": "a: ["}, "definition: is not YAML"),
    "no object": ({"definition": [1]}, "definition, document 1: is not an object with apiVersion"),
    "both": (
        {"files": "nim.yaml", "definition": SERVICE},
        "files and the variable definition: set only one of them",
    ),
    "unknown field": (
        {"definition": TEXT.replace("replicas", "replica")},
        "definition: NIMService llm: spec.replica: is unknown; the fields here are affinity, ",
    ),
    "a choice": ({"files": "nim.yaml", "output": "xml"}, "value of output must be one of"),
}


@pytest.mark.parametrize(("given", "message"), WRONG.values(), ids=WRONG)
def test_files_unreadable(call, file, given, message):
    code, out, err = call("render", **given)
    assert (code, out) == (2, "")
    assert message in err


def test_plan_then_apply_then_plan(call, cluster, file, answer):
    dry = answer(200, {**SERVICE, "metadata": {"name": "llm", "namespace": "default"}})
    path = api_path("NIMService", "default", "llm")
    cluster.refuse["PATCH", path] = [dry]
    code, out, err = call("plan", files=[file])
    assert (code, err) == (0, "")
    assert [line for line in out.splitlines() if line.startswith("+")] == [
        f"+ create {kind} default/llm" for kind in ["NIMService", *WITHOUT_OPENSHIFT]
    ]
    assert out.endswith("4 to create\n")
    assert cluster.objects == {}

    code, out, err = call("apply", files=[file], wait=False)
    assert (code, out) == (0, "")
    assert err.startswith("NIMService default/llm: NotReady: Waiting for deployment")
    assert len([item for item in cluster.objects if "/events/" not in item]) == 4

    assert call("plan")[:2] == (0, "no changes\n")
    code, out, _err = call("plan", output="json")
    assert json.loads(out) == {"changes": [], "problems": {}, "notes": {}, "summary": "no changes"}

    del cluster.objects[api_path("Service", "default", "llm")]
    code, out, _err = call("plan", output="json")
    (change,) = json.loads(out)["changes"]
    assert (code, change["action"], change["kind"]) == (0, "create", "Service")


def test_plan_fail_on_changes(call, cluster, file):
    assert call("apply", files=[file], wait=False)[0] == 0
    assert call("plan", fail_on_changes=True) == (0, "no changes\n", "")
    del cluster.objects[api_path("Service", "default", "llm")]
    for options in ([], ["--check"]):
        code, out, err = call("plan", *options, fail_on_changes="true")
        assert (code, err) == (2, "FAILED: 1 to create\n")
        assert out.endswith("1 to create\n")
        assert call("plan", *options, fail_on_changes="no") == (0, out, "")


def test_plan_failing_resource(call, cluster, tmp_path):
    cluster.put(api_path("NIMService", "default", "llm"), without_storage())
    code, out, err = call("plan")
    assert code == 2
    assert "! NIMService default/llm: neither external PVC name" in out
    assert err == "FAILED: cannot be served as it is: NIMService default/llm\n"


def test_apply_in_check_mode(call, cluster, file, answer):
    dry = answer(200, {**SERVICE, "metadata": {"name": "llm", "namespace": "default"}})
    cluster.refuse["PATCH", api_path("NIMService", "default", "llm")] = [dry, dry]
    code, out, err = call("apply", "--check", files=[file])
    assert (code, out) == (0, "")
    assert "+ create Deployment default/llm" in err
    code, out, err = call("apply", "--check", "--diff", files=[file])
    assert (code, err) == (0, "")
    assert "+++ after: Deployment default/llm (create)" in out
    assert cluster.objects == {}


def put_all(cluster):
    """Objects of a file in the cluster, and one beside them; the file's content."""
    cache = {**SERVICE, "kind": "NIMCache", "metadata": {"name": "models"}}
    others = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}},
    ]
    for item in (*others, cache, SERVICE, {**SERVICE, "metadata": {"name": "other"}}):
        metadata = {**item["metadata"]}
        if item["kind"] != "Namespace":
            metadata["namespace"] = "default"
        path = api_path(item["kind"], metadata.get("namespace"), metadata["name"])
        cluster.put(path, {**item, "metadata": metadata})
    broken = {**SERVICE, "spec": {"imge": "the spec does not count"}}
    return yaml.safe_dump_all([*others, cache, broken, {**cache, "metadata": {"name": "gone"}}])


def test_apply_absent(call, cluster, tmp_path):
    (tmp_path / "all.yaml").write_text(put_all(cluster))
    before = dict(cluster.objects)
    lines = "- delete NIMService default/llm\n- delete NIMCache default/models\n2 to delete\n"
    code, out, err = call("apply", "--check", files="all.yaml", state="absent")
    assert (code, out, err, cluster.objects) == (0, "", lines, before)
    code, out, _err = call("apply", "--check", "--diff", files="all.yaml", state="absent")
    assert (code, "+++ after: NIMService default/llm (delete)" in out) == (0, True)
    code, out, err = call("apply", files="all.yaml", state="absent")
    assert (code, out, err) == (0, "", lines)
    deleted = [item.path.rsplit("/", 1)[1] for item in cluster.calls("DELETE")]
    assert deleted == ["llm", "models"]
    left = sorted(path.rsplit("/", 1)[1] for path in cluster.objects)
    assert left == ["default", "other", "s"]
    code, _out, err = call("apply", files="all.yaml", state="absent")
    assert (code, err) == (0, "no changes\n")


def test_apply_absent_controlled(call, cluster, tmp_path):
    """Nothing is deleted if one may not be."""
    (tmp_path / "all.yaml").write_text(put_all(cluster))
    owner = {"kind": "NIMPipeline", "name": "rag", "uid": "1", "controller": True}
    path = api_path("NIMCache", "default", "models")
    cluster.objects[path]["metadata"]["ownerReferences"] = [owner]
    code, _out, err = call("apply", files="all.yaml", state="absent")
    assert (code, cluster.calls("DELETE")) == (2, [])
    assert "NIMCache default/models belongs to NIMPipeline rag, which would create it again" in err


def test_apply_absent_fails(call, cluster):
    cluster.keeps_finalizers = True
    metadata = {"name": "llm", "namespace": "default", "finalizers": ["acme.example/keep"]}
    cluster.put(api_path("NIMService", "default", "llm"), {**SERVICE, "metadata": metadata})
    definition = [{**SERVICE, "spec": {}}]
    code, _out, err = call("apply", definition=definition, state="absent", wait_timeout=0)
    assert (code, "FAILED: not gone after 0 s: NIMService default/llm: is" in err) == (2, True)
    code, _out, err = call("apply", definition=definition, state="absent", wait=False)
    assert (code, err) == (0, "- delete NIMService default/llm\n1 to delete\n")


@pytest.fixture
def extensions(monkeypatch):
    """The filters of the scenario `extend`: a label on each child, a sidecar beside each model."""
    folder = ROOT / "molecule/extend/extensions/filter_plugins"
    monkeypatch.setenv("ANSIBLE_FILTER_PLUGINS", str(folder))
    monkeypatch.setenv("NIMOPS_CHILD_FILTERS", "add_team,add_sidecar")


@pytest.mark.usefixtures("extensions")
def test_child_filters_in_every_verb(call, cluster, file, answer):
    _code, out, _err = call("render", files=[file])
    rendered = list(yaml.safe_load_all(out))
    assert {item["metadata"]["labels"]["acme.example/team"] for item in rendered} == {"default"}
    assert "registry.example/acme/audit:1" in call("images", files=[file])[1]
    dry = answer(200, {**SERVICE, "metadata": {"name": "llm", "namespace": "default"}})
    cluster.refuse["PATCH", api_path("NIMService", "default", "llm")] = [dry]
    planned = json.loads(call("plan", files=[file], output="json")[1])["changes"]
    (made,) = [item["diff"] for item in planned if item["kind"] == "Deployment"]
    assert "registry.example/acme/audit:1" in str(made)
    call("apply", files=[file], wait_timeout=0)
    applied = cluster.objects[api_path("Deployment", "default", "llm")]
    for deployment in (rendered[-1], applied):
        containers = deployment["spec"]["template"]["spec"]["containers"]
        assert [item["name"] for item in containers] == ["llm-ctr", "audit"]


def test_apply_failure_has_reason(call, file):
    code, out, err = call("apply", files=[file], wait_timeout=0)
    assert (code, out) == (2, "")
    assert "FAILED: not Ready after 0 s: NIMService default/llm: NotReady: Waiting for" in err


@pytest.mark.parametrize("verb", ["plan", "apply", "status"])
def test_verbs_without_cluster(call, file, verb):
    code, out, err = call(verb, files=[file], kubeconfig="/nowhere")
    assert (code, out) == (4, "")
    assert err.startswith("ERROR: no usable kubeconfig /nowhere: it does not exist")


@pytest.mark.parametrize("verb", ["plan", "apply", "status"])
def test_verbs_unreachable(call, cluster, file, refused, verb):
    """An API server that refuses has answered; lists leave out what the user may not list."""
    path = api_path("NIMService", "default", "llm") if verb == "apply" else SERVICES
    cluster.refuse["GET", path] = [refused(403, "nimservices is forbidden")]
    code, _out, err = call(verb, **({"files": [file]} if verb == "apply" else {}))
    if verb == "apply":
        assert code == 2
        assert err.startswith("FAILED: ")
        assert "nimservices is forbidden" in err
    else:
        assert code == 0
        assert "you may not list NIMService" in err
    cluster.server.close()
    code, out, err = call(verb, files=[file])
    assert (code, out) == (4, "")
    assert err.startswith("ERROR: the API server http://127.0.0.1:")


def test_apply_unreachable_after_start(call, cluster, file, answer):
    respond = cluster.server.respond

    def fall_silent(request):
        return respond(request) if not cluster.objects else answer(200, "no JSON")

    cluster.server.respond = fall_silent
    code, _out, err = call("apply", files=[file])
    assert code == 2
    assert err.startswith("FAILED: the API server's answer to ")


def test_status_table(call, cluster, file):
    assert call("status") == (0, "", "no custom resources in the cluster\n")
    assert call("apply", files=[file], wait=False)[0] == 0
    code, out, err = call("status")
    assert (code, err) == (0, "")
    head, line = out.splitlines()
    assert head.split()[:4] == ["NAMESPACE", "KIND", "NAME", "STATE"]
    assert line.split()[:5] == ["default", "NIMService", "llm", "NotReady", "NotReady:"]
    (found,) = json.loads(call("status", output="json", nim_namespace="default")[1])
    assert (found["name"], found["replicas"], found["gpus"]) == ("llm", 1, 0)
    assert json.loads(call("status", output="json", nim_namespace="other")[1]) == []


def test_render_with_default_callback(call, file):
    code, out, _err = call("render", files=[file], callback="default")
    assert code == 0
    assert "TASK [Render the objects]" in out
    assert "kind: Deployment" in out
