# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the `Command` of a verb with the values of a command line."""

from __future__ import annotations

import importlib
import sys
import typing as t

import click

from .terminal import Terminal, is_terminal
from .verbs import Verb

DONE, FAILED, UNREACHABLE, INTERRUPTED = 0, 1, 3, 130
"""Exit codes. A command can have others, such as 2 of `ask` and `wait`."""

DEBUG = "NIMOPS_DEBUG"
"""The environment variable that makes internal errors show where they occurred."""
_REPORT = f"This is a bug: please report it, with the output of the same command and {DEBUG}=1"
_REMEDIES = {
    401: ": the credentials of the kubeconfig are invalid or have expired; renew them",
    403: ": ask an administrator for a role of docs/operate/rbac.md, or use another --context",
}
"""The advice after a message of the API server, by status."""
_MAX_INTERNAL = 300

COMMANDS = "ansible_collections.nimops.nim.plugins.module_utils._commands"

_COLLECTION = (
    "ansible_collections",
    "ansible_collections.nimops",
    "ansible_collections.nimops.nim",
)

Json = dict[str, t.Any]


def load_command(verb: Verb) -> t.Any:
    """The class of a verb's command."""
    module, _colon, name = verb.path.partition(":")
    try:
        own = module.startswith(".")
        found = importlib.import_module(
            module if own else f".{module}", __package__ if own else COMMANDS
        )
        return getattr(found, name)
    except ModuleNotFoundError as error:
        if str(error.name) not in _COLLECTION:
            raise
        raise click.ClickException(
            "the collection nimops.nim is missing, which release wheels of kubectl-nim contain:"
            " install one, or add the folder that contains ansible_collections to PYTHONPATH"
        ) from error


def run_verb(verb: Verb, values: Json) -> int:
    """Run a verb, and return its exit code. ``values`` are those of the command line."""
    command = load_command(verb)
    output = values.pop("output", None)
    is_dry = values.pop("dry_run", False)
    is_confirmed = verb.must_confirm and values.pop("yes", False)
    is_everywhere = values.pop("all_namespaces", False)
    has_fail_option = bool(verb.fail_option and values.pop(verb.fail_option.key, False))
    implied = {key: True for key, option in (verb.implied or {}).items() if values.get(option)}
    arguments = complete(command.spec, {**(verb.fixed or {}), **implied, **values})
    if "output" in command.spec and output:
        arguments["output"] = output if output in command.spec["output"]["choices"] else "json"
    terminal = Terminal(verb.name, is_yaml=output == "yaml" and arguments.get("output") == "json")
    if verb.scope == "many" and not arguments.get("namespace") and not arguments.get("files"):
        _set_namespace(terminal, arguments, is_everywhere)
    _check_rules(command, arguments)
    must_ask = verb.must_confirm and not is_confirmed and not is_dry
    terminal.is_dry = is_dry or must_ask
    code, result = act(verb, command, terminal, arguments)
    if must_ask and not code and result.get("changed"):
        if not _confirm(terminal):
            return FAILED
        terminal.is_dry = False
        code, result = act(verb, command, terminal, arguments)
    return code or _judge(verb, result, has_option=has_fail_option)


def _confirm(terminal: Terminal) -> bool:
    """Whether the user confirms; without a terminal they cannot."""
    if is_terminal(sys.stdin):
        return click.confirm("Continue?", err=True)
    terminal.print_error("nothing was changed: --yes confirms it")
    return False


def _judge(verb: Verb, result: Json, *, has_option: bool) -> int:
    """The exit code of a command that did not fail, by its result."""
    if verb.fails_if is None or (verb.fail_option and not has_option):
        return DONE
    return FAILED if verb.fails_if(result) else DONE


def act(verb: Verb, command: t.Any, terminal: Terminal, arguments: Json) -> tuple[int, Json]:
    """Run a command, print why it failed, and return its exit code and its result."""
    from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError

    try:
        with terminal.progress.running():
            result = command(terminal).act(arguments)
    except NimError as error:
        error.args = (name_flag(verb, str(error)),)
        raise
    if not result.get("failed"):
        return DONE, result
    terminal.print_error(name_flag(verb, str(result["msg"])))
    return int(result.get("exit_code", FAILED)), result


def explain_failure(error: Exception) -> tuple[int, str]:
    """The exit code and the message of an exception that ended a command."""
    from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError, NimError

    if isinstance(error, (ApiError, NimError)):
        api_error = error if isinstance(error, ApiError) else error.__cause__
        status = api_error.status if isinstance(api_error, ApiError) else None
        return UNREACHABLE if status == 0 else FAILED, f"{error}{_REMEDIES.get(status or 0, '')}"
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return FAILED, f"{place}{error.strerror or error}"
    text = " ".join(str(error).split())[:_MAX_INTERNAL]
    return FAILED, f"internal: {type(error).__name__}: {text}. {_REPORT}"


def name_flag(verb: Verb, text: str) -> str:
    """A message that begins with the key of an option, with its flag instead."""
    key, colon, rest = text.partition(": ")
    for option in verb.own_options:
        if colon and option.key == key:
            return f"{option.names[-1]}: {rest}"
    return text


def complete(spec: Json, values: Json) -> Json:
    """The values, with the defaults of the command for those that are missing."""
    return {
        key: values[key] if values.get(key) is not None else option.get("default")
        for key, option in spec.items()
    }


def _set_namespace(terminal: Terminal, arguments: Json, is_everywhere: bool) -> None:
    """Name the namespace of the context, unless all namespaces are wanted."""
    if not is_everywhere:
        arguments["namespace"] = terminal.connect(arguments).namespace


def _check_rules(command: t.Any, arguments: Json) -> None:
    """Check the constraints between options, as Ansible does."""
    if not command.rules:
        return
    from ansible.module_utils.common import validation

    checks: dict[str, t.Callable[..., t.Any]] = {
        "mutually_exclusive": validation.check_mutually_exclusive,
        "required_one_of": validation.check_required_one_of,
        "required_if": validation.check_required_if,
    }
    given = {key: value for key, value in arguments.items() if value not in (None, [], {})}
    for rule, terms in command.rules.items():
        try:
            checks[rule](terms, given)
        except TypeError as error:
            raise click.UsageError(str(error)) from error
