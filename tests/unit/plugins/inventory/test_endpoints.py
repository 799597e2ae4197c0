# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The inventory of models, as Ansible reads it."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path

ROOT = Path(__file__).resolve().parents[4]
PLUGIN = "nimops.nim.endpoints"


def put(cluster, name, namespace="nim", *, model="acme/llm", outside="", ready=True, **labels):
    known = {"name": model, "clusterEndpoint": "10.0.0.1:8000", "externalEndpoint": outside}
    conditions = [{"type": "Ready", "status": str(ready)}]
    status = {"state": "Ready" if ready else "NotReady", "conditions": conditions, "model": known}
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    path = api_path("NIMService", namespace, name)
    cluster.put(path, {"metadata": metadata, "spec": {}, "status": status})


FORKS = """\
import json, os, signal, sys
from ansible.cli import inventory, playbook

for line in sys.stdin:
    program, options, folder, environment = json.loads(line)
    if not (pid := os.fork()):
        signal.alarm(120)
        os.environ.update(environment)
        os.chdir(folder)
        for descriptor, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
        main = {"inventory": inventory.main, "playbook": playbook.main}[program]
        main([f"ansible-{program}", *options])
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""
"""Runs are forks of one process with Ansible imported: an import takes a second."""


@pytest.fixture(scope="module")
def run_fork(tmp_path_factory):
    """Run a program of Ansible in a fork; (exit code, stdout, stderr)."""
    if not os.environ.get("ANSIBLE_COLLECTIONS_PATH"):
        pytest.skip("ANSIBLE_COLLECTIONS_PATH does not say where this collection is installed")
    paths = os.environ["ANSIBLE_COLLECTIONS_PATH"].split(os.pathsep)
    environment = {
        **{key: item for key, item in os.environ.items() if not key.startswith("K8S_AUTH_")},
        "ANSIBLE_COLLECTIONS_PATH": os.pathsep.join(map(os.path.abspath, paths)),
        "ANSIBLE_HOME": str(tmp_path_factory.mktemp("ansible")),
        "ANSIBLE_NOCOLOR": "true",
    }
    command = [sys.executable, "-c", FORKS]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as forks:

        def run(program, options, folder, **environment):
            forks.stdin.write(f"{json.dumps([program, options, str(folder), environment])}\n")
            forks.stdin.flush()
            code = int(forks.stdout.readline())
            return code, (folder / "out").read_text(), (folder / "err").read_text()

        yield run
        forks.stdin.close()


@pytest.fixture
def start(cluster, tmp_path, run_fork):
    """Start a program of Ansible with an inventory; (exit code, stdout, stderr)."""

    def run(program, *options, name="all.nim.yml", **inventory):
        file = tmp_path / name
        file.write_text(yaml.safe_dump({"plugin": PLUGIN} | inventory))
        kubeconfig = cluster.kubeconfig(tmp_path)
        return run_fork(program, ["-i", str(file), *options], tmp_path, KUBECONFIG=kubeconfig)

    return run


@pytest.fixture
def read(start):
    """The groups and the variables of the hosts."""

    def list_inventory(**inventory):
        code, out, err = start("inventory", "--list", **inventory)
        assert code == 0, err
        found = json.loads(out, object_hook=lambda item: item.get("__ansible_unsafe", item))
        return found, found.pop("_meta")["hostvars"]

    return list_inventory


def test_endpoints(cluster, read):
    put(cluster, "llm", team="a")
    put(cluster, "new", ready=False)
    groups, hosts = read()
    assert groups["nim_endpoints"] == {"hosts": ["llm.nim"]}
    assert hosts["llm.nim"]["nim_url"] == "http://10.0.0.1:8000"
    assert hosts["llm.nim"]["nim_models"] == ["acme/llm"]
    assert hosts["llm.nim"]["ansible_connection"] == "local"
    groups, hosts = read(include_not_ready=True)
    assert set(hosts) == {"llm.nim", "new.nim"}


def test_endpoints_text_is_data(cluster, read, start, tmp_path):
    """Labels and names of models are text of tenants: neither templates nor groups of others."""
    evil = "{{ lookup('pipe', 'touch /nowhere/x') }}"
    put(cluster, "llm", model=evil, team="a-b/{{ 1 + 1 }}", outside=evil)
    keyed = [
        {"prefix": "model", "key": "nim_models"},
        {"prefix": "team", "key": "nim_labels.team"},
    ]
    options = {"keyed_groups": keyed, "compose": {"copied": "nim_model"}, "strict": True}
    groups, hosts = read(**options)
    names = set(groups["all"]["children"])
    assert all(name.isidentifier() for name in names)
    assert "team_a_b____1___1___" in names
    text = json.dumps(hosts)
    assert text.count("touch /nowhere/x") == 3
    shown = {"ansible.builtin.debug": {"msg": "{{ nim_model }} {{ copied }} {{ nim_labels.team }}"}}
    play = {"hosts": "nim_endpoints", "gather_facts": False, "tasks": [shown]}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    code, out, err = start("playbook", "play.yml", **options)
    assert (code, json.dumps(f"{evil} {evil} a-b/{{{{ 1 + 1 }}}}") in out) == (0, True), out + err


def test_endpoints_examples(cluster, read):
    name = f"ansible_collections.nimops.nim.plugins.inventory.{PLUGIN.rsplit('.', 1)[1]}"
    everything, search = yaml.safe_load_all(importlib.import_module(name).EXAMPLES)
    put(cluster, "llm", model="meta/llama-3.1-8b-instruct", team="search", outside="a.example")
    put(cluster, "other")
    assert set(read(**everything)[1]) == {"llm.nim", "other.nim"}
    groups, hosts = read(**search)
    assert set(hosts) == {"llm.nim"}
    assert hosts["llm.nim"]["nim_chat_url"] == "http://a.example/v1/chat/completions"
    for group in ("namespace_nim", "model_meta_llama_3_1_8b_instruct", "exposed"):
        assert groups[group]["hosts"] == ["llm.nim"]


def test_endpoints_cache(cluster, read, tmp_path):
    cache = {"cache": True, "cache_plugin": "ansible.builtin.jsonfile"}
    cache["cache_connection"] = str(tmp_path / "cache")
    put(cluster, "llm")
    found = read(**cache)
    count = len(cluster.server.requests)
    assert read(**cache) == found
    assert len(cluster.server.requests) == count
    put(cluster, "more")
    assert set(read()[1]) == {"llm.nim", "more.nim"}


def test_endpoints_without_definition(cluster, start):
    del cluster.kinds["NIMService"]
    code, out, err = start("inventory", "--list")
    assert (code, json.loads(out)["_meta"]["hostvars"]) == (0, {})
    assert "the cluster does not know the kind NIMService" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kubeconfig": "/nowhere"}, "no usable kubeconfig /nowhere"),
        ({"name": "all.yml"}, "could not be verified"),
    ],
    ids=str,
)
def test_endpoints_invalid(start, options, message):
    _code, _out, err = start("inventory", "--list", **options)
    assert message in err
    assert "Traceback" not in err


def test_endpoints_documented_play(cluster, start, tmp_path, serve, answer):
    """A task on each host asks the model that it stands for."""
    page = (ROOT / "docs/user/modules.md").read_text()
    section = page[page.index("## Models as an inventory") :]
    blocks = re.findall(r"^```yaml\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    inventory, play = map(yaml.safe_load, blocks[:2])
    model = serve(lambda _request: answer(200, '{"data": [{"id": "acme/llm"}]}'))
    put(cluster, "llm", outside=model.host, team="search")
    (tmp_path / "play.yml").write_text(yaml.safe_dump(play))
    code, out, err = start("playbook", "play.yml", **inventory)
    assert code == 0, out + err
    assert "llm.nim                    : ok=2" in out
