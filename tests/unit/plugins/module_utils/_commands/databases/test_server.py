# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Requests to community.postgresql; tests/database uses a real server."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.databases.needed import (
    NeededDatabase,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.databases.server import (
    Server,
    ServerContents,
    mark_of,
    require_ours,
)

LOGIN = {"login_host": "h", "login_db": "start"}
NEEDED = NeededDatabase("NemoEvaluator nemo/e", "nemo", "db:5432", "data", "me", "pw", "password")
MINE = {"is_administrator": False, "comment": mark_of("nemo")}


def found(users=None, owners=None, *, is_superuser=True):
    return ServerContents("admin", is_superuser, users or {}, owners or {})


class Modules:
    def __init__(self, **results):
        self.results = results
        self.calls = []

    def __call__(self, name, arguments):
        self.calls.append((name, arguments))
        result = self.results.get(name, {"changed": True})
        return result(arguments) if callable(result) else result


def opens_with(*passwords):
    return lambda arguments: {"is_available": arguments["login_password"] in passwords}


@pytest.mark.parametrize(
    ("password", "users", "is_superuser", "opening", "is_set"),
    [
        pytest.param("pw", {}, True, [], True, id="new"),
        pytest.param("pw", {"me": MINE}, True, [], True, id="hashes are compared"),
        pytest.param("pw", {"me": MINE}, False, ["pw"], False, id="it opens"),
        pytest.param("pw", {"me": MINE}, False, [], True, id="it does not"),
        pytest.param("é", {"me": MINE}, True, ["é"], False, id="hash that cannot be compared"),
    ],
)
def test_make_user(password, users, is_superuser, opening, is_set):
    modules = Modules(postgresql_ping=opens_with(*opening))
    Server(modules, LOGIN).make_user(
        "me", "nemo", password, found(users, is_superuser=is_superuser)
    )
    name, arguments = modules.calls[-1]
    assert name == "postgresql_user"
    wanted = {"name": "me", "role_attr_flags": "LOGIN", "comment": "nimops.nim: namespace nemo"}
    assert arguments == LOGIN | wanted | ({"password": password} if is_set else {})


def test_make_user_trusting_server():
    modules = Modules(postgresql_ping={"is_available": True})
    Server(modules, LOGIN).make_user("me", "nemo", "pw", found({"me": MINE}, is_superuser=False))
    assert modules.calls[-1][1]["password"] == "pw"


@pytest.mark.parametrize(
    ("is_superuser", "dry", "names"),
    [
        (True, False, ["postgresql_db"]),
        (False, False, ["postgresql_query", "postgresql_db"]),
        (False, True, ["postgresql_db"]),
    ],
)
def test_make_database(is_superuser, dry, names):
    modules = Modules()
    server = Server(modules, LOGIN)
    assert server.make_database("data", "me", found(is_superuser=is_superuser), dry=dry)
    assert [name for name, _arguments in modules.calls] == names
    wanted = {"login_host": "h", "maintenance_db": "start", "name": "data", "owner": "me"}
    assert modules.calls[-1][1] == wanted
    assert not server.make_database("data", "me", found(owners={"data": "me"}), dry=dry)
    assert len(modules.calls) == len(names)


def test_failure_hides_statement():
    message = "syntax error\nLINE 1: ALTER USER me PASSWORD 'it''s'"
    modules = Modules(postgresql_user={"failed": True, "msg": message})
    with pytest.raises(NimError) as error:
        Server(modules, LOGIN).make_user("me", "nemo", "it's", found())
    assert str(error.value) == "PostgreSQL: user 'me': syntax error"


def test_inspect():
    me = {"rolname": "admin", "rolsuper": True}
    user = {"rolname": "me", "is_administrator": False, "comment": None}
    results = [[me], [user], [{"datname": "data", "owner": "me"}]]
    modules = Modules(postgresql_query={"query_all_results": results})
    assert Server(modules, LOGIN).inspect() == ServerContents(
        "admin", True, {"me": user}, {"data": "me"}
    )


@pytest.mark.parametrize(
    ("there", "wrong"),
    [
        (found({"me": MINE | {"comment": None}}), "set adopt"),
        (found({"me": MINE | {"comment": mark_of("other")}}), "not created for namespace nemo"),
        (found({"me": MINE | {"is_administrator": True}}), "administers the server"),
        (ServerContents("me", False, {"me": MINE}, {}), "administers the server"),
        (found({"me": MINE}, {"data": "postgres"}), "exists and belongs to 'postgres'"),
    ],
)
def test_require_ours_refused(there, wrong):
    with pytest.raises(NimError, match=f"NemoEvaluator nemo/e: .*{wrong}"):
        require_ours([NEEDED], there, adopt=False)
    if "adopt" not in wrong and "namespace" not in wrong:
        with pytest.raises(NimError, match=wrong):
            require_ours([NEEDED], there, adopt=True)
    else:
        require_ours([NEEDED], there, adopt=True)


def test_require_ours_accepted():
    require_ours([NEEDED], found(), adopt=False)
    require_ours([NEEDED], found({"me": MINE}, {"data": "me"}), adopt=False)
