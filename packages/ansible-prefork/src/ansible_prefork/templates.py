# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Compile templates once: those of the preloaded collections' roles in the parent, all others in the run.

ansible-core parses and compiles a template each time that it is used. The resulting code depends on the text, the
syntax settings and the kinds of filters and tests, and contains no values.

Until ansible-core 2.18, a template can change a variable by a method such as ``append``. In stock Ansible, the change
ends with the process of the task. Here a task moves to a worker before it uses a template with such a call.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import Any, cast

from jinja2 import nodes

from ansible_prefork import isolation

MAXIMUM = 1000
# Keywords whose values are evaluated without delimiters.
CONDITIONS = frozenset(("when", "until", "failed_when", "changed_when", "that"))
SYNTAX = (
    "block_start_string",
    "block_end_string",
    "variable_start_string",
    "variable_end_string",
    "comment_start_string",
    "comment_end_string",
    "line_statement_prefix",
    "line_comment_prefix",
    "trim_blocks",
    "lstrip_blocks",
    "newline_sequence",
    "keep_trailing_newline",
)

# Methods of text, lists, dictionaries and loops that change nothing.
HARMLESS_METHODS = frozenset((
    *(name for name in dir(str) if not name.startswith("_")),
    "copy", "cycle", "fromkeys", "get", "group", "groups", "items", "keys", "strftime", "total_seconds", "values",
))  # fmt: skip
# Functions that a template can call by name and that change nothing.
HARMLESS_NAMES = frozenset(("caller", "dict", "lookup", "loop", "now", "q", "query", "range", "super", "undef"))

_codes: dict[tuple[Any, ...], CodeType] = {}
# The keys of templates that may change a variable.
_changing: set[tuple[Any, ...]] = set()


def install(data: Iterable[Any]) -> None:
    """Compile the templates in these playbooks and task files, and make Jinja use the results."""
    import jinja2
    from jinja2.environment import TemplateExpression

    stock, stock_expression = jinja2.Environment.compile, jinja2.Environment.compile_expression
    if _compile_context() is None:
        stock = _move_before_changes(stock)
    pending: list[tuple[Any, ...]] = []

    def compile_template(self: Any, source: Any, *arguments: Any, **named: Any) -> Any:
        if pending:
            # The tree of an expression.
            return _keep(pending.pop(), stock(self, source, *arguments, **named))
        if arguments or named or not isinstance(source, str) or not _uses_stock_plugins():
            return stock(self, source, *arguments, **named)
        key = _make_key(self, "template", source)
        if key in _changing:
            isolation.move_to_worker()
        return _codes.get(key) or _keep(key, stock(self, source))

    def compile_expression(self: Any, source: str, undefined_to_none: bool = True) -> Any:
        if not _uses_stock_plugins():
            return stock_expression(self, source, undefined_to_none)
        key = _make_key(self, "expression", source)
        if key in _codes:
            template = self.template_class.from_code(self, _codes[key], self.make_globals(None), None)
            return TemplateExpression(template, undefined_to_none)
        pending.append(key)
        try:
            return stock_expression(self, source, undefined_to_none)
        finally:
            pending.clear()

    jinja2.Environment.compile = compile_template  # type: ignore[method-assign]
    jinja2.Environment.compile_expression = compile_expression  # type: ignore[method-assign]
    _compile_all(data)


def _move_before_changes(stock: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``compile``, to move the task to a worker if its template may change a variable."""
    import jinja2

    parse = jinja2.Environment._parse
    # One item while a template is compiled.
    found: list[bool] = []

    def parse_and_check(self: Any, *arguments: Any, **named: Any) -> Any:
        tree = parse(self, *arguments, **named)
        if found:
            found[0] = found[0] or may_change(tree)
        return tree

    def compile_and_move(self: Any, source: Any, *arguments: Any, **named: Any) -> Any:
        found[:] = [False]
        try:
            code = stock(self, source, *arguments, **named)
            is_changing = found[0]
        finally:
            found.clear()
        if is_changing:
            _changing.add(_make_key(self, "template", source))
            isolation.move_to_worker()
        return code

    jinja2.Environment._parse = parse_and_check  # type: ignore[method-assign]
    return compile_and_move


def may_change(tree: nodes.Template) -> bool:
    """Whether the template has a call that may change its object or its arguments."""
    macros = {item.name for item in tree.find_all(nodes.Macro)}
    return any(
        node.name not in HARMLESS_NAMES | macros
        if isinstance(node, nodes.Name)
        else not (isinstance(node, nodes.Getattr) and node.attr in HARMLESS_METHODS)
        for node in (call.node for call in tree.find_all(nodes.Call))
    )


def _keep(key: tuple[Any, ...], code: CodeType) -> CodeType:
    if len(_codes) < MAXIMUM:
        _codes[key] = code
    return code


def _make_key(environment: Any, kind: str, source: str) -> tuple[Any, ...]:
    syntax = tuple(getattr(environment, name) for name in SYNTAX)
    return kind, source, type(environment), _escapes_backslashes(), syntax


def _escapes_backslashes() -> bool | None:
    """The setting of ansible-core 2.19 and later during a compilation; None before 2.19."""
    context = _compile_context()
    current = context and context.current(optional=True)
    return None if current is None else current.escape_backslashes


@functools.cache
def _compile_context() -> Any:
    """The class with that setting; None until ansible-core 2.18. It is cached, as the import took 0.7 ms per run."""
    try:
        from ansible._internal._templating._jinja_bits import _TemplateCompileContext
    except ImportError:
        return None
    return _TemplateCompileContext


def _uses_stock_plugins() -> bool:
    """Whether no playbook or role has its own filters or tests, which may replace others of the same name."""
    from ansible.plugins import loader

    return not (loader.filter_loader._extra_dirs or loader.test_loader._extra_dirs)


def _compile_all(data: Iterable[Any]) -> None:
    compile_one = _make_compiler()
    for is_condition, text in find_texts(data):
        # Invalid templates are left to the run that needs them.
        with contextlib.suppress(Exception):
            if "{{" in text or "{%" in text:
                compile_one(text, False)
            elif is_condition:
                compile_one(text, True)


def _make_compiler() -> Callable[[str, bool], object]:
    """A function that compiles a template or a condition as ansible-core does."""
    from ansible.parsing.dataloader import DataLoader

    try:
        from ansible._internal._templating._engine import TemplateEngine
        from ansible._internal._templating._jinja_bits import _TemplateCompileContext
    except ImportError:
        from ansible import template

        old = template.Templar(DataLoader()).environment

        def compile_for_old(text: str, is_condition: bool) -> object:
            text = _condition_template(text) if is_condition else text
            return old.from_string(template._escape_backslashes(text, old))

        return compile_for_old

    environment = TemplateEngine(DataLoader()).environment

    def compile_one(text: str, is_condition: bool) -> object:
        with _TemplateCompileContext(escape_backslashes=not is_condition):
            if is_condition:
                return environment.compile_expression(text.strip(), False)
            return environment.from_string(text)

    return compile_one


class _AskedError(BaseException):
    """Carries the template that the evaluation of a condition passes to its templar."""


class _Templar:
    """Replaces the templar in the evaluation of a condition."""

    available_variables: Any = None

    def is_template(self, _text: str) -> bool:
        return False

    def template(self, text: str, **_options: Any) -> Any:
        raise _AskedError(text)


def _condition_template(condition: str) -> str:
    """The template that ansible-core until 2.18 makes of a condition."""
    from ansible.playbook.conditional import Conditional

    try:
        Conditional._check_conditional(cast(Any, None), condition, _Templar(), {})
    except _AskedError as asked:
        return str(asked.args[0])
    raise ValueError("this condition is not evaluated by a template")


def find_texts(data: Any, is_condition: bool = False) -> Iterator[tuple[bool, str]]:
    """All texts in parsed YAML, each with whether it is evaluated as a condition."""
    if isinstance(data, str):
        yield is_condition, data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from find_texts(value, key in CONDITIONS)
    elif isinstance(data, Iterable):
        for item in data:
            yield from find_texts(item, is_condition)
