# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Installs CRDs, policies, roles and the operator, or removes them."""

from __future__ import annotations

import typing as t

from ..._base.errors import ApiError, NimError
from ..._base.types import Json
from ..._cluster.client import Client
from ..command import CONNECTION_SPEC, Command
from ..release.release import describe
from ..text import summarize, to_diff, write_changes
from .install import Installer, Step
from .manifests import COMPONENTS, Order
from .uninstall import Uninstaller


class InstallCommand(Command):
    """Writes to the cluster; in check mode it only returns what would change."""

    spec = CONNECTION_SPEC | {
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "operator": {"type": "bool", "default": False},
        "image": {"type": "str"},
        "components": {
            "type": "list",
            "elements": "str",
            "choices": list(COMPONENTS),
            "default": ["nemo"],
        },
        "watch_namespaces": {"type": "list", "elements": "str", "default": []},
        "release": {"type": "bool", "default": False},
        "wait": {"type": "bool", "default": True},
        "wait_timeout": {"type": "int", "default": 300},
    }
    rules: t.ClassVar[Json] = {"required_if": [("operator", True, ["image"])]}

    def act(self, arguments: Json) -> Json:
        """Install or remove."""
        client = self.connect(arguments)
        absent = arguments["state"] == "absent"
        return (self._uninstall if absent else self._install)(client, arguments)

    def _install(self, client: Client, arguments: Json) -> Json:
        order = Order(
            frozenset(arguments["components"]),
            arguments["image"] if arguments["operator"] else "",
            tuple(dict.fromkeys(arguments["watch_namespaces"])),
        )
        takeover = self.console.name_command("takeover")
        installer = Installer(client, order, self.print_message, takeover)
        steps = installer.plan()
        result = self._describe(steps)
        if self.is_dry:
            return result
        seconds = arguments["wait_timeout"]
        try:
            installer.install(steps, seconds)
            if order.image and arguments["wait"]:
                installer.wait_available(seconds)
        except (ApiError, NimError) as error:
            return {"failed": True, "changed": bool(steps), "msg": str(error)}
        step = self._name_next(has_operator=bool(order.image))
        self.print_message(f"next: {step}")
        return result | {"next_step": step}

    def _uninstall(self, client: Client, arguments: Json) -> Json:
        uninstaller = Uninstaller(client, self.print_message)
        removal, is_released = uninstaller.plan(), arguments["release"]
        result = self._describe(removal.steps)
        kept = removal.kept
        if is_released and removal.held:
            self.print_data("\n".join(map(describe, removal.held)))
            result["changed"] = True
        if not self.is_dry:
            try:
                kept = uninstaller.uninstall(
                    removal, arguments["wait_timeout"], is_released=is_released
                )
            except (ApiError, NimError) as error:
                return {"failed": True, "changed": result["changed"], "msg": str(error)}
        for text in kept:
            self.print_message(f"kept: {text}")
        if removal.held and not is_released:
            self.print_message(
                f"custom resources with a finalizer: {len(removal.held)}. They cannot be deleted"
                f" without the operator; {self.console.name_option('release', 'true')} removes the"
                " finalizers"
            )
        return result | {"kept": kept}

    def _name_next(self, *, has_operator: bool) -> str:
        """The next step of the user."""
        if has_operator:
            return (
                f"kubectl apply -f nim.yaml, which the operator serves;"
                f" {self.console.name_command('status')} lists the state of all resources"
            )
        apply = self.console.name_command("apply", files="nim.yaml")
        return f"{apply}, which serves models without an operator"

    def _describe(self, steps: list[Step]) -> Json:
        """Print the changes, unless Ansible shows their differences."""
        changes = [step.change for step in steps]
        result: Json = {
            "changed": bool(changes),
            "msg": summarize(changes),
            "changes": [change.summarize() for change in changes],
        }
        if self.wants_diff:
            return result | {"diff": [to_diff(change) for change in changes]}
        self.print_data(write_changes(changes))
        return result
