# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What stands in documentation runs as it stands there, through Ansible itself."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import api_path
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names

ROOT = Path(__file__).resolve().parents[4]
PLUGINS = "ansible_collections.nimops.nim.plugins"
VERBS = sorted(file.stem for file in (ROOT / "playbooks").glob("*.yml") if file.stem[:3] != "nim")
NIM = json.loads((ROOT / "tests/nimservice.json").read_text())


@pytest.fixture
def run(call, cluster, tmp_path):
    """Run tasks; their output. The NIMService `nim` is on the cluster."""
    stored = cluster.put(api_path("NIMService", "nim", "llm"), NIM)
    (tmp_path / "nim.yaml").write_text(yaml.safe_dump(NIM))
    (tmp_path / "facts.yaml").write_text("")

    def run_tasks(tasks, **variables):
        play = {"hosts": "localhost", "gather_facts": False, "tasks": tasks}
        (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
        code, out, err = call(
            "play.yml", callback="ansible.builtin.default", nim=stored, **variables
        )
        return code, out + err

    return run_tasks


def examples(module):
    return yaml.safe_load(importlib.import_module(f"{PLUGINS}.modules.{module}").EXAMPLES)


@pytest.mark.parametrize("module", ["observe", "report", "render", "status"])
def test_examples_of_modules(run, module):
    tasks = examples(module)
    if module == "report":
        tasks.insert(0, examples("observe")[0])
    if module == "status":
        tasks[-1]["ignore_errors"] = True  # as nothing is Ready here
    code, said = run(tasks)
    assert code == 0, said
    assert f"ok={len(tasks)} " in said
    assert f"ignored={int(module == 'status')} " in said


def test_an_example_of_plan_says_what_would_change(run, cluster, answer):
    first, second = examples("plan")
    cluster.refuse["PATCH", api_path("NIMService", "nim", "llm")] = [answer(200, NIM)]
    for task in (first, second):
        code, said = run([task])
        assert code == 2, said
        assert '"msg": "5 to create"' in said


def test_an_example_of_apply_waits(run):
    (task,) = examples("apply")
    task["nimops.nim.apply"]["wait_timeout"] = 0
    code, said = run([task])
    assert code == 2
    assert "not Ready after 0 s: NIMService nim/llm: NotReady: Waiting for deployment" in said


def test_examples_of_requeue_after(run):
    tasks = examples("requeue_after")
    code, said = run(tasks, said={"error": ""})
    assert (code, f"ok={len(tasks)} " in said) == (0, True)
    code, said = run(tasks, said={"error": "so it is"})
    assert (code, "so it is" in said) == (2, True)


def test_all_modules_have_their_examples_run():
    """Here, or in test_support_verbs.py."""
    known = {"observe", "report", "render", "status", "plan", "apply", "requeue_after"}
    modules = {file.stem for file in (ROOT / "plugins/modules").glob("*.py")}
    assert modules == known | {"profiles", "gather"}


def options_of(fragment):
    """The options of a part of the collection's documentation fragment."""
    part = fragment.removeprefix("nimops.nim._cluster").removeprefix(".") or "documentation"
    shared = importlib.import_module(f"{PLUGINS}.doc_fragments._cluster").ModuleDocFragment
    return set(yaml.safe_load(getattr(shared, part.upper()))["options"])


@pytest.mark.parametrize("verb", VERBS)
def test_a_playbook_has_every_option(verb):
    """Under its own name, but for what Jinja has a meaning for."""
    module = importlib.import_module(f"{PLUGINS}.modules.{verb}")
    action = importlib.import_module(f"{PLUGINS}.action.{verb}")
    (play,) = yaml.safe_load((ROOT / "playbooks" / f"{verb}.yml").read_text())
    ((task,),) = [play["tasks"]]
    options = set(action.ActionModule.spec)
    variables = {name: {"namespace": "nim_namespace"}.get(name, name) for name in options}
    assert task[f"nimops.nim.{verb}"] == {
        name: f"{{{{ {variable} | default(omit) }}}}" for name, variable in variables.items()
    }
    documentation = yaml.safe_load(module.DOCUMENTATION)
    shared = [options_of(name) for name in documentation["extends_documentation_fragment"]]
    assert set(documentation.get("options", {})).union(*shared) == options


SNIPPETS = re.findall(
    r"^```yaml\n(.*?)^```$", (ROOT / "docs/user/filters.md").read_text(), re.DOTALL | re.MULTILINE
)


def test_snippets_of_the_page_about_filters(run):
    shown = {
        "profile": "one",
        "reasons": ["tensorParallelism wanted 1, profile has 4"],
        "expression": '(device.capacity["gpu.nvidia.com"].memory).compareTo(quantity("80Gi")) >= 0',
        "missing": ["ServiceAccount", "Role", "RoleBinding", "Service", "Deployment"],
        "state": "NotReady",
    }
    found = {name: f"{{{{ {name} }}}}" for name in shown} | {
        "expression": "{{ claim.spec.devices.requests[0].exactly.selectors[1].cel.expression }}"
    }
    tasks = [task for snippet in SNIPPETS for task in yaml.safe_load(snippet)]
    that = [f"found['{name}'] == shown['{name}']" for name in shown]
    check = {"ansible.builtin.assert": {"that": that}, "vars": {"found": found, "shown": shown}}
    code, said = run([*tasks, check])
    assert code == 0, said
    assert len(SNIPPETS) == 3


def test_roles_have_argument_specs_that_run(run):
    """Of each kind, with a resource that is being deleted, which is left alone."""
    roles = sorted(file.stem for file in (ROOT / "playbooks").glob("nim*.yml"))
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z", "name": "x", "namespace": "nim"}
    spec = {"nimCache": {"name": "models"}, "image": NIM["spec"]["image"]}
    for role, kind in zip(roles, kind_names(), strict=True):
        resource = {"apiVersion": NIM["apiVersion"], "kind": kind, "metadata": gone, "spec": spec}
        include = {"ansible.builtin.include_role": {"name": f"nimops.nim.{role}"}}
        code, said = run([include], **{f"{role}_resource": resource})
        assert code == 0, said
        code, said = run([include])
        assert code == 2, said
        assert f"missing required arguments: {role}_resource" in said
