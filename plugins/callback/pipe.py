# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""A stdout callback that prints only data on stdout."""

from __future__ import annotations

DOCUMENTATION = r"""
name: pipe
type: stdout
author: The nimops.nim authors (@nimops)
short_description: Prints only a playbook's data on stdout
version_added: 0.1.0
description:
  - Prints no banners, no task names and no recap.
  - This way, you can pipe the output of the playbooks of this collection.
  - Failures go to stderr, as do progress and warnings.
requirements:
  - Set it with E(ANSIBLE_STDOUT_CALLBACK), or as C(stdout_callback) in C(ansible.cfg).
options: {}
"""

import typing as t

from ansible.plugins.callback import CallbackBase


class CallbackModule(CallbackBase):
    """Ansible's entry point."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "nimops.nim.pipe"

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        """Print the error unless the play continues."""
        if not ignore_errors:
            self._print_error("FAILED", result)

    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        """Print the error."""
        self._print_error("ERROR", result)

    def v2_on_file_diff(self, result: t.Any) -> None:
        """Print differences, which are data."""
        for diff in _list(_result_of(result).get("diff")):
            if text := self._get_diff(diff):
                self._display.display(text)

    def _print_error(self, what: str, result: t.Any) -> None:
        found = _result_of(result)
        text = found.get("msg") or found.get("exception") or "failed without a message"
        self._display.display(f"{what}: {text}", stderr=True)


def _result_of(result: t.Any) -> dict[str, t.Any]:
    """The result of a task; the attribute is public since ansible-core 2.19."""
    return t.cast("dict[str, t.Any]", getattr(result, "result", None) or result._result)


def _list(value: t.Any) -> list[t.Any]:
    return value if isinstance(value, list) else [value] if value else []
