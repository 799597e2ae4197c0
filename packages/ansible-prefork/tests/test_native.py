# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled client: when it is used, that its requests are the same, and its cost.

All tests that have the fixture ``site`` are executed with both clients.
"""

from __future__ import annotations

import ast
import os
import random
import resource
import signal
import socket
import subprocess
import sys

from harness import Site, make_site

from ansible_prefork import __main__, client, native, request

STOCK = "#!/bin/sh\nenv\n"
WORDS = ("a", "/a", "~/a", "$A/b", "/a:/b", "/a:b", ":", "/a:", "", "é", "x" * 200)
NAMES = [
    "ANSIBLE_X",
    "ANSIBLE_ROLES_PATH",
    "ANSIBLE_CONFIG",
    "ANSIBLE_HOME",
    "_ANSIBLE_COLLECTIONS_PATHS",
    "PYTHONPATH",
    "LC_ALL",
    "LC_TEMP",
    "LANG",
    "PREFORK_PRELOAD",
    "AWX_LIB_DIRECTORY",
    "ANSIBLE_CACHE_PLUGIN_CONNECTION",
    "OTHER",
    "PATHS",
    "EDITOR",
    "ANSIBLE",
    "ansible_x",
]
LOCALES = ("LANG", "LC_ALL", "LC_CTYPE")


def ask(site: Site, environment: dict[str, str], *arguments: str) -> request.Request:
    """The request of the site's client to the parent of that environment; AssertionError if it connects to another."""
    # The interpreter changes the environment for certain locales.
    show = [sys.executable, "-I", "-S", "-c", "import posix, sys; sys.stdout.write(repr(dict(posix.environ)))"]
    seen = ast.literal_eval(subprocess.run(show, env=environment, check=True, capture_output=True, text=True).stdout)
    path = site.directory / f"ansible-playbook-{client.environment_key(seen, bytes(site.root))}.sock"
    command = [site.client, *arguments]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(10)
        with subprocess.Popen(command, env=environment, cwd=site.root, stdin=subprocess.DEVNULL) as process:
            try:
                connection, _address = listener.accept()
                connection.sendall(b"P" + process.pid.to_bytes(4, "little"))
                wanted = request.receive(connection)
                connection.sendall(b"X" + (7 << 8).to_bytes(4, "little"))
                assert process.wait(10) == 7
                connection.close()
            finally:
                process.kill()
    path.unlink()
    for number in wanted.received:
        os.close(number)
    return wanted


def test_native_same_requests(compiled):
    chance = random.Random(1)
    with make_site() as one, make_site(program=compiled) as other:
        for _ in range(25):
            chosen = chance.sample(NAMES, chance.randrange(len(NAMES)))
            variables = {name: chance.choice(WORDS) for name in chosen}
            variables |= {
                name: chance.choice(("C", "", "POSIX", "C.UTF-8")) for name in LOCALES if chance.random() < 0.4
            }
            arguments = chance.sample(("-x", "", "\udcff", "ö", "long" * 5000), 3)
            if chance.random() < 0.5:
                for site in (one, other):
                    (site.root / "ansible.cfg").touch()
            asked = []
            for site in (one, other):
                basic = {name: site.environment[name] for name in ("PREFORK_DIR", "PATH")}
                asked.append((site, ask(site, {**basic, **variables}, *arguments)))
            seen = [
                (
                    [item.replace(str(site.root), "") for item in wanted.argv],
                    {k: v.replace(bytes(site.root), b"") for k, v in wanted.environment.items()},
                    wanted.directory.replace(bytes(site.root), b""),
                    wanted.files,
                    wanted.umask,
                    sorted(wanted.ignored),
                    wanted.limits,
                )
                for site, wanted in asked
            ]
            assert seen[0] == seen[1]


def test_native_ignored_signal(compiled):
    with make_site(program=compiled) as site:
        kept = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        try:
            assert ask(site, site.environment).ignored == [signal.SIGUSR1]
        finally:
            signal.signal(signal.SIGUSR1, kept)


def test_native_cpu_time(compiled):
    def measure(program: bytes | None) -> float:
        with make_site(program=program) as site:
            # Its parent is not among the children.
            assert site.run("pass").returncode == 0
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            for _ in range(20):
                site.run("pass")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert measure(compiled) < measure(None) / 2


def test_native_find_program(compiled, tmp_path):
    stock = tmp_path / "stock"
    stock.mkdir()
    (stock / "ansible-runner").write_text(STOCK)
    (stock / "ansible-runner").chmod(0o755)
    for name, program in (("one", compiled), ("two", None), ("three", compiled)):
        __main__.install_clients(tmp_path / name, program)
    for name in ("one", "two", "three"):
        path = ":".join(map(str, (*(tmp_path / item for item in ("one", "two", "three", "stock")), "/usr/bin", "/bin")))
        environment = {"PATH": path, "PREFORK": "off", "CASE": "1"}
        done = subprocess.run(
            [tmp_path / name / "ansible-runner"], env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert "CASE=1" in done.stdout.splitlines()


def test_native_reason_not_passed_on(compiled):
    with make_site(program=compiled) as site:
        key = client.environment_key({os.fsencode(k): os.fsencode(v) for k, v in site.environment.items()}, b"/")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(site.directory / f"ansible-playbook-{key}.sock"))
            listener.listen()
            process = site.start("import os; print([name for name in os.environ if 'REASON' in name])")
            listener.accept()[0].close()
            out, err = process.communicate(timeout=30)
        assert (out, err) == ("[]\n", "prefork: the parent ended before the run began: running stock\n")


def test_find_other_version(tmp_path, monkeypatch, capsys):
    path = tmp_path / native.NAME
    monkeypatch.setattr(native, "default_target", lambda: path)
    assert native.find() is None
    assert capsys.readouterr().err == ""
    path.write_text("#!/bin/sh\necho 0123456789abcdef\n")
    path.chmod(0o755)
    assert native.find() is None
    assert "another version: compile it again" in capsys.readouterr().err


def test_install_clients_compiled(compiled, tmp_path, monkeypatch):
    path = tmp_path / native.NAME
    path.write_bytes(compiled)
    path.chmod(0o755)
    monkeypatch.setattr(native, "default_target", lambda: path)
    monkeypatch.setattr(sys, "argv", ["prefork", "clients", str(tmp_path / "clients")])
    assert __main__.main() == 0
    assert (tmp_path / "clients" / "ansible-runner").read_bytes() == compiled + native.MARK
    assert (tmp_path / "clients" / native.PYTHON / "ansible-runner").read_text().startswith("#!")


def test_compile_failure(tmp_path, monkeypatch, capsys):
    for compiler, text in (("no-such-compiler", "install a C compiler"), ("false", "cannot compile the client")):
        monkeypatch.setattr(sys, "argv", ["prefork", "compile", str(tmp_path / "c"), "--compiler", compiler])
        assert __main__.main() == 2
        assert text in capsys.readouterr().err
