# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest

COMMANDS: dict[str, dict[str, t.Any]] = {
    "entitystore": {
        "command": ["/app/.venv/bin/python3"],
        "args": ["-m", "scripts.run_db_migration"],
        "workingDir": "/app/services/entity-store",
    },
    "evaluator": {"command": ["sh", "-c", "/app/scripts/run-db-migration.sh"]},
    "guardrail": {
        "command": ["/app/.venv/bin/alembic"],
        "args": ["upgrade", "head"],
        "workingDir": "/app/services/guardrails",
    },
}


@pytest.mark.parametrize("service", COMMANDS)
def test_migrate_per_kind(nemo: t.Any, service: str) -> None:
    image = {"repository": "r", "tag": "1", "pullPolicy": "Always"}
    more = {"image": image, "databaseConfig": nemo.database, "env": [{"name": "A", "value": "b"}]}
    wait, migration = nemo.pod(f"Nemo{service.title()}", more)["initContainers"]
    assert wait["name"] == "wait-for-postgres"
    assert wait["imagePullPolicy"] == "Always"
    loop = wait["command"][2]
    assert loop.endswith("done;" if service == "entitystore" else "done")
    assert "A" not in {item["name"] for item in migration.pop("env")}
    assert migration == {
        "name": f"{service}-db-migration",
        "image": "r:1",
        "imagePullPolicy": "Always",
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
        **COMMANDS[service],
    }


@pytest.mark.parametrize(
    ("host", "shown"), [("pg", "pg"), ("10.0.0.1", "10.0.0.1"), ("[::1]", "'[::1]'")]
)
def test_wait_container(nemo: t.Any, host: str, shown: str) -> None:
    spec = {
        "image": {"repository": "r", "tag": "1", "pullPolicy": "Always"},
        "databaseConfig": nemo.database | {"host": host, "port": 6432},
    }
    observed = nemo.observe(operator={"wait_image": "mirror/busybox:1"})
    wait, _migration = nemo.pod("NemoEntitystore", spec, observed=observed)["initContainers"]
    assert wait == {
        "name": "wait-for-postgres",
        "image": "mirror/busybox:1",
        "imagePullPolicy": "Always",
        "command": [
            "sh",
            "-c",
            f'until nc -z {shown} 6432; do echo "Waiting for Postgres to start "; sleep 5; done;',
        ],
    }


def test_wait_image(nemo: t.Any) -> None:
    assert nemo.pod("NemoEvaluator")["initContainers"][0]["image"] == "busybox"
