# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The optimizations of kubernetes.core's modules have the same results as stock."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ansible_prefork import kubernetes_core

pytest.importorskip("ansible_collections.kubernetes.core", reason="kubernetes.core comes with the package ansible")
pytest.importorskip("kubernetes", reason="the client that kubernetes.core uses")

# Runs `body` in a new interpreter, with the patches if `warm`, and prints the `answer` of the body.
FRAME = """
import importlib, json, sys
from ansible_prefork import kubernetes_core, modules
modules.add_collections_to_path()
def load(name):
    return importlib.import_module(kubernetes_core.UTILS + "." + name)
core, apply, client, dynamic = load("k8s.core"), load("apply"), load("k8s.client"), load("k8sdynamicclient")
from kubernetes.config import kube_config
{before}
if {warm}:
    kubernetes_core.install()
{body}
print(json.dumps(answer, default=str))
"""


def play(body: str, *, warm: bool, before: str = "") -> object:
    code = FRAME.format(body=body, warm=warm, before=before)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


VERSIONS = """
searched = []
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        searched.append(name)
sys.meta_path.insert(0, Finder)
core.gather_versions()["kubernetes"] = "changed by a caller"
answer = [core.gather_versions(), core.has_at_least("kubernetes", "12.0.0"), core.has_at_least("none")]
answer.append(any("." not in name for name in searched))
"""


def test_gather_versions_once():
    stock, warm = play(VERSIONS, warm=False), play(VERSIONS, warm=True)
    assert stock[:3] == warm[:3]
    assert (stock[3], warm[3]) == (True, False)


KUBECONFIG = """
import io
texts = {
    "usual": "a: &x {b: [1, 2.5, yes, ~, 2026-01-02]}\\nc: *x\\nd: 'é'\\n",
    "empty": "",
    "json": '{"apiVersion": "v1", "users": [{"name": "a", "user": {}}]}',
    "twice": "a: 1\\na: 2\\n",
    "broken": "a: [",
    "tag": "a: !!python/object:os.system {}",
}
answer = {}
for name, text in texts.items():
    try:
        answer[name] = kube_config.yaml.safe_load(io.StringIO(text))
    except kube_config.yaml.YAMLError as error:
        answer[name] = type(error).__name__
answer["loader"] = kube_config.yaml.safe_load.__qualname__
"""


def test_kubeconfig_same_results():
    stock, warm = play(KUBECONFIG, warm=False), play(KUBECONFIG, warm=True)
    assert stock.pop("loader") != warm.pop("loader")
    assert stock == warm
    assert stock["broken"] == "ParserError"


APPLY = """
from kubernetes.dynamic.exceptions import NotFoundError
done = []
class Resource:
    def get(self, **options):
        done.append("get")
        error = type("Error", (), {"status": 404, "reason": "", "body": "", "headers": {}})()
        raise NotFoundError(error, "")
    def server_side_apply(self, **options):
        done.append(["apply", options])
        return options["body"]
    def create(self, **options):
        done.append(["create", options])
        return options["body"]
definition = {"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}, "data": {"b": "c"}}
for options in (
    {"server_side": True, "field_manager": "me", "force_conflicts": True, "serialize": False},
    {},
    {"server_side": True},
    {"server_side": False},
):
    done.append(dynamic.k8s_apply(Resource(), definition, **options))
answer = [item for item in done if item != "get"], done.count("get")
"""


def test_apply_without_get():
    (stock, reads), (warm, fewer) = play(APPLY, warm=False), play(APPLY, warm=True)
    assert stock == warm
    assert (reads, fewer) == (4, 2)


def test_apply_unknown_version():
    before = "kubernetes_core.KNOWN_APPLY = frozenset()"
    assert play(APPLY, warm=True, before=before) == play(APPLY, warm=False)


def test_install_without_kubernetes_core():
    code = (
        "import sys; from ansible_prefork import kubernetes_core; kubernetes_core.install();"
        "sys.exit(any(name.partition('.')[0] in ('ansible_collections', 'kubernetes', 'yaml') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_apply_installed_version_known():
    # Otherwise each object takes one more request, and the new version must be reviewed.
    code = "answer = kubernetes_core._digest(apply.k8s_apply)"
    assert play(code, warm=False) in kubernetes_core.KNOWN_APPLY
