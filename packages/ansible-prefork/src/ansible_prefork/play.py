# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The program ansible-playbook: the warm-up imports it and runs a play in the parent, which loads the plugins."""

from __future__ import annotations

import contextlib
import glob
import importlib
import io
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ansible_prefork import (
    client,
    fallbacks,
    files,
    global_state,
    inline,
    isolation,
    learned,
    modules,
    parsers,
    payloads,
    pipelining,
    plugin_docs,
    request,
    templates,
    versions,
)
from ansible_prefork.parent import UnsupportedError

NAME = "ansible-playbook"
WARM_PLAYBOOK = Path(__file__).with_name("warm.yml")
# The minimum age of a helper to restart it; a younger one would end again.
HELPER_SECONDS = 5.0
PRELOADED_PLUGINS = ("action", "filter", "test")
# Collections whose action plugins only prepare modules; their module_utils belong in the interpreter for modules.
MODULES_ONLY = frozenset(("kubernetes.core",))


class PlaybookProgram:
    """A parent of runs of ansible-playbook."""

    name = NAME
    reports_end = True
    finisher: Any = None

    def __init__(self) -> None:
        self.helper: int | None = None
        self.helper_began = -HELPER_SECONDS

    def warm(self, directory: Path) -> list[Path]:
        require_known("ansible-core", versions.ANSIBLE_CORE)
        socket = self.start_helper(directory)
        with warm_environment(dict(os.environb), elsewhere=False):
            warm_play(directory, socket)
        return watched_paths()

    def run(self, wanted: request.Request) -> int:
        return run_play(wanted.argv)

    def start_helper(self, directory: Path) -> Path:
        """Start a parent for modules unless there is one; the path of its socket."""
        self.directory = directory
        fallbacks.install(directory.parent)
        learned.read(directory)
        if self.helper is None:
            self.helper = start_module_parent(directory)
            self.helper_began = time.monotonic()
        else:
            # Wake its loop, so that it reads the learned collections.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.helper, signal.SIGCHLD)
        return module_socket(directory)

    def close(self) -> None:
        if self.helper is None:
            return
        # It lets its runs finish and rejects waiting clients.
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.helper, signal.SIGTERM)
            os.waitpid(self.helper, 0)

    def on_child_exit(self, pid: int) -> None:
        if pid != self.helper:
            return
        self.helper = None
        if time.monotonic() - self.helper_began < HELPER_SECONDS:
            print("prefork: the parent for modules ended at once: modules run stock", file=sys.stderr, flush=True)
            return
        try:
            self.start_helper(self.directory)
        except OSError as problem:
            reason = f"the parent for modules cannot be started: {problem.strerror}"
            print(f"prefork: {reason}: modules run stock", file=sys.stderr, flush=True)


def require_known(name: str, known: tuple[tuple[int, int], tuple[int, int]]) -> None:
    reason = versions.explain_unknown(name, known)
    if reason:
        raise UnsupportedError(reason)


def start_module_parent(directory: Path) -> int | None:
    """Start a parent for modules that ends with this parent; its process id."""
    if os.environ.get("PREFORK_MODULES", "").lower() == "off":
        return None
    command = [sys.executable, "-P", "-m", "ansible_prefork", "parent", "--program", modules.NAME]
    command += ["--directory", str(directory), "--follow", str(os.getpid())]
    null = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    return os.posix_spawn(sys.executable, command, os.environb, file_actions=null)


def module_socket(directory: Path) -> Path:
    key = client.environment_key(dict(os.environb), os.getcwdb())
    return directory / f"{modules.NAME}-{key}.sock"


@contextlib.contextmanager
def warm_environment(environment: dict[bytes, bytes], *, elsewhere: bool) -> Iterator[None]:
    """Set the environment of a play during the warm-up, with a directory for ansible-runner's callback.

    ``elsewhere``: whether to use another working directory, whose files do not count.
    """
    kept, before = dict(os.environb), os.getcwd()
    with tempfile.TemporaryDirectory(prefix="prefork-") as directory:
        wanted = {**environment, b"AWX_ISOLATED_DATA_DIR": os.fsencode(directory)}
        wanted[b"ANSIBLE_CACHE_PLUGIN_CONNECTION"] = os.fsencode(directory + "/fact_cache")
        request.set_environment(wanted)
        if elsewhere:
            os.chdir(directory)
        try:
            yield
        finally:
            os.chdir(before)
            request.set_environment(kept)


def warm_play(directory: Path, socket: Path) -> None:
    """Import Ansible, run a play that uses common features, then forget it."""
    with _record_import_output() as output:
        try:
            importlib.import_module("ansible.cli.playbook")
        except SystemExit as end:
            raise UnsupportedError("Ansible does not run in this environment") from end
    _import_output.append(output)
    for name in (
        "ansible.plugins.connection.local",
        "ansible.plugins.strategy.linear",
        "ansible.plugins.strategy.free",
        *modules.PROFILES,
    ):
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)
    global_state.remember_unplayed()
    inline.install()
    modules.install(socket)
    pipelining.install(socket)
    payloads.install(directory)
    plugin_docs.install()
    # The warm-up must not print anything.
    with stdout_to(os.devnull), global_state.without_server():
        _play_once(directory)
        _preload_plugins()
    isolation.find_collections()
    files.install(modules.collection_directories().values())
    templates.install(files.parsed())
    _keep_collection_finder()
    global_state.forget_run()
    global_state.remove_temporary_directory()
    for number in range(3):
        # A play makes the standard streams non-inheritable, but a parent executes its successor.
        os.set_inheritable(number, True)


def _keep_collection_finder() -> None:
    """Keep the finder of collections in sys.meta_path, as all runs have the same environment."""
    from ansible.plugins import loader

    configure = loader._configure_collection_loader

    def configure_once(prefix_collections_path: Any = None) -> None:
        if prefix_collections_path:
            configure(prefix_collections_path)

    loader._configure_collection_loader = configure_once


class _ImportOutput:
    """The output of importing Ansible on stdout and stderr; each run repeats it, as each stock process prints it."""

    def __init__(self) -> None:
        self.out = io.StringIO()
        self.err = io.StringIO()

    def repeat(self) -> None:
        sys.stdout.write(self.out.getvalue())
        sys.stderr.write(self.err.getvalue())


_import_output: list[_ImportOutput] = []


@contextlib.contextmanager
def _record_import_output() -> Iterator[_ImportOutput]:
    output = _ImportOutput()
    with (
        contextlib.redirect_stdout(_Descriptor(output.out, 1)),
        contextlib.redirect_stderr(_Descriptor(output.err, 2)),
    ):
        yield output


class _Descriptor(io.TextIOWrapper):
    """A stream that keeps the output and has the descriptor that Ansible checks when it is imported."""

    def __init__(self, kept: io.StringIO, number: int) -> None:
        super().__init__(io.FileIO(number, "w", closefd=False), encoding="utf-8", errors="surrogateescape")
        self.kept = kept

    def write(self, text: str) -> int:
        return self.kept.write(text)


@contextlib.contextmanager
def stdout_to(path: str) -> Iterator[None]:
    """Redirect output to a file, including output of plugins and forks to the descriptor."""
    sys.stdout.flush()
    kept = os.dup(1)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.close(file)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def _play_once(directory: Path) -> None:
    from ansible.cli.playbook import PlaybookCLI

    # As for ansible-runner: an inventory directory and a file of variables.
    inventory = directory / "inventory"
    inventory.mkdir(exist_ok=True)
    (inventory / "hosts").write_text("localhost ansible_connection=local\n")
    variables = directory / "extravars"
    variables.write_text('{"prefork_number": 1}\n')
    argv = sys.argv
    arguments = [NAME, "-i", str(inventory), "-e", f"@{variables}", str(WARM_PLAYBOOK)]
    sys.argv = arguments
    try:
        cli = PlaybookCLI(arguments)
        code = cli.run()
    finally:
        sys.argv = argv
    if code:
        raise UnsupportedError(f"the warm-up play ended with {code}")
    parsers.install_for_play(cli)


def _preload_plugins() -> None:
    """Load the plugins of the preloaded collections, which a play would load one by one."""
    from ansible.plugins import loader

    loader.action_loader.get("ansible.legacy.normal", class_only=True)
    loader.glob = _Glob([*modules.collection_directories().values(), *plugins_of_ansible()])
    for collection, directory in modules.collection_directories().items():
        for kind in PRELOADED_PLUGINS:
            plugins = getattr(loader, f"{kind}_loader")
            for file in sorted((directory / "plugins" / kind).glob("[a-z]*.py")):
                with contextlib.suppress(Exception):
                    plugins.get(f"{collection}.{file.stem}", class_only=True)
        for file in sorted((directory / "plugins" / "modules").glob("[a-z]*.py")):
            with contextlib.suppress(Exception):
                loader.module_loader.find_plugin(f"{collection}.{file.stem}")
        # An action plugin's top-level imports are loaded by now; those in its functions are among the module_utils.
        if collection not in MODULES_ONLY and (directory / "plugins" / "action").is_dir():
            modules.import_module_utils(collection, directory)


def plugins_of_ansible() -> list[Path]:
    """The directories of ansible-core's own plugins, which change only with its version."""
    from ansible import plugins

    return [Path(directory) for directory in plugins.__path__]


class _Glob:
    """A view of the module glob for the plugin loader, with a cache for directories that the parent watches."""

    def __init__(self, directories: Iterable[Path]) -> None:
        self._prefixes = tuple(f"{directory}{os.sep}" for directory in directories)
        self._known: dict[str, list[str]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(glob, name)

    def iglob(self, pattern: str, **options: Any) -> Iterator[str]:
        if options or not pattern.startswith(self._prefixes):
            return glob.iglob(pattern, **options)
        return iter(self.glob(pattern))

    def glob(self, pattern: str, **options: Any) -> list[str]:
        if options or not pattern.startswith(self._prefixes):
            return glob.glob(pattern, **options)
        if pattern not in self._known:
            self._known[pattern] = glob.glob(pattern)
        return list(self._known[pattern])


def watched_paths() -> list[Path]:
    """The paths whose change makes a warm process stale."""
    from ansible import constants
    from ansible.plugins import loader

    paths = [Path(sys.executable), Path(__file__).parent, *modules.collection_directories().values()]
    if constants.CONFIG_FILE:
        paths.append(Path(constants.CONFIG_FILE))
    paths += [Path(os.path.expanduser("~/.ansible.cfg")), Path("/etc/ansible/ansible.cfg")]
    # Ansible lists a plugin directory only once.
    for _name, plugins in loader.get_all_plugin_loaders():
        paths += [Path(os.path.expanduser(item)) for item in plugins.config or ()]
    return [*paths, *modules.installed_versions()]


def run_play(argv: list[str]) -> int:
    """Run ansible-playbook in this fork, which has its own environment, descriptors and directory; the exit code."""
    from ansible.cli.playbook import PlaybookCLI

    global_state.refresh_process()
    for output in _import_output:
        output.repeat()
    inline.prepare_run()
    sys.argv = [stock_program(argv[0]), *argv[1:]]
    try:
        PlaybookCLI.cli_executor(list(sys.argv))
    finally:
        learned.note()
    return 0


def stock_program(own: str) -> str:
    """The path of the stock program, which Ansible shows as its own."""
    found = client.find_program(NAME.encode(), dict(os.environb), os.fsencode(own))
    return os.fsdecode(found) if found else own
