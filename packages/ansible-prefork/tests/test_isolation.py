# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The plugins and templates that move a task to a worker. test_equivalence compares the effects."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import jinja2
import pytest

from ansible_prefork import isolation, templates

ASK = """
import json, sys
from ansible.plugins import loader
loader.init_plugin_loader()
from ansible_prefork import isolation
known = isolation._Known()
known.find_collections()
def path(kind, name):
    plugins = getattr(loader, kind + "_loader")
    if kind in ("filter", "test"):
        return plugins.get(name)._original_path
    return plugins.find_plugin(name)
print(json.dumps([known.is_foreign(kind, path(kind, name)) for kind, name in json.loads(sys.argv[1])]))
"""
PLUGINS = {
    ("action", "ansible.builtin.template"): (False, False),
    ("lookup", "ansible.builtin.pipe"): (False, False),
    ("filter", "ansible.builtin.combine"): (False, False),
    ("connection", "ansible.builtin.local"): (False, False),
    ("action", "own.kept.do"): (True, False),
    ("filter", "own.kept.twice"): (True, False),
    ("action", "own.other.do"): (True, True),
    ("action", "kubernetes.core.k8s"): (False, False),
    ("lookup", "kubernetes.core.k8s"): (True, True),
}


@pytest.mark.parametrize(("preload", "side"), [(None, 0), ("own.kept", 1)], ids=["", "vouched"])
def test_is_foreign_plugins(tmp_path, preload, side):
    for collection in ("own/kept", "own/other", "kubernetes/core"):
        for kind, name in (("action", "do"), ("action", "k8s"), ("lookup", "k8s"), ("filter", "twice")):
            path = tmp_path / "ansible_collections" / collection / "plugins" / kind / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("class FilterModule:\n    def filters(self):\n        return {'twice': str}\n")
    env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(tmp_path), "PREFORK_PRELOAD": preload or ""}
    if preload is None:
        del env["PREFORK_PRELOAD"]
    command = [sys.executable, "-c", ASK, json.dumps(list(PLUGINS))]
    done = subprocess.run(command, check=False, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = dict(zip(PLUGINS, json.loads(done.stdout.splitlines()[-1]), strict=True))
    assert found == {name: expected[side] for name, expected in PLUGINS.items()}


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("{{ a }} {{ a.b }} {{ a | f }} {{ a is t }}", False),
        ("{{ a.lower().split('.')[0] }} {{ d.items() | list }} {{ d.get('x') }}", False),
        (
            "{{ lookup('x') }} {{ query('x') }} {{ range(3) }} {% for i in range(3) %}{{ loop.cycle(1, 2) }}{% endfor %}",
            False,
        ),
        ("{% macro m() %}x{% endmacro %}{{ m() }}", False),
        ("{{ a.append }}", False),
        ("{{ a.append(1) }}", True),
        ("{{ vars['a'].append(1) }}", True),
        ("{% set _ = a.update({}) %}", True),
        ("{{ a['append'](1) }}", True),
        ("{% set f = a.append %}{{ f(1) }}", True),
        ("{% if a.pop() %}{% endif %}", True),
        ("{% macro m() %}{{ a.clear() }}{% endmacro %}{{ m() }}", True),
        ("{{ (a or b).extend([]) }}", True),
    ],
)
def test_may_change_calls(text, changes):
    assert templates.may_change(jinja2.Environment().parse(text)) is changes


def test_move_to_worker_outside_task():
    isolation.move_to_worker()
    assert not isolation.has_moved()
    assert not isolation.is_worker()
