# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The texts that an argument of a function can have, in a folder of Python sources.

`Flow` follows an argument backwards to constants: through assignments, callers, returned values and
fields of objects. It lists what it cannot follow, so that a test can require that nothing is left.
"""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

_EACH, _VALUE = -1, -2
"""In the path of a place: any item of a list or key of a mapping; any value of a mapping."""
_DEPTH = 3
"""The longest path; a longer one is of a loop that takes values apart."""
_SAME = ("str", "dict", "list", "tuple", "set", "sorted", "frozenset", "iter", "reversed")
"""Functions that return their argument, or its items."""

Item = int | str
Items = tuple[Item, ...]
"""The item of a value, then the item of that …: a position, a key, or any."""
Key = tuple[Path | None, str]
"""A function or class by its source and name; without a source, the methods of that name."""


@dataclass(eq=False)
class Scope:
    """A module, or a function in the scope ``above``. ``owner``: the class of a method."""

    path: Path
    above: Scope | None = None
    function: ast.FunctionDef | None = None
    owner: Class | None = None
    names: dict[str, list[tuple[ast.expr, Items]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """name → the expressions that it is assigned from, with the item of each"""
    types: dict[str, ast.expr] = field(default_factory=dict)
    """name → its annotation, or the class of a caught exception"""

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters that a caller passes, in order."""
        if not self.function:
            return []
        found = self.function.args
        names = [item.arg for item in (*found.posonlyargs, *found.args)]
        return [*names[bool(self.owner) :], *(item.arg for item in found.kwonlyargs)]

    @property
    def defaults(self) -> dict[str, ast.expr]:
        """The defaults of the parameters."""
        if not self.function:
            return {}
        found = self.function.args
        names = [item.arg for item in (*found.posonlyargs, *found.args)]
        pairs = [
            *zip(reversed(names), reversed(found.defaults), strict=False),
            *zip((item.arg for item in found.kwonlyargs), found.kw_defaults, strict=True),
        ]
        return {name: value for name, value in pairs if value}


@dataclass(frozen=True)
class Place:
    """An expression in a scope, or with a path an item of its value."""

    node: ast.expr
    scope: Scope
    path: Items = ()


@dataclass(eq=False)
class Class:
    """A class: its annotated fields with their defaults, and its methods."""

    key: Key
    scope: Scope
    bases: list[Key]
    fields: dict[str, ast.expr | None] = field(default_factory=dict)
    types: dict[str, ast.expr] = field(default_factory=dict)
    methods: dict[str, Scope] = field(default_factory=dict)
    members: set[str] = field(default_factory=set)


class UnknownError(Exception):
    """An expression that cannot be followed."""


class Flow:
    """The sources of a folder.

    ``without``: a folder to leave out.
    """

    def __init__(self, folder: Path, without: str = "") -> None:
        self.folder = folder
        self.unknown: set[str] = set()
        """The expressions that were not followed, as `path: expression`."""
        self.given: dict[tuple[str, str], Callable[[str], Iterable[str]]] = {}
        """class and field → its texts in a folder, where they come from outside of the sources"""
        self._joining: list[ast.expr] = []
        self._bound: dict[Scope, list[dict[str, Place]]] = {}
        self._modules: dict[Path, Scope] = {}
        self._imports: dict[Path, dict[str, tuple[Path, str]]] = {}
        self._functions: dict[Key, list[Scope]] = defaultdict(list)
        self._classes: dict[Key, Class] = {}
        self._below: dict[Key, list[Class]] = defaultdict(list)
        self._calls: dict[Key, list[tuple[ast.Call, Scope]]] = defaultdict(list)
        self._replaced: list[tuple[ast.Call, Scope]] = []
        self._stores: dict[str, list[tuple[ast.expr, Place]]] = defaultdict(list)
        trees = {
            path: ast.parse(path.read_text())
            for path in sorted(folder.rglob("*.py"))
            if not without or without not in path.parts
        }
        for path, tree in trees.items():
            self._imports[path] = dict(_imports(tree, path))
        for path, tree in trees.items():
            self._modules[path] = Scope(path)
            self._read(tree.body, self._modules[path])

    # Reading

    def _read(self, nodes: Iterable[ast.AST], scope: Scope, owner: Class | None = None) -> None:
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                self._read_function(node, scope, owner)
            elif isinstance(node, ast.ClassDef):
                self._read_class(node, scope)
            else:
                self._read_node(node, scope, owner)
                self._read(ast.iter_child_nodes(node), scope)

    def _read_class(self, node: ast.ClassDef, scope: Scope) -> None:
        bases = [self._key_of(base, scope) for base in node.bases]
        found = Class((scope.path, node.name), scope, bases)
        self._classes[found.key] = found
        self._read(node.body, scope, found)
        for base in bases:
            self._below[base].append(found)
        found.members |= {*found.types, *found.methods}

    def _read_function(self, node: ast.FunctionDef, above: Scope, owner: Class | None) -> None:
        inner = Scope(above.path, above, node, owner)
        if owner:
            owner.methods[node.name] = inner
        self._functions[None if owner else above.path, node.name].append(inner)
        self._read([*node.args.defaults, *filter(None, node.args.kw_defaults)], above)
        self._read(node.body, inner)

    def _read_node(  # noqa: C901  # a case for each kind of statement
        self, node: ast.AST, scope: Scope, owner: Class | None
    ) -> None:
        if isinstance(node, ast.Call):
            self._calls[self._key_of(node.func, scope)].append((node, scope))
            if _name_of(node.func) == "replace":
                self._replaced.append((node, scope))
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, Place(node.value, scope))
        elif isinstance(node, ast.AnnAssign):
            if owner and isinstance(node.target, ast.Name):
                owner.fields[node.target.id] = node.value
                owner.types[node.target.id] = node.annotation
                return
            if isinstance(node.target, ast.Name):
                scope.types[node.target.id] = node.annotation
            if node.value:
                self._assign(node.target, Place(node.value, scope))
        elif isinstance(node, ast.NamedExpr):
            self._assign(node.target, Place(node.value, scope))
        elif isinstance(node, ast.ExceptHandler) and node.name and node.type:
            scope.types[node.name] = node.type
        elif isinstance(node, ast.For | ast.comprehension):
            self._assign(node.target, Place(node.iter, scope, (_EACH,)))

    def _assign(self, target: ast.expr, value: Place) -> None:
        if isinstance(target, ast.Name):
            value.scope.names[target.id].append((value.node, value.path))
        elif isinstance(target, ast.Attribute):
            self._stores[target.attr].append((target.value, value))
            if (
                isinstance(target.value, ast.Name)
                and target.value.id == "self"
                and value.scope.owner
            ):
                value.scope.owner.members.add(target.attr)
        elif isinstance(target, ast.Tuple):
            for number, item in enumerate(target.elts):
                self._assign(item, replace(value, path=(*value.path, number)))

    def _key_of(self, func: ast.expr, scope: Scope) -> Key:
        """The function or class that is called."""
        imported = self._imports[scope.path]
        if isinstance(func, ast.Name):
            return imported.get(func.id, (scope.path, func.id))
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
            module, name = imported.get(func.value.id, (None, ""))
            if module and not name:
                return module, func.attr
        return None, _name_of(func)

    # Following

    def find_texts(
        self, source: str, function: str, *names: str, **wanted: str
    ) -> set[tuple[str, ...]]:
        """The texts of these arguments of a function or a class, with the folder of the last one.

        ``source``: the file that defines it. ``wanted``: the texts that other arguments must have.
        The texts of a row are of one call.
        """
        path = self.folder / source
        known = self._functions[path, function] or self._functions[None, function]
        rows = (
            self._bindings(known[0])
            if known
            else self._constructions(self._classes[path, function])
        )
        return {
            (*(text for text, _path in row), self._part(row[-1][1]))
            for found in rows
            if all(self._is_text(found[name], text) for name, text in wanted.items())
            for row in self._rows([found[name] for name in names])
        }

    def find_items(self, source: str, name: str) -> set[str]:
        """The texts of the items of a constant, or of its keys."""
        path = self.folder / source
        place = Place(ast.Name(name), self._modules[path], (_EACH,))
        return {text for text, _path in self._follow(place)}

    def _is_text(self, place: Place, text: str) -> bool:
        return isinstance(place.node, ast.Constant) and place.node.value == text

    def _part(self, path: Path) -> str:
        return "/".join(part.strip("_") for part in path.relative_to(self.folder).parts[:-1])

    def _rows(self, places: list[Place]) -> Iterator[tuple[tuple[str, Path], ...]]:
        """The combinations of texts of places; parameters of one function are of the same call."""
        scopes = {
            place.scope
            for place in places
            if isinstance(place.node, ast.Name) and place.node.id in place.scope.parameters
        }
        if len(places) < 2 or not scopes:
            yield from itertools.product(*map(self._follow, places))
            return
        [scope] = scopes
        for found in self._bindings(scope):
            yield from self._rows(
                [
                    replace(inner, path=(*inner.path, *place.path))
                    if isinstance(place.node, ast.Name)
                    and place.scope is scope
                    and (inner := found.get(place.node.id))
                    else place
                    for place in places
                ]
            )

    def _follow(self, place: Place) -> set[tuple[str, Path]]:
        """The texts that a place can have, with their sources."""
        texts: set[tuple[str, Path]] = set()
        known = {place}
        left = [place]
        while left:
            at = left.pop()
            try:
                found = list(self._step(at))
            except UnknownError:
                name = at.scope.path.relative_to(self.folder)
                self.unknown.add(f"{name}: {ast.unparse(at.node)}")
                continue
            texts |= {(item, at.scope.path) for item in found if isinstance(item, str) and item}
            new = {item for item in found if isinstance(item, Place)} - known
            known |= new
            left += new
        return texts

    def _step(  # noqa: C901, PLR0912  # a case for each kind of expression
        self, place: Place
    ) -> Iterator[str | Place]:
        """The texts of a place, and the places that its value comes from."""
        node, path = place.node, place.path
        if len(path) > _DEPTH:
            raise UnknownError
        match node:
            case ast.Constant(value=str(text)) if not path:
                yield text
            case ast.Constant():
                pass
            case ast.JoinedStr():
                yield from self._join(node.values, place)
            case ast.FormattedValue() | ast.NamedExpr() | ast.Starred():
                yield replace(place, node=node.value)
            case ast.IfExp():
                yield from (replace(place, node=item) for item in (node.body, node.orelse))
            case ast.BoolOp():
                yield from (replace(place, node=item) for item in node.values)
            case ast.List(elts=[]) | ast.Tuple(elts=[]):
                pass
            case ast.Tuple() | ast.List() | ast.Set() if path:
                yield from self._items(node.elts, place)
            case ast.Dict():
                yield from self._entries(node, place)
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() if path:
                yield Place(node.elt, place.scope, path[1:])
            case ast.DictComp() if path:
                inner = node.key if path[0] == _EACH else node.value
                yield Place(inner, place.scope, path[1:])
            case ast.Name():
                yield from self._name(node.id, place)
            case ast.Attribute():
                yield from self._attribute(node, place)
            case ast.Subscript():
                yield from self._subscript(node, place)
            case ast.Call():
                yield from self._call(node, place)
            case _:
                raise UnknownError

    def _join(self, parts: Iterable[ast.expr], place: Place) -> Iterator[str]:
        if place.node in self._joining:
            return  # a text that is made of itself
        self._joining.append(place.node)
        lists = [self._follow(Place(part, place.scope)) for part in parts]
        self._joining.pop()
        for row in itertools.product(*lists):
            yield "".join(text for text, _path in row)

    @staticmethod
    def _items(items: list[ast.expr], place: Place) -> Iterator[Place]:
        first, *rest = place.path
        for number, item in enumerate(items):
            if isinstance(item, ast.Starred):
                yield Place(item.value, place.scope, (_EACH, *rest))
            elif first in (_EACH, _VALUE, number):
                yield Place(item, place.scope, tuple(rest))

    @staticmethod
    def _entries(node: ast.Dict, place: Place) -> Iterator[Place]:
        for key, value in zip(node.keys, node.values, strict=True):
            wanted, rest = place.path[0] if place.path else _VALUE, place.path[1:]
            if key is None:
                yield replace(place, node=value)
            elif wanted == _EACH:
                yield Place(key, place.scope, rest)
            elif not isinstance(key, ast.Constant) or wanted in (_VALUE, key.value):
                yield Place(value, place.scope, rest)

    def _name(self, name: str, place: Place) -> Iterator[str | Place]:
        scope: Scope | None = place.scope
        while scope:
            found = [
                Place(node, scope, (*path, *place.path)) for node, path in scope.names.get(name, ())
            ]
            if name in scope.parameters:
                found += [
                    replace(given[name], path=(*given[name].path, *place.path))
                    for given in self._bindings(scope)
                    if name in given
                ]
                if not found:
                    raise UnknownError
            if found:
                yield from found
                return
            scope = scope.above
        module, original = self._imports[place.scope.path].get(name, (None, ""))
        if not module or original not in self._modules[module].names:
            raise UnknownError
        for node, path in self._modules[module].names[original]:
            yield from self._as_used(
                Place(node, self._modules[module], (*path, *place.path)), place
            )

    def _as_used(self, constant: Place, place: Place) -> Iterator[str | Place]:
        """The text of an imported constant, in the source that uses it."""
        if isinstance(constant.node, ast.Constant):
            yield Place(constant.node, place.scope, constant.path)
        else:
            yield constant

    def _attribute(self, node: ast.Attribute, place: Place) -> Iterator[str | Place]:
        if isinstance(node.value, ast.Name):
            module, name = self._imports[place.scope.path].get(node.value.id, (None, ""))
            if module and not name:
                yield from (
                    Place(value, self._modules[module], (*path, *place.path))
                    for value, path in self._modules[module].names[node.attr]
                )
                return
        kind = self._class_of(node.value, place.scope)
        if kind and (kind.key[1], node.attr) in self.given:
            yield from self.given[kind.key[1], node.attr](self._part(place.scope.path))
            return
        classes = self._near(kind, node.attr) if kind else []
        found = [inner for item in classes for inner in self._values(item, node.attr)]
        if not found:
            raise UnknownError
        yield from (replace(inner, path=(*inner.path, *place.path)) for inner in found)

    def _near(self, kind: Class, name: str) -> list[Class]:
        """A class, those above and those below it, as far as they have a member of this name."""
        near, left = [kind], [*kind.bases]
        while left and (above := self._classes.get(left.pop())):
            near.append(above)
            left += above.bases
        near += self._below[kind.key]
        return [item for item in near if name in item.members]

    def _class_of(  # noqa: C901, PLR0911  # a case for each kind of expression
        self, node: ast.expr, scope: Scope
    ) -> Class | None:
        """The class of an expression, or of its items, by annotations."""
        match node:
            case ast.Name(id="self"):
                return scope.owner
            case ast.Name():
                return self._class_of_name(node.id, scope)
            case ast.Attribute():
                if not (above := self._class_of(node.value, scope)):
                    return None
                members = self._near(above, node.attr)
                return next((self._type_of(item, node.attr) for item in members), None)
            case ast.Subscript() | ast.NamedExpr():
                return self._class_of(node.value, scope)
            case ast.BoolOp():
                return self._class_of(node.values[0], scope)
            case ast.Call():
                key = self._key_of(node.func, scope)
                if (key[1] in (*_SAME, "next", "replace")) and node.args:
                    return self._class_of(node.args[0], scope)
                if key[1] in ("get", "values", "pop") and isinstance(node.func, ast.Attribute):
                    return self._class_of(node.func.value, scope)
                found = map(self._returned_class, self._functions[key])
                return self._classes.get(key) or next(found, None)
            case ast.GeneratorExp() | ast.ListComp():
                return self._class_of(node.elt, scope)
        return None

    def _class_of_name(self, name: str, scope: Scope) -> Class | None:
        at: Scope | None = scope
        while at and at.function:
            arguments = at.function.args
            for item in (*arguments.args, *arguments.kwonlyargs):
                if item.arg == name:
                    return self._named(item.annotation, at)
            if name in at.types:
                return self._named(at.types[name], at)
            for node, path in at.names.get(name, ()):
                found = node
                for part in path:
                    if isinstance(found, ast.Tuple) and isinstance(part, int) and part >= 0:
                        found = found.elts[part]
                return self._class_of(found, at)
            at = at.above
        return None

    def _type_of(self, item: Class, name: str) -> Class | None:
        if name in item.methods:
            return self._returned_class(item.methods[name])
        return self._named(item.types.get(name), item.scope)

    def _returned_class(self, scope: Scope) -> Class | None:
        return self._named(scope.function.returns if scope.function else None, scope)

    def _named(self, annotation: ast.expr | None, scope: Scope) -> Class | None:
        """The first class of an annotation."""
        for node in ast.walk(annotation) if annotation else ():
            key = self._key_of(node, scope) if isinstance(node, ast.Name | ast.Attribute) else None
            if key in self._classes:
                return self._classes[key]
        return None

    def _values(self, item: Class, name: str) -> Iterator[Place]:
        """The values of a field of a class; what a property or a method returns."""
        if name in item.methods:
            yield from _returned(item.methods[name])
            return
        if default := item.fields.get(name):
            yield Place(default, item.scope)
        yield from (given[name] for given in self._constructions(item) if name in given)
        for call, scope in self._replaced:
            for given in call.keywords:
                if given.arg == name and self._may_be(call.args[0], scope, item):
                    yield Place(given.value, scope)
        for target, value in self._stores[name]:
            if self._may_be(target, value.scope, item):
                yield value

    def _may_be(self, node: ast.expr, scope: Scope, item: Class) -> bool:
        """Whether an expression can be an object of a class; without annotations, it can."""
        found = self._class_of(node, scope)
        return (
            not found
            or found is item
            or found in self._below[item.key]
            or item in self._below[found.key]
        )

    def _constructions(self, item: Class) -> list[dict[str, Place]]:
        """The arguments of each call of a class or of a class below it, by field."""
        if init := item.methods.get("__init__"):
            return self._bindings(init)
        names = [
            name for base in item.bases for name in getattr(self._classes.get(base), "types", ())
        ]
        names += item.types
        found = [_bind(call, scope, names) for call, scope in self._calls[item.key]]
        below = self._below[item.key]
        return [*found, *(given for other in below for given in self._constructions(other))]

    def _bindings(self, scope: Scope) -> list[dict[str, Place]]:
        """The arguments of each call of a function, by parameter, with the defaults."""
        if scope not in self._bound:
            self._bound[scope] = self._bind_calls(scope)
        return self._bound[scope]

    def _bind_calls(self, scope: Scope) -> list[dict[str, Place]]:
        assert scope.function
        name = scope.function.name
        calls = self._calls[None if scope.owner else scope.path, name]
        if scope.owner and name == "__init__":
            classes = [scope.owner, *self._below[scope.owner.key]]
            own = [item for item in classes[1:] if "__init__" in item.methods]
            calls = [item for item in calls if item[1].owner in own]
            calls += [i for item in classes if item not in own for i in self._calls[item.key]]
        elif scope.owner:
            calls = [
                (call, caller)
                for call, caller in calls
                if isinstance(call.func, ast.Attribute)
                and self._may_be(call.func.value, caller, scope.owner)
            ]
        above = scope.above or scope
        defaults = {key: Place(value, above) for key, value in scope.defaults.items()}
        return [defaults | _bind(call, caller, scope.parameters) for call, caller in calls]

    def _subscript(self, node: ast.Subscript, place: Place) -> Iterator[Place]:
        match node.slice:
            case ast.Slice():
                path = place.path
            case _:
                path = (_key(node.slice), *place.path)
        yield Place(node.value, place.scope, path)

    def _call(self, node: ast.Call, place: Place) -> Iterator[str | Place]:
        key = self._key_of(node.func, place.scope)
        name, path, scope = key[1], place.path, place.scope
        functions = self._functions[key]
        if isinstance(node.func, ast.Attribute) and not key[0]:
            kind = self._class_of(node.func.value, scope)
            near = self._near(kind, name) if kind else []
            functions = [item.methods[name] for item in near if name in item.methods]
        if functions:
            for function in functions:
                yield from (replace(i, path=(*i.path, *path)) for i in _returned(function))
        elif name in _SAME and node.args:
            yield replace(place, node=node.args[0])
        elif name == "cast":
            yield replace(place, node=node.args[1])
        elif name == "next":
            yield Place(node.args[0], scope, (_EACH, *path))
            yield from (replace(place, node=item) for item in node.args[1:])
        elif isinstance(node.func, ast.Attribute):
            yield from self._method(node, node.func, place)
        else:
            raise UnknownError

    def _method(self, node: ast.Call, func: ast.Attribute, place: Place) -> Iterator[str | Place]:
        """The value of a call of a method of a text or a mapping."""
        path, scope = place.path, place.scope
        match func.attr:
            case "format":
                yield from self._format(node, func, scope)
            case "get":
                yield Place(func.value, scope, (_key(node.args[0]), *path))
                yield from (replace(place, node=item) for item in node.args[1:])
            case "values" if path:
                yield Place(func.value, scope, (_VALUE, *path[1:]))
            case "items" if len(path) > 1:
                yield Place(func.value, scope, (_VALUE if path[1] else _EACH, *path[2:]))
            case _:
                raise UnknownError

    def _format(self, node: ast.Call, func: ast.Attribute, scope: Scope) -> Iterator[str]:
        names = [item.arg or "" for item in node.keywords]
        values = [self._follow(Place(item.value, scope)) for item in node.keywords]
        for text, _path in self._follow(Place(func.value, scope)):
            for row in itertools.product(*values):
                yield text.format(**dict(zip(names, (value for value, _path in row), strict=True)))


def _imports(tree: ast.Module, path: Path) -> Iterator[tuple[str, tuple[Path, str]]]:
    """Yield the names of a module that are imported, with their source and name there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for item in node.names:
                name = item.asname or item.name
                if (module := folder / f"{item.name}.py").is_file():
                    yield name, (module, "")
                elif (module := folder.with_suffix(".py")).is_file():
                    yield name, (module, item.name)


def _bind(call: ast.Call, scope: Scope, names: list[str]) -> dict[str, Place]:
    """The arguments of a call by the names of parameters; `**` is not followed."""
    found = {item.arg: Place(item.value, scope) for item in call.keywords if item.arg}
    for number, name in enumerate(names):
        for position, given in enumerate(call.args[: number + 1]):
            if isinstance(given, ast.Starred):
                found.setdefault(name, Place(given.value, scope, (number - position,)))
            elif position == number:
                found[name] = Place(given, scope)
    return found


def _returned(scope: Scope) -> Iterator[Place]:
    """The expressions that a function returns."""
    left: list[ast.AST] = list(scope.function.body) if scope.function else []
    while left:
        node = left.pop()
        if isinstance(node, ast.Return) and node.value:
            yield Place(node.value, scope)
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            left += ast.iter_child_nodes(node)


def _key(node: ast.expr) -> Item:
    """The key of a subscript, or any."""
    known = isinstance(node, ast.Constant) and isinstance(node.value, int | str)
    return node.value if known else _VALUE  # type: ignore[attr-defined]


def _name_of(node: ast.expr) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))
