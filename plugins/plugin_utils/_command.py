# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Runs the commands of users as actions: data on stdout, messages on stderr."""

from __future__ import annotations

import shlex
import typing as t

from ansible.utils.display import Display
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError
from ansible_collections.nimops.nim.plugins.module_utils._commands.command import Command
from ansible_collections.nimops.nim.plugins.module_utils._commands.files import refuse_stdin
from ansible_collections.nimops.nim.plugins.module_utils._engine.adjust import Adjust
from ansible_collections.nimops.nim.plugins.plugin_utils._action import Action
from ansible_collections.nimops.nim.plugins.plugin_utils._child_filters import child_filters


class CommandAction(Action):
    """An action for users. It is `unreachable` only if the API server does not answer."""

    command: t.ClassVar[type[Command]] = Command

    def __init_subclass__(cls) -> None:
        """Take the options of the command."""
        cls.spec, cls.rules = cls.command.spec, cls.command.rules

    @property
    def is_dry(self) -> bool:
        """Whether nothing may be written."""
        return bool(self._task.check_mode)

    @property
    def wants_diff(self) -> bool:
        """Whether the result contains a diff instead of printing the changes."""
        return bool(self._task.diff)

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Run the command."""
        return self.command(self).act(arguments)

    def fail_with(self, error: Exception) -> dict[str, t.Any]:
        """The result of a task that raised one of our errors."""
        if isinstance(error, ApiError) and not error.status:
            return {"unreachable": True, "msg": str(error)}
        return super().fail_with(error)

    @staticmethod
    def print_data(text: str) -> None:
        """Print data on stdout."""
        Display().display(text.rstrip("\n"))

    @staticmethod
    def print_message(text: str) -> None:
        """Print a message on stderr."""
        Display().display(text, stderr=True)

    @staticmethod
    def read_stdin(path: str) -> str:
        """NimError: Ansible's workers have no stdin."""
        return refuse_stdin(path)

    @staticmethod
    def name_command(command: str, **options: str) -> str:
        """The command line of a playbook."""
        given = [CommandAction.name_option(key, value) for key, value in options.items()]
        return " ".join([f"ansible-playbook nimops.nim.{command}", *given])

    @staticmethod
    def name_option(key: str, value: str) -> str:
        """An option of a playbook."""
        return f"-e {shlex.quote(f'{key}={value}')}"

    @staticmethod
    def find_filters() -> Adjust | None:
        """The filters in the environment."""
        return child_filters()
