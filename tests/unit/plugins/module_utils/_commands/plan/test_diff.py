# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The changes of a plan, and their presentation."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._commands.loader import identity
from ansible_collections.nimops.nim.plugins.module_utils._commands.plan.diff import (
    find_changes,
    hide_secrets,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.render.simulation import (
    simulate,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.text import (
    summarize,
    write_plan,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import FIELD_MANAGER


def fields_of(value):
    """The FieldsV1 set of a manifest."""
    if isinstance(value, dict):
        return {f"f:{key}": fields_of(item) for key, item in value.items()}
    return {}


def live(manifest, **fields):
    """An object that we applied."""
    found = copy.deepcopy(manifest) | fields
    owned = {key: item for key, item in manifest.items() if key not in ("apiVersion", "kind")}
    owned["metadata"] = {"labels": manifest["metadata"].get("labels", {})}
    found["metadata"] |= {
        "resourceVersion": "1",
        "managedFields": [
            {"manager": FIELD_MANAGER, "operation": "Apply", "fieldsV1": fields_of(owned)}
        ],
    }
    return found


@pytest.fixture
def applied(make_service):
    """The service, and all its applied children."""
    service = make_service()
    service["metadata"]["uid"] = "u1"
    simulated = simulate([service], Facts([]).ask)
    return service, {key: live(item.child.manifest) for key, item in simulated.wanted.items()}


def plan(service, objects, **given):
    facts = Facts(objects)
    simulated = simulate([service], facts.ask)
    return find_changes(simulated, given, facts.ask), simulated


def test_find_changes_after_apply(applied):
    service, objects = applied
    changes, simulated = plan(service, objects.values())
    assert changes == []
    assert write_plan(changes, simulated) == "no changes"


def test_find_changes_missing_object(applied):
    service, objects = applied
    del objects["Service", "nim", "llm"]
    (change,), _outlook = plan(service, objects.values())
    assert (change.action, change.key) == ("create", ("Service", "nim", "llm"))
    assert change.parent == ("NIMService", "nim", "llm")
    assert change.before is None
    assert "+kind: Service" in change.diff()


def test_find_changes_template(applied):
    service, objects = applied
    service["spec"]["env"] = [{"name": "A", "value": "1"}]
    (change,), simulated = plan(service, objects.values())
    assert (change.action, change.key[0], change.restarts) == ("change", "Deployment", True)
    assert "+        - name: A" in change.diff()
    assert write_plan([change], simulated).endswith("1 to change; pods of 1 are replaced")


def test_find_changes_replicas(applied):
    service, objects = applied
    service["spec"]["replicas"] = 3
    (change,), _outlook = plan(service, objects.values())
    assert change.restarts is False
    body = [line for line in change.diff().splitlines() if line[:1] in "+-"]
    assert body == ["-  replicas: 1", "+  replicas: 3"]


def test_find_changes_server_defaults(applied):
    service, objects = applied
    deployment = objects["Deployment", "nim", "llm"]
    deployment["spec"]["progressDeadlineSeconds"] = 600
    deployment["spec"]["template"]["spec"]["containers"][0]["terminationMessagePath"] = "/x"
    deployment["status"] = {"replicas": 1}
    assert plan(service, objects.values())[0] == []


def test_find_changes_manual_edit(applied):
    service, objects = applied
    objects["Service", "nim", "llm"]["spec"]["ports"][0]["port"] = 1
    (change,), _outlook = plan(service, objects.values())
    assert "-  - name: api" not in change.diff()
    assert "-    port: 1" in change.diff()
    assert "+    port: 8000" in change.diff()


def test_find_changes_unwanted_field(applied):
    service, objects = applied
    service["spec"]["nodeSelector"] = {"a": "b"}
    (_key, wanted) = list(simulate([service], Facts([]).ask).wanted.items())[-1]
    objects["Deployment", "nim", "llm"] = live(wanted.child.manifest)
    del service["spec"]["nodeSelector"]
    (change,), _outlook = plan(service, objects.values())
    assert "-      nodeSelector:" in change.diff()


def test_find_changes_adoption(applied):
    service, objects = applied
    for item in objects.values():
        item["metadata"]["managedFields"][0] |= {"manager": "manager", "operation": "Update"}
    changes, _outlook = plan(service, objects.values())
    assert {change.action for change in changes} == {"adopt"}
    assert summarize(changes) == "5 to take over"


def test_find_changes_takeover_removal(applied):
    service, objects = applied
    deployment = objects["Deployment", "nim", "llm"]
    fields = deployment["metadata"]["managedFields"][0]
    fields |= {"manager": "manager", "operation": "Update"}
    hashes = {"nvidia.com/last-applied-hash": "1", "nvidia.com/parent-spec-hash": "2"}
    deployment["metadata"]["annotations"] |= hashes
    deployment["spec"]["template"]["metadata"]["annotations"]["theirs"] = "x"
    spec = deployment["spec"]
    written = {key: deployment["metadata"][key] for key in ("labels", "annotations")}
    fields["fieldsV1"] = {
        "f:metadata": fields_of(written),
        "f:spec": {"f:template": fields_of(spec["template"])},
    }
    (change,), _outlook = plan(service, objects.values())
    assert (change.action, change.restarts) == ("change", True)
    body = [line for line in change.diff().splitlines() if line[:1] in "+-"]
    assert body == ["-        theirs: x"]
    del spec["template"]["metadata"]["annotations"]["theirs"]
    (change,), _outlook = plan(service, objects.values())
    assert (change.action, change.restarts) == ("adopt", False)


def test_find_changes_kept_duplicates(applied):
    service, objects = applied
    deployment = objects["Deployment", "nim", "llm"]
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    fields = deployment["metadata"]["managedFields"][0]
    fields |= {"manager": "manager", "operation": "Update"}
    container["env"] = [container["env"][0], *container["env"]]
    (change,), _outlook = plan(service, objects.values())
    assert (change.action, change.restarts) == ("adopt", False)


def test_find_changes_resource_first(applied):
    service, objects = applied
    new = copy.deepcopy(service)
    new["spec"]["replicas"] = 2
    facts = Facts([service, *objects.values()])
    simulated = simulate([new], facts.ask)
    changes = find_changes(simulated, {identity(new): new}, facts.ask)
    assert [change.key[0] for change in changes] == ["NIMService", "Deployment"]
    assert "+  replicas: 2" in changes[0].diff()


def test_find_changes_deletions_last(applied):
    service, objects = applied
    owner = {"kind": "NIMService", "name": "llm", "uid": "u1", "controller": True}
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "llm", "namespace": "nim", "ownerReferences": [owner]},
    }
    service["status"] = {"state": "Ready"}
    changes, simulated = plan(service, [*objects.values(), ingress])
    assert [change.action for change in changes] == ["delete"]
    assert write_plan(changes, simulated) == "- delete Ingress nim/llm\n1 to delete"


def test_hide_secrets():
    secret = {"kind": "Secret", "data": {"a": "czNjcjN0"}, "stringData": {"b": "s3cr3t"}}
    assert hide_secrets(secret) == {
        "kind": "Secret",
        "data": {"a": "(hidden)"},
        "stringData": {"b": "(hidden)"},
    }
    assert hide_secrets({"kind": "ConfigMap", "data": {"a": "b"}})["data"] == {"a": "b"}


@pytest.mark.parametrize(
    ("password", "actions"),
    [
        pytest.param("s3cr3t", [], id="same"),
        pytest.param("other", ["change"], id="changed"),
        pytest.param(None, ["change"], id="unknown"),
    ],
)
def test_hide_secrets_foreign_password(nemo, password, actions):
    cr = nemo.cr("NemoEvaluator")
    simulated = simulate([cr], Facts([]).ask)
    objects = [live(item.child.manifest) for item in simulated.wanted.values()]
    (secret,) = (item for item in objects if item["kind"] == "Secret")
    url = "postgresql://me:s3cr3t@pg.ns.svc:5432/db"
    secret["data"] = nemo.secret("x", {"uri": url})["data"]
    if password:
        objects.append(nemo.secret("pg", {"password": password}))
    facts = Facts(objects)
    found = [item for item in find_changes(simulated, {}, facts.ask) if item.key.kind == "Secret"]
    assert [item.action for item in found] == actions
    changed = ["-  uri: (hidden)", "+  uri: (hidden, changed)"] if actions else []
    diff = "".join(item.diff() for item in found).splitlines()
    assert [line for line in diff if line[:1] in "+-"] == changed
