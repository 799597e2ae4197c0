# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What an outlook changes, and what is shown of it."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import FIELD_MANAGER
from ansible_collections.nimops.nim.plugins.module_utils._verbs.changes import (
    find_changes,
    hide_secrets,
)
from ansible_collections.nimops.nim.plugins.module_utils._verbs.documents import identity
from ansible_collections.nimops.nim.plugins.module_utils._verbs.outlook import look_ahead
from ansible_collections.nimops.nim.plugins.module_utils._verbs.text import (
    summarize,
    write_plan,
    write_table,
)
from ansible_collections.nimops.nim.plugins.module_utils._verbs.world import Facts


def fields_of(value):
    """The FieldsV1 set of a manifest."""
    if isinstance(value, dict):
        return {f"f:{key}": fields_of(item) for key, item in value.items()}
    return {}


def live(manifest, **fields):
    """An object as we applied it."""
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
    """(the service, all its children as they were applied)."""
    service = make_service()
    service["metadata"]["uid"] = "u1"
    outlook = look_ahead([service], Facts([]).ask)
    return service, {key: live(item.child.manifest) for key, item in outlook.wanted.items()}


def plan(service, objects, **given):
    facts = Facts(objects)
    outlook = look_ahead([service], facts.ask)
    return find_changes(outlook, given, facts.ask), outlook


def test_what_was_applied_does_not_change(applied):
    service, objects = applied
    changes, outlook = plan(service, objects.values())
    assert changes == []
    assert write_plan(changes, outlook) == "no changes"


def test_what_is_not_there_is_created(applied):
    service, objects = applied
    del objects["Service", "nim", "llm"]
    (change,), _outlook = plan(service, objects.values())
    assert (change.action, change.key) == ("create", ("Service", "nim", "llm"))
    assert change.parent == ("NIMService", "nim", "llm")
    assert change.before is None
    assert "+kind: Service" in change.diff()


def test_a_change_of_a_template_replaces_pods(applied):
    service, objects = applied
    service["spec"]["env"] = [{"name": "A", "value": "1"}]
    (change,), outlook = plan(service, objects.values())
    assert (change.action, change.key[0], change.restarts) == ("change", "Deployment", True)
    assert "+        - name: A" in change.diff()
    assert write_plan([change], outlook).endswith("1 to change; pods of 1 are replaced")


def test_a_scaling_does_not(applied):
    service, objects = applied
    service["spec"]["replicas"] = 3
    (change,), _outlook = plan(service, objects.values())
    assert change.restarts is False
    body = [line for line in change.diff().splitlines() if line[:1] in "+-"]
    assert body == ["-  replicas: 1", "+  replicas: 3"]


def test_what_the_api_server_adds_is_no_change(applied):
    service, objects = applied
    deployment = objects["Deployment", "nim", "llm"]
    deployment["spec"]["progressDeadlineSeconds"] = 600
    deployment["spec"]["template"]["spec"]["containers"][0]["terminationMessagePath"] = "/x"
    deployment["status"] = {"replicas": 1}
    assert plan(service, objects.values())[0] == []


def test_an_edit_by_hand_is_put_right(applied):
    service, objects = applied
    objects["Service", "nim", "llm"]["spec"]["ports"][0]["port"] = 1
    (change,), _outlook = plan(service, objects.values())
    assert "-  - name: api" not in change.diff()
    assert "-    port: 1" in change.diff()
    assert "+    port: 8000" in change.diff()


def test_a_field_that_we_no_longer_want_is_shown(applied):
    service, objects = applied
    service["spec"]["nodeSelector"] = {"a": "b"}
    (_key, wanted) = list(look_ahead([service], Facts([]).ask).wanted.items())[-1]
    objects["Deployment", "nim", "llm"] = live(wanted.child.manifest)
    del service["spec"]["nodeSelector"]
    (change,), _outlook = plan(service, objects.values())
    assert "-      nodeSelector:" in change.diff()


def test_what_another_manager_made_is_taken_over(applied):
    service, objects = applied
    for item in objects.values():
        item["metadata"]["managedFields"][0] |= {"manager": "manager", "operation": "Update"}
    changes, _outlook = plan(service, objects.values())
    assert {change.action for change in changes} == {"adopt"}
    assert summarize(changes) == "5 to take over"


def test_the_resource_itself_comes_first(applied):
    service, objects = applied
    new = copy.deepcopy(service)
    new["spec"]["replicas"] = 2
    facts = Facts([service, *objects.values()])
    outlook = look_ahead([new], facts.ask)
    changes = find_changes(outlook, {identity(new): new}, facts.ask)
    assert [change.key[0] for change in changes] == ["NIMService", "Deployment"]
    assert "+  replicas: 2" in changes[0].diff()


def test_deletions_come_last(applied):
    service, objects = applied
    owner = {"kind": "NIMService", "name": "llm", "uid": "u1", "controller": True}
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "llm", "namespace": "nim", "ownerReferences": [owner]},
    }
    service["status"] = {"state": "Ready"}
    changes, outlook = plan(service, [*objects.values(), ingress])
    assert [change.action for change in changes] == ["delete"]
    assert write_plan(changes, outlook) == "- delete Ingress nim/llm\n1 to delete"


def test_secrets_are_hidden():
    secret = {"kind": "Secret", "data": {"a": "czNjcjN0"}, "stringData": {"b": "s3cr3t"}}
    assert hide_secrets(secret) == {
        "kind": "Secret",
        "data": {"a": "(hidden)"},
        "stringData": {"b": "(hidden)"},
    }
    assert hide_secrets({"kind": "ConfigMap", "data": {"a": "b"}})["data"] == {"a": "b"}


def test_problems_and_notes_are_told(make_service):
    bad = make_service("bad", storage={})
    waiting = make_service("waits", storage={"nimCache": {"name": "models"}})
    facts = Facts([])
    outlook = look_ahead([bad, waiting], facts.ask)
    text = write_plan(find_changes(outlook, {}, facts.ask), outlook)
    assert "\n! NIMService nim/bad: neither external PVC name" in text
    assert "\n# NIMService nim/waits: NIMCache models not found" in text


def test_a_table_is_aligned():
    assert write_table(("A", "LONG"), [("xyz", "1"), ("", "2")]) == "A     LONG\nxyz   1\n      2"
