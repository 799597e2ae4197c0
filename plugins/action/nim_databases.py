# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Creates the databases of NeMo resources on a PostgreSQL server.

Documented in plugins/modules/nim_databases.py.
"""

from __future__ import annotations

import sys
import typing as t

from ansible import constants
from ansible.errors import AnsibleError
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.native_types import to_native_types
from ansible_collections.nimops.nim.plugins.module_utils._base.types import Json
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.command import (
    CONNECTION_SPEC,
    RESOURCES_SPEC,
    ResourcesCommand,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.databases.needed import (
    NeededDatabase,
    kinds_with_database,
    needed_databases,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.databases.passwords import (
    create_secrets,
    read_passwords,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.databases.server import (
    Server,
    require_ours,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.loader import custom_resources
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path
from ansible_collections.nimops.nim.plugins.plugin_utils._command import CommandAction

_COLLECTION = "community.postgresql"
_LOGIN_SPEC: Json = {
    "login_host": {"type": "str", "default": "127.0.0.1"},
    "login_port": {"type": "int", "default": 5432},
    "login_user": {"type": "str", "default": "postgres"},
    "login_password": {"type": "str", "no_log": True},
    "login_db": {"type": "str", "default": "postgres"},
    "ssl_mode": {
        "type": "str",
        "default": "prefer",
        "choices": ["allow", "disable", "prefer", "require", "verify-ca", "verify-full"],
    },
    "ca_cert": {"type": "str"},
}


class _Options(ResourcesCommand):
    """The options; the action itself runs Ansible's modules."""

    spec = (
        RESOURCES_SPEC
        | CONNECTION_SPEC
        | _LOGIN_SPEC
        | {
            "database_hosts": {"type": "list", "elements": "str", "default": []},
            "adopt": {"type": "bool", "default": False},
        }
    )


class ActionModule(CommandAction):
    """Runs modules of community.postgresql directly, so that no argument becomes a template."""

    _requires_connection = True
    command = _Options

    def act(self, arguments: Json) -> Json:
        """Check everything, then write Secrets, users and databases."""
        client = self.connect(arguments)
        resources = self._resources(client, arguments)
        needed = needed_databases(resources, arguments["database_hosts"])
        passwords = read_passwords(client, needed)
        login = {key: arguments[key] for key in _LOGIN_SPEC if arguments[key] is not None}
        server = Server(self._run_module, login)
        found = server.inspect()
        require_ours(needed, found, adopt=arguments["adopt"])

        dry = bool(self._task.check_mode)
        changes = [f"Secret {name}" for name in create_secrets(client, passwords, dry=dry)]
        for user, namespace in {item.user: item.namespace for item in needed}.items():
            if server.make_user(user, namespace, passwords.of[user], found):
                changes.append(f"user {user}")
        for name, user in {item.name: item.user for item in needed}.items():
            if server.make_database(name, user, found, dry=dry):
                changes.append(f"database {name}")
        for change in changes:
            self.print_message(f"{'would change' if dry else 'changed'} {change}")
        databases = list(map(_describe, needed))
        return {"changed": bool(changes), "changes": changes, "databases": databases}

    def _resources(self, client: Client, arguments: Json) -> list[Json]:
        """The given resources, or all of the namespace."""
        namespace = arguments["namespace"] or client.namespace
        if texts := _Options(self).find_texts(arguments):
            return custom_resources(texts, namespace)
        found = [
            {**item, "kind": kind}
            for kind in kinds_with_database()
            for item in client.list_objects(api_path(kind, namespace)) or []
            if "deletionTimestamp" not in item["metadata"]
        ]
        if not found:
            raise NimError(
                f"namespace {namespace} has no NeMo resource; create some, or name files"
            )
        return found

    def _run_module(self, name: str, arguments: Json) -> Json:
        try:
            result = self._execute_module(
                module_name=f"{_COLLECTION}.{name}",
                module_args=dict(arguments),
                task_vars=self._module_variables(),
            )
        except AnsibleError as error:
            raise NimError(
                f"{_COLLECTION}.{name} cannot be run: {error}; install the collection with"
                f" ansible-galaxy collection install {_COLLECTION}"
            ) from error
        return t.cast(Json, to_native_types(result))

    def _module_variables(self) -> Json:
        """On localhost, run modules under Ansible's own interpreter, where Psycopg is installed.

        Discovery would find the newest interpreter, or a pyenv shim that runs nothing.
        """
        setting = constants.config.get_config_value("INTERPRETER_PYTHON", variables=self.variables)
        if self._connection.transport != "local" or not setting.startswith("auto"):
            return self.variables
        return {**self.variables, "ansible_python_interpreter": sys.executable}


def _describe(needed: NeededDatabase) -> Json:
    return {
        "resource": needed.resource,
        "server": needed.server,
        "name": needed.name,
        "user": needed.user,
        "secret": f"{needed.namespace}/{needed.secret}",
    }
