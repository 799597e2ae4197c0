# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Completion of the command line, for kubectl and for shells."""

from __future__ import annotations

import sys
import typing as t

import click
from click import shell_completion
from click.shell_completion import CompletionItem, ShellComplete

_NO_FILES, _FILES = ":4", ":0"
"""The directives of kubectl's completion, which are those of cobra."""
_MAX_NAMES = 500

PROGRAM, VARIABLE = "kubectl-nim", "_KUBECTL_NIM_COMPLETE"
"""The program that shells complete, and the variable that starts its completion."""
SHELLS = ("bash", "zsh", "fish")

Complete = t.Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def main() -> None:
    """Print the completions of the last argument, as kubectl expects of `kubectl_complete-nim`."""
    from .app import make_root

    words = sys.argv[1:] or [""]
    found = ShellComplete(make_root(), {}, "kubectl nim", "").get_completions(words[:-1], words[-1])
    for item in found:
        if item.type == "plain":
            click.echo(f"{item.value}\t{item.help}" if item.help else item.value)
    click.echo(_FILES if any(item.type == "file" for item in found) else _NO_FILES)


def make_completion_command() -> click.Command:
    """The command that prints the completion script of a shell."""

    def show(shell: str) -> int:
        made = shell_completion.get_completion_class(shell)
        assert made is not None  # a choice of SHELLS
        click.echo(made(click.Command(PROGRAM), {}, PROGRAM, VARIABLE).source())
        return 0

    return click.Command(
        "completion",
        params=[click.Argument(["shell"], type=click.Choice(SHELLS))],
        callback=show,
        help=_HELP,
        short_help="Print the completion script of a shell",
    )


_HELP = """Print the completion script of a shell for kubectl-nim.

kubectl's own completion includes kubectl nim, as kubectl_complete-nim is on PATH.

Example:

\b
  source <(kubectl nim completion bash)
"""


def complete_values(what: str) -> Complete | None:
    """The completion of an option's values: files, namespaces, contexts, resources, names."""
    if not what:
        return None
    if what == "file":
        return lambda _ctx, _parameter, start: [CompletionItem(start, type="file")]

    def complete(
        ctx: click.Context, _parameter: click.Parameter, start: str
    ) -> list[CompletionItem]:
        try:
            names = _list_names(what, ctx.params, start)
        except Exception:  # a shell has no place for an error
            return []
        return [CompletionItem(name) for name in names if name.startswith(start)][:_MAX_NAMES]

    return complete


def _list_names(what: str, given: t.Mapping[str, t.Any], start: str) -> list[str]:
    """The names of a cluster. Raises errors of the client."""
    from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
    from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path
    from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names

    client = Client(given.get("kubeconfig"), given.get("context"))
    if what == "context":
        return client.contexts
    if what == "namespace":
        return [item["metadata"]["name"] for item in client.list_metadata("/api/v1/namespaces")]
    kinds = [what]
    if what == "resource":
        wanted, slash, _name = start.partition("/")
        if not slash:
            return [f"{kind.lower()}/" for kind in kind_names()]
        kinds = [kind for kind in kind_names() if kind.lower() == wanted.lower()]
    namespace = given.get("namespace") or client.namespace
    return [
        f"{kind.lower()}/{name}" if what == "resource" else name
        for kind in kinds
        for item in client.list_metadata(api_path(kind, namespace))
        for name in [item["metadata"]["name"]]
    ]
