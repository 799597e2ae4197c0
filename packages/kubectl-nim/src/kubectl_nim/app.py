# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The parser, made from the table of verbs."""

from __future__ import annotations

import difflib
import os
import typing as t

import click

from . import __version__
from .completion import VARIABLE, complete_values, make_completion_command
from .run import DEBUG, FAILED, INTERRUPTED, explain_failure, run_verb
from .terminal import print_error
from .verbs import GROUPS, VERBS, Argument, Option, Verb

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_NO_FILES = "No files: name files or folders with custom resources, or - for stdin."
_DURATION_UNITS = {"s": 1, "m": 60, "h": 3600}

click.UsageError.exit_code = FAILED  # as kubectl; 2 is a result of `ask` and `wait`


def parse_seconds(text: str) -> int:
    """The seconds of a duration such as 90, 90s, 10m or 1h."""
    is_unit = text[-1:] in _DURATION_UNITS
    number = text[:-1] if is_unit else text
    if not (number.isascii() and number.isdecimal()) or len(number) > 9 or not int(number):
        raise click.BadParameter(f"{text!r} is not a duration such as 90s, 10m or 1h.")
    return int(number) * (_DURATION_UNITS[text[-1]] if is_unit else 1)


def parse_pair(text: str) -> tuple[str, str]:
    """Key and value of KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise click.BadParameter(f"{text!r} is not KEY=VALUE.")
    return key, value


class Sections(click.Group):
    """The command, whose verbs are made when they are needed."""

    def __init__(self, prefix: str = "", **settings: t.Any) -> None:
        super().__init__(**settings)
        self._prefix = prefix
        names = [verb.name.removeprefix(prefix) for verb in VERBS if verb.name.startswith(prefix)]
        self._names = list(dict.fromkeys(name.split()[0] for name in names))

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return [*self._names, *self.commands]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest similar names of a command that does not exist."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            similar = difflib.get_close_matches(name, self.list_commands(ctx))
            hint = f" Did you mean {' or '.join(similar)}?" if similar else ""
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of a name."""
        full = f"{self._prefix}{name}"
        for verb in VERBS:
            if verb.name == full:
                return make_command(verb)
        if name not in self._names:
            return super().get_command(ctx, name)
        return Sections(
            f"{full} ",
            name=name,
            help=GROUPS[name],
            context_settings=_SETTINGS,
        )


def make_command(verb: Verb) -> click.Command:
    """The parser of a verb."""
    parameters: list[click.Parameter] = [*map(_make_argument, verb.arguments)]
    parameters += map(_make_option, verb.own_options)
    parameters += _make_common(verb)
    return click.Command(
        verb.name.split()[-1],
        params=parameters,
        callback=lambda **values: _call(verb, values),
        help=f"{verb.help}.\n\nExample:\n\n\b\n  {verb.example}",
        short_help=verb.help,
        context_settings=_SETTINGS,
    )


def make_root() -> click.Group:
    """The parser of the whole command line."""
    version = click.Option(
        ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_show_version,
        help="Show the version.",
    )  # fmt: skip
    root = Sections(
        name="kubectl nim",
        help="Serve NVIDIA NIM models on Kubernetes.",
        context_settings=_SETTINGS,
        params=[version],
    )
    root.add_command(make_completion_command())
    return root


def run(arguments: t.Sequence[str]) -> int:
    """Run a command line, and return its exit code."""
    try:
        code = make_root().main(
            list(arguments),
            prog_name="kubectl nim",
            complete_var=VARIABLE,
            standalone_mode=False,
        )
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.ClickException as error:
        print_error(error.format_message())
        context = getattr(error, "ctx", None)
        if context:
            click.echo(f"See '{context.command_path} --help' for usage.", err=True)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except Exception as error:  # users see no traceback
        if os.environ.get(DEBUG):
            raise
        code, text = explain_failure(error)
        print_error(text)
    return int(code or 0)


def _call(verb: Verb, values: dict[str, t.Any]) -> int:
    given: dict[str, t.Any] = {}
    items: tuple[Argument | Option, ...] = (*verb.arguments, *verb.own_options)
    for item in items:
        value = values.pop(variable_of(item), None)
        found = _to_value(item, value)
        if found is not None:
            given[item.key] = given.get(item.key, []) + found if _is_list(item) else found
    if verb.needs_files and not given.get("files"):
        raise click.UsageError(_NO_FILES, click.get_current_context())
    return run_verb(verb, given | values)


def _is_list(item: Argument | Option) -> bool:
    return item.count < 0 if isinstance(item, Argument) else item.type == "list"


def _to_value(item: Argument | Option, value: t.Any) -> t.Any:
    """The value as the command expects it; None if it was not given."""
    if value is None or value == ():
        return None
    if isinstance(item, Option):
        if item.type == "switch":
            return _switch(item) if value else None
        if item.type == "pairs":
            return dict(value)
        if item.type == "list" and item.completes != "file":
            return [part for text in value for part in text.split(",") if part]
    return list(value) if isinstance(value, tuple) else value


def _switch(option: Option) -> bool:
    """The value that a switch sets: false for `--no-…`."""
    return not option.names[-1].startswith("--no-")


def variable_of(item: Argument | Option) -> str:
    """A name for click, which must differ for an argument and an option of one key."""
    return f"{'given' if isinstance(item, Argument) else 'option'}_{item.key}"


def _make_argument(argument: Argument) -> click.Argument:
    return click.Argument(
        [variable_of(argument)],
        metavar=argument.metavar,
        nargs=argument.count or 1,
        required=argument.count == 1 or argument.is_required,
        shell_complete=complete_values(argument.completes),
    )


def _make_option(option: Option) -> click.Option:
    return click.Option(
        [variable_of(option), *option.names],
        help=f"{option.help}.",
        type=click.Choice(option.choices) if option.choices else _TYPES.get(option.type, str),
        metavar=option.metavar or _METAVARS.get(option.type),
        is_flag=option.type == "switch",
        multiple=option.type in ("list", "pairs"),
        default=None,
        shell_complete=complete_values(option.completes),
    )


_TYPES: dict[str, t.Any] = {"number": int, "seconds": parse_seconds, "pairs": parse_pair}
_METAVARS = {"seconds": "DURATION", "pairs": "KEY=VALUE"}


def _make_common(verb: Verb) -> t.Iterator[click.Option]:
    """The options that verbs have in common."""
    if verb.outputs:
        shown = click.Choice(verb.outputs)
        help_text = f"The format; {verb.outputs[0]} by default."
        yield click.Option(["-o", "--output"], type=shown, help=help_text)
    if verb.can_dry_run:
        yield click.Option(["--dry-run"], is_flag=True, help="Only show what would be done.")
    if verb.must_confirm:
        yield click.Option(["-y", "--yes"], is_flag=True, help="Do it without a question.")
    if verb.scope != "cluster":
        yield click.Option(
            ["-n", "--namespace"], help="The namespace; that of the context by default.",
            shell_complete=complete_values("namespace"),
        )  # fmt: skip
    if verb.scope == "many":
        yield click.Option(["-A", "--all-namespaces"], is_flag=True, help="All namespaces.")
    if not verb.is_local:
        yield click.Option(
            ["--context"], help="The context of the kubeconfig.",
            shell_complete=complete_values("context"),
        )  # fmt: skip
        yield click.Option(["--kubeconfig"], help="The kubeconfig; KUBECONFIG by default.")


def _show_version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"kubectl-nim {__version__}")
        ctx.exit()
