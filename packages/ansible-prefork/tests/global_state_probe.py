# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Warm up as a parent does, play in the same process, reset the state, and print the differences as JSON.

    global_state_probe.py WORK MARK

WORK is a directory for all files; MARK is part of every value of the second play.
"""

from __future__ import annotations

import atexit
import contextlib
import contextvars
import functools
import gc
import json
import locale
import logging
import os
import re
import signal
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PACKAGES = ("ansible", "ansible_runner", "jinja2", "yaml", "awx_display", "ansible_collections", "ansible_prefork")
ATOMS = (str, bytes, int, float, bool, complex, type(None), type(Ellipsis), re.Pattern, Path)
DEPTH = 9
Put = Callable[[str, str], None]

PLAY = """
- hosts: all
  gather_facts: false
  environment:
    TASK_VARIABLE: "{{ extra }}"
  vars_files: [vars.yml]
  vars:
    own: "{{ extra }} {{ inventory_value }} {{ group_value }}"
  tasks:
    - name: "Task of {{ extra }}"
      ansible.builtin.set_fact:
        fact: "{{ own }} {{ vaulted }}"
        cacheable: true
    - name: Module
      ansible.builtin.ping:
        data: "{{ own }}"
      register: answer
    - name: Secret
      ansible.builtin.debug:
        msg: "{{ secret }} {{ vaulted }}"
      no_log: true
    - name: Loop
      ansible.builtin.debug:
        msg: "{{ item }} {{ lookup('ansible.builtin.env', 'RUN_SECRET') }}"
      loop: ["{{ extra }}", "{{ answer.ping }}"]
    - name: Another host
      ansible.builtin.add_host:
        name: "host-{{ extra }}"
        groups: "group_{{ extra }}"
        variable: "{{ extra }}"
      changed_when: true
      notify: Handler
    - name: Warning
      ansible.builtin.command: echo "{{ extra }}"
      args:
        creates: "/nowhere/{{ extra }}"
      check_mode: false
    - block:
        - ansible.builtin.fail:
            msg: "failure {{ secret }}"
      rescue:
        - ansible.builtin.debug:
            msg: "{{ ansible_failed_result.msg }}"
    - ansible.builtin.include_tasks: included.yml
      vars:
        included: "{{ extra }}"
    - ansible.builtin.assert:
        that: own is search(extra) and fact is search(vaulted | string)
  handlers:
    - name: Handler
      ansible.builtin.debug:
        msg: "{{ extra }}"
"""


def work() -> Path:
    """The directory for all files."""
    return Path(os.environ["PROBE_WORK"])


def warm_up() -> None:
    """Warm up as a parent does."""
    from ansible_prefork import play

    (work() / "parent").mkdir()
    play.warm_play(work() / "parent", work() / "no.sock")


def reset() -> None:
    """Reset the state as each run does before its play."""
    from ansible_prefork import global_state, request

    request.reset_signals()
    global_state.forget_run()
    global_state.refresh_process()


def play_with(value: str) -> None:
    """Play with ``value`` in all inputs of a run."""
    from ansible.cli.playbook import PlaybookCLI

    from ansible_prefork import play

    # Both plays use the same paths, as caches by path are allowed.
    run = work() / "run"
    (run / "inventory" / "group_vars").mkdir(parents=True, exist_ok=True)
    (run / "play.yml").write_text(PLAY)
    (run / "included.yml").write_text('- ansible.builtin.debug:\n    msg: "{{ included }}"\n')
    (run / "inventory" / "hosts").write_text(
        f"localhost ansible_connection=local inventory_value={value}-inventory"
        f" ansible_python_interpreter={sys.executable}\n"
    )
    (run / "inventory" / "group_vars" / "all.yml").write_text(f"group_value: {value}-group\n")
    (run / "vault").write_text(f"{value}-password\n")
    (run / "vars.yml").write_text(f"vaulted: !vault |\n{encrypt(f'{value}-vaulted', f'{value}-password')}")
    (run / "kubeconfig").write_text(f"{value}-kubeconfig")
    arguments = ["ansible-playbook", "-i", str(run / "inventory"), "-e", f"extra={value}-extra"]
    arguments += ["-e", json.dumps({"secret": f"{value}-secret"}), "--vault-id", f"one@{run / 'vault'}"]
    arguments += ["--tags", f"all,{value}-tag", "--skip-tags", f"{value}-skip", "--diff", "-v", "--check"]
    arguments += ["--private-key", f"/{value}-key", "-u", f"{value}-user", str(run / "play.yml")]
    environment = {"RUN_SECRET": f"{value}-environment", "K8S_AUTH_KUBECONFIG": f"/{value}-kubeconfig"}
    argv, sys.argv = sys.argv, arguments
    os.environ.update(environment)
    out = work() / "out"
    try:
        with play.stdout_to(str(out)):
            code = PlaybookCLI(arguments).run()
    finally:
        sys.argv = argv
        for name in environment:
            del os.environ[name]
    text = out.read_text()
    assert code == 0, text
    assert "failed=0" in text, text


def encrypt(text: str, password: str) -> str:
    import subprocess

    command = [sys.executable, "-c", ENCRYPT, text, password]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return "".join(f"  {line}\n" for line in done.stdout.splitlines())


ENCRYPT = """
import sys
from ansible.parsing.vault import VaultLib, VaultSecret
secrets = [("one", VaultSecret(sys.argv[2].encode()))]
print(VaultLib(secrets).encrypt(sys.argv[1].encode(), vault_id="one").decode())
"""


def is_ours(name: str) -> bool:
    return name.partition(".")[0] in PACKAGES


class Snapshot:
    """All state of the modules, as path to description of what is there; the first, shortest path of each object."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        self.kept: list[object] = []
        self.seen: set[int] = set()
        queue: list[tuple[str, object, int]] = []
        for name in sorted(name for name in sys.modules if is_ours(name)):
            module = sys.modules[name]
            if isinstance(module, types.ModuleType):
                self.seen.add(id(module))
                queue += [(f"{name}:{key}", value, 0) for key, value in sorted(vars(module).items()) if key[:2] != "__"]
        for path, value, depth in queue:
            queue += self._describe(path, value, depth)
        self._describe_process()

    def _describe(self, path: str, value: Any, depth: int) -> Iterator[tuple[str, object, int]]:
        if isinstance(value, ATOMS):
            self.found[path] = f"{type(value).__name__} {value!r}"
            return
        if id(value) in self.seen or depth > DEPTH:
            return
        self.seen.add(id(value))
        # Keep it, so that no other object gets its address meanwhile.
        self.kept.append(value)
        for name, part in describe(value, path, self.found.__setitem__):
            yield f"{path}{name}", part, depth + 1

    def _describe_process(self) -> None:
        put = self.found.__setitem__
        put("process:environment", json.dumps(sorted(os.environ.items())))
        put("process:directory", os.getcwd())
        umask = os.umask(0)
        os.umask(umask)
        put("process:umask", oct(umask))
        put("process:threads", repr(sorted(thread.name for thread in threading.enumerate())))
        put("process:files", repr(sorted(re.sub(r"\d{3,}", "N", link) for link in file_links())))
        for number in sorted(signal.valid_signals()):
            put(f"process:signal {number}", repr(type(signal.getsignal(number))) + str(signal.getsignal(number))[:40])
        put("process:atexit", str(atexit._ncallbacks()))  # type: ignore[attr-defined]
        for name in ("meta_path", "path_hooks", "path", "argv", "warnoptions"):
            put(f"process:sys.{name}", re.sub(" at 0x[0-9a-f]+", "", repr(getattr(sys, name))))
        put("process:warnings", repr(len(warnings.filters)))
        put("process:locale", repr(locale.setlocale(locale.LC_ALL)))
        put("process:log handlers", repr([type(item).__name__ for item in logging.root.handlers]))
        put("process:excepthook", repr([sys.excepthook.__name__, sys.displayhook.__name__]))
        put("process:recursion", repr([sys.getrecursionlimit(), sys.gettrace(), sys.getprofile()]))
        for variable, value in contextvars.copy_context().items():
            put(f"process:context {variable.name}", f"{type(value).__name__} {str(value)[:80]}")
        put("process:modules", json.dumps(sorted(name for name in sys.modules if is_ours(name))))


def file_links() -> Iterator[str]:
    for entry in list(os.scandir("/proc/self/fd")):
        with contextlib.suppress(OSError):
            yield os.readlink(entry.path)


def describe(value: Any, path: str, put: Put) -> list[tuple[str, object]]:  # noqa: PLR0911 one return for each kind of value
    """Put the description of a value, and return its parts."""
    if isinstance(value, functools._lru_cache_wrapper):
        put(f"{path}!cached", str(value.cache_info().currsize))
    elif isinstance(value, (staticmethod, classmethod, types.MethodType)):
        return [("", value.__func__)]
    elif isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if has_content(cell)]
        if is_ours(str(value.__module__)) or cells:
            return [("!attributes", vars(value)), ("!defaults", value.__defaults__), ("!cells", cells)]
    elif isinstance(value, dict):
        put(f"{path}!length", str(len(value)))
        return [(f"[{name_of(key)}]", item) for key, item in list(value.items())]
    elif isinstance(value, (list, tuple)):
        put(f"{path}!length", str(len(value)))
        return [(f"[{number}]", item) for number, item in enumerate(list(value))]
    elif isinstance(value, (set, frozenset)):
        put(path, f"{type(value).__name__} {sorted(map(name_of, value))}")
    elif isinstance(value, type):
        if is_ours(str(value.__module__)):
            return [(f".{name}", item) for name, item in list(vars(value).items()) if name not in BORING]
    elif isinstance(value, contextvars.ContextVar):
        with contextlib.suppress(LookupError):
            return [("!value", value.get())]
    elif not isinstance(value, (types.ModuleType, types.BuiltinFunctionType, property)):
        return describe_instance(value, path, put)
    return []


def describe_instance(value: Any, path: str, put: Put) -> list[tuple[str, object]]:
    kind = type(value)
    put(f"{path}!type", f"{kind.__module__}.{kind.__qualname__}")
    parts: list[tuple[str, object]] = []
    with contextlib.suppress(Exception):
        parts += [(f".{name}", item) for name, item in list(vars(value).items())]
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            with contextlib.suppress(Exception):
                parts.append((f".{name}", getattr(value, name)))
    with contextlib.suppress(Exception):
        put(f"{path}!length", str(len(value)))
    return parts


BORING = frozenset(("__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__abstractmethods__"))


def has_content(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def name_of(key: object) -> str:
    return repr(key) if isinstance(key, str | int | bytes | tuple) else f"<{type(key).__name__} {str(key)[:60]}>"


def difference(before: Snapshot, after: Snapshot) -> dict[str, list[str | None]]:
    names = before.found.keys() | after.found.keys()
    return {
        name: [cut(before.found.get(name)), cut(after.found.get(name))]
        for name in sorted(names)
        if before.found.get(name) != after.found.get(name)
    }


def cut(text: str | None) -> str | None:
    return text if text is None or len(text) < 400 else f"{text[:200]} … {text[-180:]}"


def holders(mark: str) -> list[str]:
    """The objects of the interpreter that hold a text with that mark, and their referrers."""
    gc.collect()
    raw = mark.encode()
    found = []
    for item in gc.get_objects():
        if isinstance(item, types.FrameType):
            continue
        for part in gc.get_referents(item):
            if isinstance(part, str | bytes) and part in (mark, raw):  # the argument of this program
                continue
            if (isinstance(part, str) and mark in part) or (isinstance(part, bytes | bytearray) and raw in part):
                found.append(f"{trail(item)} holds {part[:100]!r}")
    return found


def trail(item: object, length: int = 4) -> str:
    names = [type(item).__name__]
    for _ in range(length):
        above = [other for other in gc.get_referrers(item) if not isinstance(other, types.FrameType | list)]
        if not above:
            break
        item = above[0]
        names.append(str(getattr(item, "__name__", None) or type(item).__name__))
        if isinstance(item, dict) and "__name__" in item:
            names[-1] = str(item["__name__"])
            break
    return " < ".join(names)


def main() -> None:
    mark = sys.argv.pop()
    os.environ["PROBE_WORK"] = sys.argv.pop()
    warm_up()
    reset()
    # Joined at run time, or the search would find the text of this program.
    warm = holders("_".join(("prefork", "fact")))
    unplayed = Snapshot()
    play_with("neutral")
    reset()
    neutral = Snapshot()
    imported = {path.partition(":")[0] for path in neutral.found} - {path.partition(":")[0] for path in unplayed.found}
    play_with(mark)
    reset()
    marked = Snapshot()
    answer = {
        "first": difference(unplayed, neutral),
        "second": difference(neutral, marked),
        "size": len(marked.found),
        "imported": sorted(imported),
        "warm": warm,
    }
    del unplayed, neutral, marked
    answer["holders"] = holders(mark)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
