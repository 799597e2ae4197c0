# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Examples of the documentation run unchanged, through Ansible itself."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names

ROOT = Path(__file__).resolve().parents[4]
PLUGINS = "ansible_collections.nimops.nim.plugins"
MODULES = {
    "apply": "nim_apply",
    "bundle": "nim_bundle",
    "gather": "nim_gather",
    "gpu_status": "gpu_status_info",
    "gpu_upgrade_plan": "gpu_upgrade_plan_info",
    "images": "nim_images_info",
    "install": "nim_install",
    "model_files": "nim_model_files_info",
    "nemo_dependencies": "nim_databases",
    "plan": "nim_plan_info",
    "preflight": "nim_preflight_info",
    "profiles": "nim_profiles_info",
    "release": "nim_release",
    "report": "nim_fleet_report",
    "render": "nim_render",
    "status": "nim_status_info",
    "takeover": "nim_takeover",
    "unbundle": "nim_unbundle",
}
"""The modules that the playbooks call, by playbook."""

NIM = json.loads((ROOT / "tests/nimservice.json").read_text())


@pytest.fixture
def run(call, cluster, tmp_path):
    """Run tasks; their output. The NIMService `nim` is on the cluster."""
    stored = cluster.put(api_path("NIMService", "nim", "llm"), NIM)
    (tmp_path / "nim.yaml").write_text(yaml.safe_dump(NIM))
    (tmp_path / "facts.yaml").write_text("")

    def run_tasks(tasks, *options, **variables):
        play = {"hosts": "localhost", "gather_facts": False, "tasks": tasks}
        (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
        code, out, err = call(
            "play.yml", *options, callback="ansible.builtin.default", nim=stored, **variables
        )
        return code, out + err

    return run_tasks


def examples(module):
    return yaml.safe_load(importlib.import_module(f"{PLUGINS}.modules.{module}").EXAMPLES)


@pytest.mark.parametrize(
    "module",
    [
        *("nim_observe", "nim_reconcile", "nim_report", "nim_write", "nim_render"),
        *("nim_status_info", "requeue_after", "nim_images_info", "nim_resource_info"),
        *("nim_fleet_report", "nim_model_files_info"),
    ],
)
def test_examples_of_modules(run, module):
    tasks = examples(module)
    if module in ("nim_report", "nim_write"):
        tasks.insert(0, examples("nim_observe")[0])
    if module == "nim_status_info":
        tasks[-1]["ignore_errors"] = True  # as nothing is Ready here
    code, message = run(tasks)
    assert code == 0, message
    assert f"ok={len(tasks)} " in message
    assert f"ignored={int(module == 'nim_status_info')} " in message


def test_examples_of_plan(run, cluster, answer):
    first, second, stop = examples("nim_plan_info")
    cluster.refuse["PATCH", api_path("NIMService", "nim", "llm")] = [answer(200, NIM)]
    code, message = run([first, second])
    assert code == 0, message
    assert message.count("3 to create") == 2
    assert "changed=2 " in message
    code, message = run([second, stop])
    assert (code, "Assertion failed" in message) == (2, True)


def test_examples_of_preflight(run, cluster, answer):
    check, stop = examples("nim_preflight_info")
    cluster.refuse["PATCH", api_path("NIMService", "nim", "llm")] = [answer(200, NIM)]
    code, message = run([check])
    assert (code, "changed=0 " in message) == (0, True), message
    code, message = run([check, stop])
    assert (code, "Assertion failed" in message) == (2, True)


def test_examples_of_apply(run, cluster):
    task, removal = examples("nim_apply")
    task["nimops.nim.nim_apply"]["wait_timeout"] = 0
    code, message = run([task])
    assert code == 2
    assert "not Ready after 0 s: NIMService nim/llm: NotReady: Waiting for deployment" in message
    code, message = run([removal])
    assert (code, "- delete NIMService nim/llm" in message) == (0, True), message
    assert api_path("NIMService", "nim", "llm") not in cluster.objects


CUSTOM_RESOURCES = {"nim_service": 3, "nim_cache": 1, "nim_pipeline": 1, "nim_build": 1}
"""The modules for one custom resource, and how many of its examples change something if they run
twice, without the removal. One of `nim_service` runs in check mode."""


@pytest.mark.parametrize(("module", "changed"), CUSTOM_RESOURCES.items())
def test_examples_of_custom_resources(run, controllers, module, changed):
    """An operator is simulated."""
    controllers.objects.clear()
    tasks = examples(module)
    code, message = run(tasks, "--check", "--diff")
    assert (code, controllers.objects) == (0, {}), message
    *present, _absent = tasks
    code, message = run([*present, *present])
    assert code == 0, message
    assert f" changed={changed} " in message
    assert len(controllers.objects) == 1
    code, message = run(tasks)
    assert (code, controllers.objects) == (0, {}), message
    if module == "nim_service":
        assert '"msg": "acme/llm at 10.0.0.1:8000"' in message


def test_examples_of_all_modules():
    """Here, or in test_support_verbs.py, test_takeover.py, test_release.py and others."""
    known = {"nim_observe", "nim_reconcile", "nim_report", "nim_render", "nim_status_info"}
    known |= {"nim_plan_info", "nim_apply", "nim_images_info", "nim_write", "requeue_after"}
    known |= {*CUSTOM_RESOURCES, "nim_resource_info", "nim_fleet_report"}
    modules = {file.stem for file in (ROOT / "plugins/modules").glob("*.py")}
    assert modules == known | {
        *("nim_databases", "nim_profiles_info", "nim_gather", "nim_takeover", "nim_release"),
        *("nim_install", "nim_preflight_info", "gpu_status_info", "gpu_upgrade_plan_info"),
        *("nim_bundle", "nim_unbundle", "nim_model_files_info"),
    }


ALL_MODULES = sorted(file.stem for file in (ROOT / "plugins/modules").glob("*.py"))


def options_of(module):
    """The documented options of a module, including those of fragments."""
    text = importlib.import_module(f"{PLUGINS}.modules.{module}").DOCUMENTATION
    fragments = importlib.import_module(f"{PLUGINS}.doc_fragments._cluster").ModuleDocFragment
    documentation = yaml.safe_load(text)
    options = set(documentation.get("options", {}))
    for name in documentation["extends_documentation_fragment"]:
        part = name.removeprefix("nimops.nim._cluster").removeprefix(".") or "documentation"
        options |= set(yaml.safe_load(getattr(fragments, part.upper()))["options"])
    return options


def test_examples_register_unique_names():
    """docs/develop/decisions/0016-public-names.md."""
    filters = {file.stem for file in (ROOT / "plugins/filter").glob("*.py")}
    playbooks = {file.stem for file in (ROOT / "playbooks").glob("*.yml")}
    assert len({*ALL_MODULES, *filters, *playbooks}) == sum(
        map(len, (ALL_MODULES, filters, playbooks))
    )
    others = [name for name in ALL_MODULES if not name.startswith(("nim_", "gpu_"))]
    assert others == ["requeue_after"], "the runtime's name"


@pytest.mark.parametrize("name", ALL_MODULES)
def test_documentation_of_all_options(name):
    action = importlib.import_module(f"{PLUGINS}.action.{name}").ActionModule
    assert options_of(name) == set(action.spec)


def test_action_group_members():
    groups = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())["action_groups"]
    assert groups == {"nim": [name for name in ALL_MODULES if "kubeconfig" in options_of(name)]}


def test_action_group_defaults(call, tmp_path):
    play = {
        "hosts": "localhost",
        "gather_facts": False,
        "module_defaults": {"group/nimops.nim.nim": {"kubeconfig": "/nowhere"}},
        "tasks": [{"nimops.nim.nim_status_info": {}}],
    }
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    code, _out, err = call("play.yml")
    assert (code, "no usable kubeconfig /nowhere" in err) == (4, True)


def test_playbooks_have_modules():
    playbooks = {file.stem for file in (ROOT / "playbooks").glob("*.yml")}
    assert playbooks - {"reconcile", "finalize"} == set(MODULES)


SHARED = {"files", "definition", "definition_variable", "kubeconfig", "context"}


def variable_of(module, option):
    """The variable of a playbook that stands for an option; that of a server says of which."""
    if option == "namespace":
        return "nim_namespace"
    is_of_server = module == "nim_databases" and option not in SHARED
    return f"postgresql_{option}" if is_of_server else option


@pytest.mark.parametrize(("playbook", "name"), MODULES.items())
def test_playbooks_pass_all_options(playbook, name):
    """Under its own name, except names with a meaning in Jinja."""
    (play,) = yaml.safe_load((ROOT / "playbooks" / f"{playbook}.yml").read_text())
    task = play["tasks"][0]
    variables = {item: variable_of(name, item) for item in options_of(name)}
    passed = {
        option: f"{{{{ {variable} | default(omit) }}}}" for option, variable in variables.items()
    }
    if passed.pop("definition", ""):  # read unchanged, because the text may be untrusted
        passed["definition_variable"] = "definition"
    assert task[f"nimops.nim.{name}"] == passed


def snippets_of(page):
    """The YAML on a page of `docs/user`."""
    text = (ROOT / "docs/user" / page).read_text()
    return re.findall(r"^```yaml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_snippets_about_modules(run, controllers):
    """The others are about the inventory, whose tests run them."""
    blocks = map(yaml.safe_load, snippets_of("modules.md"))
    tasks = [item for block in blocks for item in block if "name" in item and "hosts" not in item]
    code, message = run(tasks)
    assert code == 0, message
    assert '"msg": "acme/llm at 10.0.0.1:8000"' in message


def test_snippets_about_filters(run):
    snippets = snippets_of("filters.md")
    shown = {
        "profile": "one",
        "reasons": ["tensorParallelism wanted 1, profile has 4"],
        "expression": 'has(device.capacity["gpu.nvidia.com"].memory) && '
        '(device.capacity["gpu.nvidia.com"].memory).compareTo(quantity("80Gi")) >= 0',
        "missing": ["ServiceAccount", "Service", "Deployment"],
    }
    found = {name: f"{{{{ {name} }}}}" for name in shown} | {
        "expression": "{{ claim.spec.devices.requests[0].exactly.selectors[1].cel.expression }}"
    }
    tasks = [task for snippet in snippets for task in yaml.safe_load(snippet)]
    that = [f"found['{name}'] == shown['{name}']" for name in shown]
    check = {"ansible.builtin.assert": {"that": that}, "vars": {"found": found, "shown": shown}}
    code, message = run([*tasks, check])
    assert code == 0, message
    assert len(snippets) == 3


def test_snippets_about_extensions():
    page = (ROOT / "docs/user/extend.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    space = {}
    exec(code, space)
    filters = space["FilterModule"]().filters()
    pod = {"spec": {"containers": [{"name": "llm"}]}}
    child = {"kind": "Deployment", "metadata": {"name": "llm"}, "spec": {"template": pod}}
    changed = filters["add_sidecar"](filters["add_team"](child, NIM), NIM)
    assert changed["metadata"]["labels"] == {"acme.example/team": "nim"}
    assert [item["name"] for item in pod["spec"]["containers"]] == ["llm", "audit"]


def test_roles_argument_specs(run):
    """Runs the role of each kind on a resource that is being deleted, which stays unchanged."""
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z", "name": "x", "namespace": "nim"}
    spec = {"nimCache": {"name": "models"}, "image": NIM["spec"]["image"]}
    for kind in kind_names():
        role = kind.lower()
        resource = {"apiVersion": NIM["apiVersion"], "kind": kind, "metadata": gone, "spec": spec}
        include = {"ansible.builtin.include_role": {"name": f"nimops.nim.{role}"}}
        code, message = run([include], **{f"{role}_resource": resource})
        assert code == 0, message
        code, message = run([include])
        assert code == 2, message
        assert f"set {role}_resource" in message
