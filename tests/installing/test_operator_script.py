# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""hack/operator.sh on a cluster with the CRDs and resources of NVIDIA's GPU operator."""

from __future__ import annotations

import contextlib
import json
import re
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from nimops_harness.api_server import apply_crds
from nimops_harness.cluster import Json, kubectl
from nimops_harness.crds import CRDS
from nimops_harness.errors import HarnessError
from nimops_harness.progress import wait_until
from nimops_harness.runtime import ContainedOperator, make_environment

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT.parent / "shared/reference/crds"
PLURALS = ("clusterpolicies", "nvidiadrivers")
FILES = [f"nvidia.com_{plural}.yaml" for plural in PLURALS]
SAMPLES = ROOT / "config/samples"
OURS = ("gpu_clusterpolicy.yaml", "nvidia_v1alpha1_nvidiadriver.yaml")
MARK = ("-n", "kube-system", "configmap", "sandbox-definitions")


def make_small(file: str) -> Json:
    """A definition with a version and a field that ours does not have."""
    definition: Json = yaml.safe_load((CRDS / file).read_text())
    spec = definition["spec"]
    fields = {"spec": {"type": "object", "properties": {"legacy": {"type": "boolean"}}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": fields}}
    version = {"name": spec["versions"][0]["name"], "schema": schema, "served": True}
    spec["versions"] = [
        {**version, "storage": True},
        {**version, "storage": False, "name": "v1beta1"},
    ]
    return definition


def load_reference(file: str) -> Json:
    if not REFERENCE.is_dir():
        pytest.skip("the CRDs of the reference operator are not at ../shared/reference/crds")
    definition: Json = yaml.safe_load((REFERENCE / file).read_text())
    return definition


def make_resource(definition: Json, sample: str) -> Json:
    """A resource named `theirs`, with the spec of our sample if the definition has its fields."""
    resource: Json = next(yaml.safe_load_all((SAMPLES / sample).read_text()))
    version = definition["spec"]["versions"][0]
    fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    spec = {"legacy": True} if "legacy" in fields else resource["spec"]
    return {**resource, "metadata": {"name": "theirs"}, "spec": spec}


@pytest.fixture(params=[make_small, load_reference], ids=["small", "reference"])
def theirs(api_server: object, request: pytest.FixtureRequest) -> Iterator[Callable[[], str]]:
    """NVIDIA's definitions instead of ours, with resources; a function that reads everything."""
    names = [f"{plural}.nvidia.com" for plural in PLURALS]
    definitions = [request.param(file) for file in FILES]
    try:
        apply_crds(*definitions)
        for manifest in map(make_resource, definitions, OURS):
            kubectl("create", "-f", "-", stdin=json.dumps(manifest))
        yield lambda: "".join(
            kubectl("get", *what, "-o", "json", "--show-managed-fields")
            for what in (("crd", *names), *zip(names))
        )
    finally:
        for name in names:  # without finalizers, in case an operator served them
            patch = ("--type=merge", "-p", '{"metadata": {"finalizers": null}}')
            with contextlib.suppress(HarnessError):
                kubectl("patch", name, "theirs", *patch)
            kubectl("delete", name, "theirs", "--ignore-not-found", "--timeout=60s")
        apply_crds(*(yaml.safe_load((CRDS / file).read_text()) for file in FILES))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., ContainedOperator]]:
    """Start the script in a network of its own, because another operator may run on this machine."""
    started: list[ContainedOperator] = []

    def start_operator(**environment: str) -> ContainedOperator:
        shown = json.loads(kubectl("config", "view", "--minify", "-o", "json"))
        port = urllib.parse.urlsplit(shown["clusters"][0]["cluster"]["server"]).port
        # No resource of another test is reconciled.
        needed = make_environment("prefork", WATCH_NAMESPACE="nimops-none", **environment)
        needed.setdefault("ANSIBLE_COLLECTIONS_PATH", str(ROOT / "build/collections"))
        try:
            operator = ContainedOperator(
                tmp_path / "operator.log", needed, tmp_path / "tmp", api_port=port or 0
            )
        except (HarnessError, OSError) as error:
            pytest.skip(f"this machine does not allow namespaces: {error}")
        started.append(operator)
        return operator

    yield start_operator
    for operator in started:
        operator.stop()
        operator.clear()


@pytest.fixture
def unmarked(api_server: object) -> Iterator[None]:
    """Without the sandbox's mark, like a user's cluster."""
    mark = kubectl("get", *MARK, "-o", "json", "--ignore-not-found")
    kubectl("delete", *MARK, "--ignore-not-found")
    yield
    if mark:
        kubectl("create", "-f", "-", stdin=mark)


def served_kinds(operator: ContainedOperator) -> set[str]:
    """The kinds whose resources the operator's runtime reconciles."""
    found = re.findall(r'"Starting workers","controller":"(\w+)-', operator.log.read_text())
    return set(found)


def wait_for_end(operator: ContainedOperator) -> str:
    """The output of a script that does not start an operator."""
    wait_until(lambda: not operator.is_running, f"the end, see {operator.log}", 60)
    assert operator.exit_code == 2
    return operator.log.read_text()


def test_operator_leaves_foreign_definitions(theirs, start, unmarked):
    before = theirs()
    operator = start()
    expected = {file.stem.rpartition("_")[2].removesuffix("s") for file in CRDS.glob("apps.*.yaml")}
    wait_until(lambda: expected <= served_kinds(operator), "all kinds", 90, operator.check)
    assert served_kinds(operator) == expected
    assert theirs() == before


@pytest.mark.parametrize("environment", [{}, {"NIMOPS_COMPONENT": "gpu"}], ids=["sandbox", "gpu"])
def test_operator_refuses_foreign_definitions(theirs, start, request, environment):
    if not environment and not kubectl("get", *MARK, "-o", "name", "--ignore-not-found"):
        pytest.skip("not on a sandbox")
    before = theirs()
    text = wait_for_end(start(**environment))
    assert theirs() == before
    for plural in PLURALS:
        assert f"CRD {plural}.nvidia.com does not belong to nimops.nim; ours " in text
    if "small" in request.node.name:
        assert text.count("ours would lose spec.legacy, version v1beta1\n") == len(PLURALS)
    assert "nothing was applied" in text
    assert "serverside-applied" not in text
