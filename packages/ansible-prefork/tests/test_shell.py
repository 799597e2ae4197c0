# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Commands for temporary directories: without a shell, output and effects are the same as with one."""

from __future__ import annotations

import os
import pwd
import shlex
import stat
import subprocess

import pytest
from ansible.plugins.loader import shell_loader

from ansible_prefork import shell

PLUGIN = shell_loader.get("sh")
SHELL = ("/bin/sh", "-c")


def wrap(command):
    return f"/bin/sh -c {shlex.quote(command + ' && sleep 0')}"


def make(base, name="ansible-tmp-1.5-42-7", mode=0o700):
    return wrap(PLUGIN.mkdtemp(basefile=name, system=False, mode=mode, tmpdir=str(base)))


def remove(path):
    return wrap(PLUGIN.remove(f"{path}/", recurse=True))


def tree(root):
    return {str(path.relative_to(root)): stat.filemode(path.lstat().st_mode) for path in sorted(root.rglob("*"))}


def by_shell(command):
    return subprocess.run(command, shell=True, check=False, capture_output=True, text=True)


@pytest.fixture(params=[0o022, 0o077, 0o000], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("there", ["", "a", "a/b"])
def test_answer_mkdir_as_shell(tmp_path, there):
    outcomes = []
    for side, run in (("one", lambda command: by_shell(command).stdout), ("two", shell.answer)):
        root = tmp_path / side
        (root / there).mkdir(parents=True)
        output = run(make(root / "a" / "b"))
        outcomes.append((output.replace(side, "side"), tree(root)))
    assert outcomes[0] == outcomes[1]
    assert outcomes[1][1]["a/b/ansible-tmp-1.5-42-7"] == "drwx------"


def test_answer_remove(tmp_path):
    path = tmp_path / "ansible-tmp-1"
    (path / "a").mkdir(parents=True)
    (path / "a" / "file").write_text("x")
    (path / "link").symlink_to(tmp_path)
    assert shell.answer(remove(path)) == ""
    assert tree(tmp_path) == {}
    assert shell.answer(remove(path)) == "", "and that it is not there is fine"


def test_answer_home(monkeypatch):
    monkeypatch.setenv("HOME", "/home/of-me")
    me = pwd.getpwuid(os.getuid())
    for options, home in (({}, "/home/of-me"), ({"username": me.pw_name}, me.pw_dir)):
        command = wrap(PLUGIN.expand_user("~", **options))
        assert shell.answer(command) == by_shell(command).stdout == f"{home}\n"


def exists(tmp_path):
    (tmp_path / "ansible-tmp-1.5-42-7").mkdir()
    return make(tmp_path)


def is_a_file(tmp_path):
    (tmp_path / "base").write_text("")
    return make(tmp_path / "base")


def is_a_link(tmp_path):
    (tmp_path / "ansible-tmp-1").symlink_to(tmp_path)
    return remove(tmp_path / "ansible-tmp-1")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(exists, id="the directory exists"),
        pytest.param(is_a_file, id="the parent is a file"),
        pytest.param(is_a_link, id="a link instead of a directory"),
        pytest.param(lambda path: make(path / "a b"), id="space in the name"),
        pytest.param(lambda path: make(path / "$x"), id="variable in the name"),
        pytest.param(lambda path: make(path / "ü"), id="no ASCII"),
        pytest.param(lambda _path: make("~/x"), id="home in the name"),
        pytest.param(lambda _path: make("x"), id="relative"),
        pytest.param(lambda path: make(path, mode=0o755), id="for all users"),
        pytest.param(lambda path: remove(path / "something"), id="no temporary directory"),
        pytest.param(lambda _path: wrap("echo ~nobody-of-that-name"), id="the home of an unknown user"),
        pytest.param(lambda _path: wrap("echo ~root/x"), id="more than a home"),
        pytest.param(lambda path: make(path) + " -x", id="more arguments"),
        pytest.param(lambda path: make(path).replace("sleep 0", "sleep 1"), id="another command"),
        pytest.param(lambda path: make(path).replace("/bin/sh", "/bin/bash"), id="another shell"),
        pytest.param(lambda _path: "/bin/sh -c 'echo", id="no command"),
        pytest.param(lambda _path: ["/bin/sh", "-c", "echo ~ && sleep 0"], id="a list"),
    ],
)
def test_answer_left_to_shell(tmp_path, command):
    text = command(tmp_path)
    before = tree(tmp_path)
    assert shell.answer(text) is None
    assert tree(tmp_path) == before


@pytest.mark.parametrize("home", ["", "relative", "/with space", "/with\\n", "/ü"])
def test_answer_unusual_home(monkeypatch, home):
    monkeypatch.setenv("HOME", home)
    assert shell.answer(wrap("echo ~")) is None


def test_answer_restrictive_umask(tmp_path):
    before = os.umask(0o277)
    try:
        assert shell.answer(make(tmp_path)) is None
    finally:
        os.umask(before)
