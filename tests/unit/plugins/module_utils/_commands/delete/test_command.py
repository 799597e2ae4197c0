# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.delete.command import (
    DeleteCommand,
)

LOST = "PersistentVolumeClaim nim/models-pvc (50Gi), and its data"


def delete(run, *resources, **options):
    return run(DeleteCommand, resources=list(resources), **{"wait": False} | options)


def test_delete_without_data(run, place):
    place.put_service("llm")
    result = delete(run, "nimservice/llm")
    assert (result["changed"], place.has("NIMService", "llm")) == (True, False)
    assert result["deleted"] == [{"kind": "NIMService", "namespace": "nim", "name": "llm"}]
    assert run.data == ["- delete NIMService nim/llm\n- delete Deployment nim/llm"]
    (request,) = place.cluster.calls("DELETE")
    assert request.body["preconditions"] == {"uid": "NIMService/llm"}


def test_delete_of_data_needs_yes(run, place):
    place.put_cache("models", "pv")
    result = delete(run, "nimcache/models")
    assert (result["failed"], result["changed"]) == (True, False)
    assert result["msg"] == (
        f"nothing was deleted, as data would be lost: {LOST}. --yes=true deletes it"
    )
    assert (result["lost"], place.cluster.calls("DELETE")) == ([LOST], [])
    assert "failed" not in delete(run, "nimcache/models", yes=True)
    assert not place.has("NIMCache", "models")


def test_delete_check_mode_shows_only(run, place):
    place.put_cache("models", "pv")
    result = delete(run, "nimcache/models", is_dry=True)
    assert (result["changed"], "failed" in result) == (True, False)
    assert f"- delete {LOST}" in run.data[0]
    assert place.cluster.calls("DELETE") == []


def test_delete_missing(run, place):
    with pytest.raises(NimError, match="nimservice/x does not exist in namespace nim"):
        delete(run, "nimservice/x")
    result = delete(run, "nimservice/x", ignore_not_found=True)
    assert (result["changed"], run.messages) == (
        False,
        ["nimservice/x does not exist in namespace nim"],
    )


def test_delete_files_twice(run, place, make_service):
    """A spec that is not valid any more does not prevent a deletion."""
    place.put_service("llm")
    given = make_service(unknown=1)
    assert run(DeleteCommand, definition=given, wait=False)["changed"]
    again = run(DeleteCommand, definition=given, wait=False)
    assert (again["changed"], again["msg"]) == (
        False,
        "nimservice/llm does not exist in namespace nim",
    )


def test_delete_several_of_which_one_refused(run, place, denied):
    place.put_service("a")
    place.put_service("b")
    place.cluster.refuse[
        "DELETE", "/apis/apps.nvidia.com/v1alpha1/namespaces/nim/nimservices/b"
    ] = [denied]
    result = delete(run, "nimservice/a", "nimservice/b")
    assert (result["failed"], result["changed"]) == (True, True)
    assert result["msg"] == "NIMService nim/b: forbidden"
