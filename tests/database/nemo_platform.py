# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The NeMo samples on a PostgreSQL server, and the commands of users."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import postgresql
import psycopg
import yaml
from nimops_harness.cluster import kubectl

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = "nimops-database"
SAMPLES = ROOT / "config/samples"

# Special characters in URLs, shells, SQL, Jinja and YAML, and non-ASCII characters.
PASSWORDS = {
    "nemo-customizer-database": "a@b:c/d%e f?g#h&i=j+k",
    "nemo-datastore-database": "Пароль @:/% ß€ 😀",
    "nemo-entitystore-database": "%40%2F{{ 7 * 7 }}@:/$HOME `id` \\",
    "nemo-evaluator-database": '["it\'s", "@:/%"]',
}
"""Passwords by Secret; the Secret of the guardrails is missing."""

Json = dict[str, Any]


class Platform:
    """The NeMo samples in a namespace, and playbooks on them."""

    def __init__(self, server: postgresql.Server, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.output: list[str] = []
        self.secrets = [server.password]
        """All current and former passwords."""
        self.first = ""
        """The output of the first run."""

    def resources(self, suffix: str = "") -> list[Json]:
        """The samples on our server; a suffix changes the names of users and databases."""
        found = []
        for file in sorted(SAMPLES.glob("nemo_*.yaml")):
            item = yaml.safe_load(file.read_text())
            database = item["spec"]["databaseConfig"]
            database |= {"host": postgresql.HOST, "port": self.server.port}
            database["databaseName"] += suffix
            database["credentials"]["user"] += f"_user{suffix}"
            found.append(item)
        return found

    def write(self, *resources: Json) -> str:
        file = self.folder / "nemo.yaml"
        file.write_text(yaml.safe_dump_all(resources, allow_unicode=True))
        return str(file)

    def run(self, playbook: str, *options: str, login: Json | None = None, **variables: Any) -> str:
        """The output of a successful playbook."""
        code, reported = self.try_to_run(playbook, *options, login=login, **variables)
        assert code == 0, reported
        return reported

    def try_to_run(
        self, playbook: str, *options: str, login: Json | None = None, **variables: Any
    ) -> tuple[int, str]:
        """The exit code and the most verbose output of a playbook."""
        account = {"user": postgresql.ADMINISTRATOR, "password": self.server.password}
        account |= login or {}
        given = {"nim_namespace": NAMESPACE}
        if playbook == "nemo_dependencies":
            given |= {
                "postgresql_login_port": self.server.port,
                "postgresql_login_user": account["user"],
                "postgresql_login_password": account["password"],
            }
        file = self.folder / "variables.json"
        file.touch(mode=0o600)
        file.write_text(json.dumps(given | variables))
        done = subprocess.run(
            [
                *(sys.executable, "-m", "ansible", "playbook", f"nimops.nim.{playbook}"),
                *("-vvv", "--diff", "--extra-vars", f"@{file}", *options),
            ],
            cwd=self.folder,
            env=os.environ
            | {"ANSIBLE_HOME": str(self.folder / "ansible"), "ANSIBLE_NOCOLOR": "true"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        self.output.append(done.stdout + done.stderr)
        return done.returncode, self.output[-1]

    def put_secret(self, name: str, namespace: str = NAMESPACE, **values: str) -> None:
        self.secrets += values.values()
        item = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}
        text = json.dumps(item | {"stringData": values})
        kubectl(
            "-n", namespace, "apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text
        )

    def secret(self, name: str) -> dict[str, str]:
        """The decoded values of a Secret."""
        found = json.loads(kubectl("-n", NAMESPACE, "get", "secret", name, "-o", "json"))
        return {key: base64.b64decode(value).decode() for key, value in found["data"].items()}

    def pod_env(self, name: str) -> dict[str, str]:
        """The variables of a Deployment's containers, with values from Secrets resolved."""
        found = json.loads(kubectl("-n", NAMESPACE, "get", "deployment", name, "-o", "json"))
        pod = found["spec"]["template"]["spec"]
        env = {}
        for container in [*pod.get("initContainers", []), *pod["containers"]]:
            for item in container.get("env", []):
                if reference := item.get("valueFrom", {}).get("secretKeyRef"):
                    # Prerequisites that are irrelevant to databases are missing here.
                    value = self._value(reference) if "atabase" in str(reference) else ""
                    env[item["name"]] = value or self._url(name, reference)
                else:
                    env[item["name"]] = item.get("value", "")
        return env

    def _value(self, reference: Json) -> str:
        return self.secret(reference["name"])[reference["key"]]

    def _url(self, name: str, reference: Json) -> str:
        return self._value(reference) if reference["name"] == name else ""

    def sql(self, statement: str) -> list[Any]:
        """The result of a statement as the administrator."""
        with psycopg.connect(**self.server.connection, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []
