# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The output of the commands for the NeMo samples, which never contains a password."""

from __future__ import annotations

import base64
import io
import json
import tarfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._commands.apply.apply import (
    ApplyRun,
    reconcile_once,
    submit,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.gather.archive import Archive
from ansible_collections.nimops.nim.plugins.module_utils._commands.gather.gather import (
    Order,
    gather,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.loader import (
    Text,
    custom_resources,
    stored,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.plan.diff import (
    CHANGE,
    Change,
    publish,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.plan.preview import (
    list_children,
    list_resources,
    preview,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.render.simulation import (
    simulate,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.status.status_table import (
    WORKLOADS,
    list_status,
    write_lines,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.text import write_plan
from nimops_harness.cluster import kubectl
from nimops_harness.errors import HarnessError

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "config/samples"
FIRST, SECOND = "C4n4ry/of:{}@first% é", "C4n4ry/of:{}@second% é"
"""Passwords whose encoded forms differ from the plain text."""

MISSING = {
    "NemoCustomizer": 'ConfigMap "nemo-customizer-models", which does not exist (spec.modelConfig',
    "NemoDatastore": 'Secret "nemo-datastore-database", which does not exist (spec.databaseConfig',
    "NemoEntitystore": 'Secret "nemo-entitystore-database", which does not exist (spec.databaseC',
    "NemoEvaluator": 'Secret "nemo-evaluator-database", which does not exist (spec.databaseConfig',
    "NemoGuardrail": 'Secret "nemo-guardrails-database", which does not exist (spec.databaseConf',
}
"""kind → the first missing input of its sample"""
URLS = {
    "nemo-customizer": ("dsn", "customizer"),
    "nemo-evaluator": ("uri", "evaluator"),
    "nemo-guardrails": ("uri", "guardrails"),
}
"""Secret with a connection URL → its key and its user"""


def samples(namespace: str, suffix: str = "") -> list[Json]:
    """The five custom resources, with a suffix to each name."""
    texts = [Text(file.name, file.read_text()) for file in sorted(SAMPLES.glob("nemo_*.yaml"))]
    found = custom_resources(texts, namespace)
    for item in found:
        item["metadata"]["name"] += suffix
    return found


def prerequisites(pattern: str) -> Iterator[Json]:
    """Inputs of the samples; each credential is the pattern with the name of its Secret."""
    for item in yaml.safe_load_all((SAMPLES / "nemo-prerequisites.yaml").read_text()):
        if item["kind"] == "Secret":
            secret = pattern.format(item["metadata"]["name"])
            item["stringData"] = dict.fromkeys(item["stringData"], secret)
        yield item


def apply(namespace: str, items: Iterable[Json]) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": list(items)}
    kubectl("-n", namespace, "apply", "--server-side", "-f", "-", stdin=json.dumps(listed))


def leaks(text: str) -> list[str]:
    """The forms of a credential in a text: plain, percent-encoded, or either one in base64."""
    words = [word for word in ("C4n4ry/of:", "C4n4ry%2Fof%3A") if word in text]
    for raw in (b"C4n4ry/of:", b"C4n4ry%2Fof%3A"):
        for offset in range(3):  # base64 depends on the position in the value
            encoded = base64.b64encode(b"x" * offset + raw).decode()
            part = encoded[4 if offset else 0 : -4]
            words += [part] if part in text else []
    return words


@pytest.fixture(scope="module")
def client(namespace: str) -> Client:
    apply(namespace, prerequisites(FIRST))
    return Client()


@pytest.fixture(scope="module")
def run(client: Client, namespace: str) -> ApplyRun:
    """The samples, applied to a namespace with all their inputs."""
    found = submit(client, samples(namespace))
    for _number in range(2):
        reconcile_once(client, found, lambda _text: None)
    return found


def settle(client: Client, run: ApplyRun) -> list[str]:
    """The messages until nothing is left to write."""
    reported: list[str] = []
    for _number in range(10):
        wrote = run.wrote
        reconcile_once(client, run, reported.append)
        if wrote == run.wrote:
            return reported
    raise AssertionError("it writes again and again")


def change_of(changes: list[Change], kind: str, name: str) -> Change:
    [found] = [item for item in changes if (item.key.kind, item.key.name) == (kind, name)]
    return found


def test_find_leaks(client: Client, run: ApplyRun, namespace: str) -> None:
    """A precondition of the tests below."""
    data = json.loads(kubectl("-n", namespace, "get", "secret", "nemo-evaluator", "-o", "json"))
    assert leaks(json.dumps(data))
    assert leaks(base64.b64decode(data["data"]["uri"]).decode()) == ["C4n4ry%2Fof%3A"]
    for offset in range(3):
        assert leaks(base64.b64encode(b"x" * offset + FIRST.encode()).decode())


def test_operator_permissions_sufficient(act_as: Any, client: Client, namespace: str) -> None:
    role = yaml.safe_load((ROOT / "config/rbac/role.yaml").read_text())
    operator = act_as("operator", role["rules"], [])
    found = submit(client, samples(namespace, "-2"))
    settle(operator, found)
    assert {key.kind for key in found.progress} == set(MISSING)
    assert {item.state for item in found.progress.values()} <= {"NotReady", "Ready"}
    made = json.loads(kubectl("-n", namespace, "get", "deployments,roles", "-o", "json"))["items"]
    names = [item["metadata"]["name"] for item in made if item["metadata"]["name"].endswith("-2")]
    # Only two have a Role without OpenShift.
    assert len(names) == len(MISSING) + 2
    again = submit(client, samples(namespace, "-2"))
    settle(operator, again)
    assert again.wrote == 0


@pytest.mark.parametrize("kind", MISSING)
def test_apply_missing_input(api_server: Any, kind: str) -> None:
    [resource] = [item for item in samples("default", "-alone") if item["kind"] == kind]
    waits = f"Waiting for {MISSING[kind]}"
    client = Client()
    planned = preview(client, [resource])
    [[note]] = planned.simulated.notes.values()
    assert note.startswith(waits)
    assert "Secret" not in {item.key.kind for item in planned.changes}
    try:
        found = submit(client, [resource])
        reconcile_once(client, found, lambda _text: None)
        [reached] = found.progress.values()
        assert (reached.state, reached.is_awaited) == ("NotReady", True)
        assert reached.message.startswith(waits)
        [line] = list_status(list_resources(client, "default"), [], datetime.now(UTC))
        assert f"{line.reason}: {line.message}".endswith(f"NotFound: {reached.message}")
    finally:
        kubectl("-n", "default", "delete", kind, resource["metadata"]["name"])


def test_apply_twice(client: Client, run: ApplyRun, namespace: str) -> None:
    settle(client, run)
    again = submit(client, samples(namespace))
    settle(client, again)
    assert again.wrote == 0
    assert preview(client, samples(namespace)).changes == []


def test_plan_changed_password(client: Client, run: ApplyRun, namespace: str) -> None:
    settle(client, run)
    apply(namespace, prerequisites(SECOND))
    planned = preview(client, samples(namespace))
    changes = [item for item in planned.changes if item.key.namespace == namespace]
    restarted = {item.key.name for item in changes if item.restarts}
    assert restarted == {item["metadata"]["name"] for item in samples(namespace)}
    for name, (key, _user) in URLS.items():
        change = change_of(changes, "Secret", name)
        lines = [line for line in change.diff().splitlines() if line[:1] in "+-"]
        assert change.action == CHANGE
        assert lines == [f"-  {key}: (hidden)", f"+  {key}: (hidden, changed)"]
    assert leaks(write_plan(planned.changes, planned.simulated)) == []
    assert leaks(json.dumps([item.to_dict() for item in planned.changes])) == []

    reported = settle(client, run)
    assert leaks("\n".join(reported)) == []
    for name, (key, user) in URLS.items():
        data = json.loads(kubectl("-n", namespace, "get", "secret", name, "-o", "json"))["data"]
        password = quote(SECOND.format(f"{name}-database"), safe="")
        url = f"postgresql://{user}:{password}@postgresql:5432/{user}"
        assert base64.b64decode(data[key]).decode() == url
    assert preview(client, samples(namespace)).changes == []


def test_plan_changed_config_map(client: Client, run: ApplyRun, namespace: str) -> None:
    settle(client, run)
    [training] = [
        item for item in prerequisites("") if item["metadata"]["name"] == "nemo-customizer-training"
    ]
    training["data"]["training"] = training["data"]["training"].replace("IfNotPresent", "Always")
    apply(namespace, [training])
    changes = preview(client, samples(namespace)).changes
    assert [(item.key.kind, item.restarts) for item in changes] == [
        ("ConfigMap", False),
        ("Deployment", True),
    ]
    lines = [line for line in changes[0].diff().splitlines() if line[:1] in "+-"]
    assert [line.split() for line in lines] == [
        ["-", "imagePullPolicy:", "IfNotPresent"],
        ["+", "imagePullPolicy:", "Always"],
    ]


def test_placeholder_refused(client: Client, namespace: str) -> None:
    given = [stored(item) for item in samples(namespace)]
    wanted = simulate(given, Facts(prerequisites(FIRST), namespace=namespace).ask).wanted
    rendered = [publish(item.child.manifest) for item in wanted.values()]
    assert leaks(json.dumps(rendered)) == []
    secrets = [item for item in rendered if item["kind"] == "Secret"]
    assert {item["metadata"]["name"] for item in secrets} == set(URLS)
    for item in secrets:
        for ways in (["--server-side", "--force-conflicts"], ["--validate=false"]):
            with pytest.raises(HarnessError, match="illegal base64"):
                kubectl("apply", *ways, "--dry-run=server", "-f", "-", stdin=json.dumps(item))


def test_commands_print_no_password(client: Client, run: ApplyRun, namespace: str) -> None:
    settle(client, run)
    shown = ",".join(("all", "configmaps", "events", "roles", "serviceaccounts", "pvc"))
    kinds = ",".join(kind.lower() for kind in MISSING)
    texts = [kubectl("-n", namespace, "get", f"{shown},{kinds}", "-o", "yaml")]
    texts.append(kubectl("-n", namespace, "describe", f"{kinds},deployments"))
    lines = list_status(
        list_resources(client, namespace),
        list_children(client, WORKLOADS, namespace),
        datetime.now(UTC),
    )
    assert len(lines) >= len(MISSING)
    texts += [write_lines(lines), json.dumps([line.to_dict() for line in lines])]
    stream = io.BytesIO()
    archive = Archive(stream, 1 << 22, "top", 0)
    order = Order(namespace=namespace, operator_namespace=namespace)
    gather(client, order, archive, texts.append)
    archive.close({})
    with tarfile.open(fileobj=io.BytesIO(stream.getvalue())) as tar:
        files = {item.name: tar.extractfile(item).read().decode() for item in tar.getmembers()}  # type: ignore[union-attr]
    assert {name: found for name, text in files.items() if (found := leaks(text))} == {}
    assert [found for text in texts if (found := leaks(text))] == []
    known = yaml.safe_load(files["top/secrets.yaml"])
    exists = {item["name"]: item["exists"] for item in known}
    secrets = {item["metadata"]["name"] for item in prerequisites("") if item["kind"] == "Secret"}
    assert {name for name, is_there in exists.items() if is_there} >= secrets | set(URLS)
    for item in samples(namespace):
        plural = f"{item['kind'].lower()}s.apps.nvidia.com"
        name = f"top/namespaces/{namespace}/{plural}/{item['metadata']['name']}.yaml"
        assert yaml.safe_load(files[name])["spec"]["replicas"] == 1
