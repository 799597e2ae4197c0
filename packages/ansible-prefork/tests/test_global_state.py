# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The parent keeps no data of a play, neither in module state nor elsewhere in its memory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from harness import Site, make_site, wait_for

pytest.importorskip("ansible")

MARK = "m4rk"
# State that differs from run to run or depends only on files, and so may change in a play.
ANY_PLAY = {
    r":(\w+!defaults\[0\]\[')?DEFAULT_LOCAL_TMP": "the temporary directory of the run, made by refresh_process",
    r"^ansible\.utils\.vars:random_int$": "set again by refresh_process, as at import",
    r"^process:atexit$": "the removal of the run's temporary directory",
}
# Only the first play of its kind loads plugins; what is loaded is code and documentation, by name and path.
FIRST_PLAY = {
    **ANY_PLAY,
    r":\w*_loader[.!]": "plugins and their paths, from files",
    r":\w*_loader$": "plugins and their paths, from files",
    r"^ansible\.plugins\.loader:glob\._known[\[!]": "the files of directories that do not change, by pattern",
    r"!attributes!length$": "functions of plugins that have been loaded",
    r":action_write_locks": "a lock for each action, by name",
    r":config\._plugins": "the options that plugins define, from their documentation",
    r":_PLUGIN_FILTERS": "the kinds of plugins of which the filter file has been read",
    r"^ansible\.plugins\.vars\.host_group_vars:(FOUND|NAK|CANONICAL_PATHS|PATH_CACHE)": "paths of group_vars, by path",
    r"\.__slotnames__": "names of slots, by class",
    r"_fattributes!cached$": "fields of playbook objects, by class",
    r"^ansible(\.[a-z_]+)+:\w+\._abc_impl": "subclasses that have been checked, by class",
    r":UnifiedTaskResult\.\w+_mapping!cached$": "names of fields, by class",
    r"_get_builtin_routing_metadata!cached$": "redirections of names, from files",
    r"^ansible_prefork\.modules:is_own_interpreter!cached$": "names of the interpreter, by path",
    r"^process:modules$": "modules imported",
    r"^ansible_prefork\.templates:_codes": "the code of templates, by their text",
    r"^ansible_prefork\.templates:_changing": "templates that may change variables, by their text",
    r"^ansible_prefork\.templates:_compile_context!cached$": "a class of ansible-core, or that there is none",
    r"^ansible_prefork\.plugin_docs:_without_options": "the documentation of plugins, by path",
}
# Since ansible-core 2.21 the first task that adds a host starts a server in the process; the warm-up has none.
SERVER = {r"^ansible\._internal\._rpc_host:": "the server", r"^process:(threads|files)$": "its threads and its socket"}
# Regular expressions that a template gives to the filter ``search``: the cache of the module re has at most 512 of
# them. The warm-up's play has none.
HOLDERS = (r"^(Pattern|tuple|dict) < .*\bre holds ",)


def unexplained(changes: dict[str, list[str | None]], reasons: dict[str, str], modules: set[str]) -> dict:
    return {
        path: change
        for path, change in changes.items()
        if path.partition(":")[0] not in modules and not any(re.search(pattern, path) for pattern in reasons)
    }


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    work = tmp_path_factory.mktemp("work")
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    command = [sys.executable, str(Path(__file__).with_name("global_state_probe.py")), str(work), MARK]
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_probe_size(probe):
    assert probe["size"] > 10_000
    assert any("_loader" in path for path in probe["first"])


def test_forget_run_first_play(probe):
    has_server = any(path.startswith("ansible._internal._rpc_host:LocalManager") for path in probe["first"])
    reasons = {**FIRST_PLAY, **SERVER} if has_server else FIRST_PLAY
    # What a module brings with it when it is imported is code.
    assert unexplained(probe["first"], reasons, set(probe["imported"])) == {}


def test_forget_run_other_values(probe):
    assert unexplained(probe["second"], ANY_PLAY, set()) == {}


def test_forget_run_no_holders(probe):
    assert [text for text in probe["holders"] if not any(re.search(pattern, text) for pattern in HOLDERS)] == []


def test_forget_run_warm_up_value(probe):
    assert probe["warm"] == []


PLAY = """
- hosts: localhost
  gather_facts: false
  vars_files: [vars.yml]
  tasks:
    - name: Extra variable in the process of the play, {{ extra }}
      ansible.builtin.set_fact:
        fact: "{{ extra }} {{ vaulted }}"
    - name: In a module
      ansible.builtin.ping:
        data: "{{ extra }}"
    - name: Not in the log
      ansible.builtin.command: "echo {{ hidden }}"
      no_log: true
    - name: Kubeconfig and environment
      ansible.builtin.command: "sh -c 'cat $K8S_AUTH_KUBECONFIG; echo $RUN_SECRET $TASK_SECRET'"
      environment:
        TASK_SECRET: "{{ task_secret }}"
      register: seen
    - name: All are there
      ansible.builtin.assert:
        that: >-
          lookup('ansible.builtin.env', 'RUN_SECRET') in seen.stdout
          and lookup('ansible.builtin.file', lookup('ansible.builtin.env', 'K8S_AUTH_KUBECONFIG')) in seen.stdout
          and task_secret in seen.stdout and (vaulted | string) in fact
    - name: Time for the search
      ansible.builtin.command: "sleep {{ seconds }}"
"""
ENCRYPT = """
import sys
from ansible.parsing.vault import VaultLib, VaultSecret
print(VaultLib([("default", VaultSecret(sys.argv[2].encode()))]).encrypt(sys.argv[1].encode()).decode())
"""
KINDS = ("extra", "hidden", "task_secret", "vaulted", "password", "environment", "kubeconfig", "argument")


def prepare(site: Site, secrets: dict[str, str], seconds: int) -> list[str]:
    """The arguments of a run that brings all the secrets; what they are written to is the run's own."""
    place = site.root / "p"
    for name in ("project", "inventory", "env"):
        (place / name).mkdir(parents=True, exist_ok=True)
    (place / "project" / "play.yml").write_text(PLAY)
    done = subprocess.run(
        [sys.executable, "-c", ENCRYPT, secrets["vaulted"], secrets["password"]],
        check=True,
        capture_output=True,
        text=True,
    )
    vault = "".join(f"  {line}\n" for line in done.stdout.splitlines())
    (place / "project" / "vars.yml").write_text(f"vaulted: !vault |\n{vault}")
    interpreter = 'ansible_python_interpreter="{{ ansible_playbook_python }}"'
    (place / "inventory" / "hosts").write_text(f"localhost ansible_connection=local {interpreter}\n")
    (site.root / "kubeconfig").write_text(secrets["kubeconfig"])
    (site.root / "password").write_text(secrets["password"])
    variables = {name: secrets[name] for name in ("extra", "hidden", "task_secret")}
    (place / "env" / "extravars").write_text(json.dumps({**variables, "seconds": seconds}))
    (place / "env" / "envvars").write_text(json.dumps({"RUN_SECRET": secrets["environment"]}))
    command = f"--vault-password-file {site.root / 'password'} -e argument={secrets['argument']}"
    (place / "env" / "cmdline").write_text(command)
    return ["run", str(place), "-p", "play.yml"]


def processes(site: Site) -> dict[int, str]:
    """The processes of the site and their command lines."""
    found = {}
    for pid in site.processes():
        try:
            found[pid] = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
    return found


def find_in_memory(pid: int, texts: dict[str, str]) -> set[str]:
    """The names of the texts that are somewhere in the writable memory of a process."""
    found: set[str] = set()
    try:
        maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for line in maps:
                span, rights = line.split()[:2]
                if not rights.startswith("rw"):
                    continue
                start, end = (int(number, 16) for number in span.split("-"))
                try:
                    memory.seek(start)
                    data = memory.read(end - start)
                except (OSError, OverflowError):
                    continue
                found |= {name for name, text in texts.items() if text.encode() in data}
    except FileNotFoundError:
        return found
    except PermissionError:
        pytest.skip("the memory of another process cannot be read here")
    return found


@pytest.fixture
def real_site():
    pytest.importorskip("ansible_runner")
    with make_site(fake=False) as site:
        site.environment["PATH"] += f":{Path(sys.executable).parent}"
        yield site


@pytest.mark.parametrize("started_by", ["client", pytest.param("hand", marks=pytest.mark.nightly)])
def test_parent_memory_without_secrets(real_site, started_by):
    site = real_site
    client = str(site.root / "bin" / "ansible-runner")
    if started_by == "hand":
        site.parent(program="ansible-runner")
    rounds = []
    for seconds in (0, 0, 4):
        # Created here and searched only in other processes.
        secrets = {name: f"{name}-{uuid.uuid4().hex}" for name in KINDS}
        arguments = prepare(site, secrets, seconds)
        environment = {
            "RUN_SECRET": secrets["environment"],
            "K8S_AUTH_KUBECONFIG": str(site.root / "kubeconfig"),
            "K8S_AUTH_PASSWORD": secrets["environment"],
        }
        process = site.start(*arguments, client=client, env=environment)
        rounds.append(secrets)
        if seconds:
            # While it runs, its own processes have all of them: the search is one that finds.
            missing = set(secrets)
            while missing and process.poll() is None:
                for pid, line in processes(site).items():
                    if "ansible_prefork parent" in line:
                        missing -= find_in_memory(pid, secrets)
            assert missing == set()
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, out + err
    parents = wait_for(lambda: (found := processes(site)) and len(found) == 2 and found)
    assert sorted(re.findall(r"--program (\S+)", " ".join(parents.values()))) == ["ansible-runner", "module"]
    for pid in parents:
        assert find_in_memory(pid, {"there": str(site.directory)}) == {"there"}
        for secrets in rounds:
            assert find_in_memory(pid, secrets) == set()
        for name in ("environ", "cmdline"):
            text = Path(f"/proc/{pid}/{name}").read_text()
            assert [secret for secret in rounds[0].values() if secret in text] == []
