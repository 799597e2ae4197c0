# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Templates that are compiled once and files that are parsed once have the same results as without caching."""

from __future__ import annotations

import inspect

import jinja2
import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.conditional import Conditional
from ansible.plugins import loader
from ansible.template import Templar

from ansible_prefork import files, templates

HAS_TRUST = "trusted_as_template" in inspect.signature(DataLoader.load_from_file).parameters
TRUST = {"trusted_as_template": True} if HAS_TRUST else {}
TASKS = r"""
- name: "{{ title }}"
  debug:
    msg: "{% if number > 1 %}{{ text | regex_replace('(a)', '\\1b') }}{% else %}few{% endif %}"
  when: number | int > 1
- assert:
    that: [text is defined, "not (text is match('b'))"]
"""
VARIABLES = {"title": "T", "number": 2, "text": "aa"}
WANTED = ["T", "abab", True, True, True]


@pytest.fixture
def stock(monkeypatch):
    """Reverts all patches at the end of the test."""
    for owner, name in ((jinja2.Environment, "compile"), (jinja2.Environment, "compile_expression")):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    monkeypatch.setattr(DataLoader, "load_from_file", DataLoader.load_from_file)
    monkeypatch.setattr(templates, "_codes", {})
    monkeypatch.setattr(files, "_parsed", {})


@pytest.fixture
def compiled(monkeypatch):
    """The calls that make Jinja generate code."""
    counted, generate = [], jinja2.Environment._generate
    monkeypatch.setattr(
        jinja2.Environment, "_generate", lambda *given, **named: counted.append(1) or generate(*given, **named)
    )
    return counted


@pytest.fixture
def tasks(tmp_path):
    path = tmp_path / "main.yml"
    path.write_text(TASKS)
    return path


def evaluate(tasks):
    """The values of the texts in a play."""
    data = DataLoader().load_from_file(str(tasks), **TRUST)
    templar = Templar(DataLoader(), variables=VARIABLES)
    found = [templar.template(data[0]["name"]), templar.template(data[0]["debug"]["msg"])]
    for condition in (data[0]["when"], *data[1]["assert"]["that"]):
        if HAS_TRUST:
            found.append(templar.evaluate_conditional(condition))
        else:
            found.append(Conditional(DataLoader())._check_conditional(condition, templar, VARIABLES))
    return found


@pytest.mark.usefixtures("stock")
def test_templates_same_results(tasks, compiled):
    assert evaluate(tasks) == WANTED
    data = DataLoader().load_from_file(str(tasks), **TRUST)
    templates.install(data)
    compiled.clear()
    assert evaluate(tasks) == WANTED
    assert compiled == []


@pytest.mark.usefixtures("stock")
def test_templates_filters_of_playbook(tasks, compiled, monkeypatch, tmp_path):
    templates.install(DataLoader().load_from_file(str(tasks), **TRUST))
    monkeypatch.setattr(loader.filter_loader, "_extra_dirs", [str(tmp_path)])
    compiled.clear()
    assert evaluate(tasks) == WANTED
    assert len(compiled) == 5


@pytest.mark.usefixtures("stock")
def test_templates_invalid():
    templates.install([{"name": "{{ x", "when": "x ==", "msg": "{{ 1 | no_such_filter }}"}])
    assert templates._codes == {}


@pytest.mark.usefixtures("stock")
def test_templates_delimiters():
    templates.install([])
    texts = [jinja2.Environment(variable_start_string=begin).from_string("[[ 1 }}{{ 1 }}") for begin in ("{{", "[[")]
    assert [text.render() for text in texts] == ["[[ 1 }}1", "1{{ 1 }}"]


@pytest.mark.usefixtures("stock")
def test_templates_cache_limit(monkeypatch):
    monkeypatch.setattr(templates, "MAXIMUM", 3)
    templates.install([])
    for number in range(9):
        assert jinja2.Environment().from_string(f"{{{{ {number} }}}}").render() == str(number)
    assert len(templates._codes) == 3


@pytest.mark.usefixtures("stock")
@pytest.mark.parametrize("is_preloaded", [True, False])
def test_files_second_load(tmp_path, is_preloaded):
    path = tmp_path / "roles" / "one" / "tasks" / "main.yml"
    path.parent.mkdir(parents=True)
    path.write_text(TASKS)
    files.install([tmp_path] if is_preloaded else [])
    own = DataLoader()
    first = own.load_from_file(str(path), **TRUST)
    first[0]["name"] = "changed by a caller"
    second, third = own.load_from_file(str(path), **TRUST), own.load_from_file(str(path), **TRUST)
    assert second[0]["name"] == third[0]["name"] == "{{ title }}"
    assert second is not third


@pytest.mark.usefixtures("stock")
def test_files_changed(tmp_path):
    path = tmp_path / "roles" / "one" / "tasks" / "main.yml"
    path.parent.mkdir(parents=True)
    path.write_text("- name: before\n")
    files.install([tmp_path])
    path.write_text("- name: afterwards\n")
    assert DataLoader().load_from_file(str(path), **TRUST) == [{"name": "afterwards"}]


@pytest.mark.usefixtures("stock")
@pytest.mark.skipif(not HAS_TRUST, reason="before ansible-core 2.19 there is no trust")
@pytest.mark.parametrize("trusted", [True, False])
def test_files_trust_of_first_load(tmp_path, trusted):
    path = tmp_path / "vars.yml"
    path.write_text("text: '{{ 1 + 1 }}'\n")
    results = []
    for is_installed in (False, True):
        if is_installed:
            files.install([])
        own = DataLoader()
        loads = [own.load_from_file(str(path), trusted_as_template=each) for each in (trusted, not trusted)]
        results.append([Templar(own).template(item["text"]) for item in loads])
    assert results[0] == results[1]
