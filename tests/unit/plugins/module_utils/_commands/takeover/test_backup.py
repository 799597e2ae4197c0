# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._base.yaml_text import load_yaml
from ansible_collections.nimops.nim.plugins.module_utils._commands.takeover.backup import (
    Backup,
    sort_backup,
    write_backup,
)


def item(kind, name, **fields):
    metadata = {
        "name": name,
        "uid": "u",
        "resourceVersion": "1",
        "managedFields": [{}],
        "labels": {},
    }
    return {"apiVersion": "x/v1", "kind": kind, "metadata": metadata, **fields}


def test_write_backup_round_trip():
    crd = item("CustomResourceDefinition", "nims", spec={"group": "g"})
    hook = item("ValidatingWebhookConfiguration", "hook", webhooks=[{"name": "a"}])
    service = item("NIMService", "llm", spec={"x": "{{ 1 }}"}, status={"state": "Ready"})
    text = write_backup(Backup([crd], [hook], [service]))
    found = sort_backup(load_yaml(text))
    assert found.definitions == [crd | {"metadata": {"name": "nims", "labels": {}}}]
    assert found.webhooks == [hook | {"metadata": {"name": "hook", "labels": {}}}]
    assert found.resources == [service | {"metadata": {"name": "llm", "labels": {}}}]
