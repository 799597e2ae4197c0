# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The thin client: passes one run of a program to the warm parent, and exits like that run.

This file is also the program text of the installed clients, which run under ``python -I -S``. It imports only modules
that are built into the interpreter, so that it starts as fast as the interpreter.
"""

import _imp
import _signal
import _socket
import marshal
import posix
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PROTOCOL = 2
PARENT_WAIT_SECONDS = 30
# The time for a parent to answer, unless it is warming up.
ANSWER_SECONDS = 5.0
SILENT = "the parent is silent: stopped, stuck or overloaded"
FORWARDED = (
    "SIGINT",
    "SIGTERM",
    "SIGHUP",
    "SIGQUIT",
    "SIGUSR1",
    "SIGUSR2",
    "SIGALRM",
    "SIGWINCH",
    "SIGCONT",
)
# The only signals that a program handles. Any other ends its client, and the run with it.
HANDLED = {b"ansible-runner": ("SIGINT", "SIGTERM")}
# Variables that the interpreter and Ansible read once, at import: runs that differ in one of these cannot share a
# parent. Each run reads the rest from its own environment.
KEY_PREFIXES = (b"ANSIBLE_", b"_ANSIBLE_", b"PYTHON", b"LC_")
# Suffixes of such variables with paths: a relative path means another file in another working directory.
PATH_SUFFIXES = (
    b"PATH",
    b"PATHS",
    b"_PLUGINS",
    b"_FILE",
    b"_DIR",
    b"_HOME",
    b"_CONFIG",
    b"_LIBRARY",
    b"_MODULE_UTILS",
    b"_INVENTORY",
    b"_TEMP",
    b"_SKELETON",
    b"_KEYRING",
)
KEY_NAMES = frozenset(
    (
        b"HOME",
        b"LANG",
        b"LANGUAGE",
        b"NO_COLOR",
        b"PAGER",
        b"EDITOR",
        b"AWX_LIB_DIRECTORY",
        b"PREFORK_BEFORE_RUN",
        b"PREFORK_PRELOAD",
    )
)
# Variables that ansible-runner sets for each run; the run applies them to itself.
PER_RUN_NAMES = frozenset((b"ANSIBLE_CACHE_PLUGIN_CONNECTION", b"ANSIBLE_ROLES_PATH"))
# Further variables for a parent that a client starts, so that it finds its programs and files. It gets nothing else of
# the first run's environment, because it would keep it.
PARENT_PREFIXES = (b"PREFORK", b"XDG_", b"LD_")
PARENT_NAMES = frozenset((b"PATH", b"TMPDIR", b"TZ", b"TERM", b"USER", b"LOGNAME", b"SHELL", b"VIRTUAL_ENV"))
# How long a refusal is valid, which records that a parent could not warm up or did not answer. Then another is started.
STOCK_SECONDS = 60
MAXIMUM_FILES = 250
MAXIMUM_ADDRESS = 107
# The limits of a run, whole numbers; 0 for none.
RUN_SECONDS = b"PREFORK_RUN_SECONDS"
RUN_MEMORY = b"PREFORK_RUN_MEMORY_MIB"
RUN = "run of "
# The suffix of fallback files: see note_fallback.
FALLBACK = b".fell"
MAXIMUM_REASON = 500
MAXIMUM_REASONS = 50
MAXIMUM_COUNT = 100_000
# The process that a parent follows.
FOLLOW = b"PREFORK_FOLLOW"
# The time for an overdue run to terminate before it is killed.
GRACE_SECONDS = 5
OVERDUE = -1
WRONG_SETTING = 2
# The variable with the reason why the compiled client handed the run over; it is not passed on.
REASON = b"_PREFORK_REASON"
LOST = 70
TIMED_OUT = 124
NO_PROGRAM = 127


def report(text: str) -> None:
    try:
        posix.write(2, ("prefork: " + text + "\n").encode("utf-8", "backslashreplace"))
    except OSError:
        pass


def environment_key(environment: dict[bytes, bytes], directory: bytes) -> str:
    """The key that all runs of one parent share: 16 hexadecimal digits.

    ``directory``: the working directory, which may contain an ansible.cfg.
    """
    chosen = sorted(name + b"=" + value for name, value in environment.items() if is_key(name))
    if any(has_relative_path(name, value) for name, value in environment.items() if is_key(name)):
        chosen.append(b"@" + directory)
    if b"ANSIBLE_CONFIG" not in environment:
        config = directory + b"/ansible.cfg"
        try:
            posix.stat(config)
            chosen.append(b"@" + config)
        except OSError:
            pass
    return _imp.source_hash(PROTOCOL, b"\0".join(chosen)).hex()


def is_key(name: bytes) -> bool:
    return (name in KEY_NAMES or name.startswith(KEY_PREFIXES)) and name not in PER_RUN_NAMES


def has_relative_path(name: bytes, value: bytes) -> bool:
    if not value or not name.endswith(PATH_SUFFIXES):
        return False
    return any(not item.startswith((b"/", b"~", b"$")) for item in value.split(b":"))


def parent_environment(environment: dict[bytes, bytes]) -> dict[bytes, bytes]:
    return {
        name: value
        for name, value in environment.items()
        if is_key(name) or name in PARENT_NAMES or name.startswith(PARENT_PREFIXES)
    }


def is_off(environment: dict[bytes, bytes], name: bytes = b"PREFORK") -> bool:
    return environment.get(name, b"").lower() in (b"off", b"0", b"no", b"false")


def get_limit(environment: dict[bytes, bytes], name: bytes) -> int:
    text = environment.get(name) or b"0"
    if not text.isdigit():
        report(f"{name.decode()} is not a whole number: correct or unset it")
        posix._exit(WRONG_SETTING)
    return int(text)


def parent_directory(environment: dict[bytes, bytes]) -> bytes:
    """The directory of the sockets of this user's parents: PREFORK_DIR, or a private directory."""
    chosen = environment.get(b"PREFORK_DIR")
    if chosen:
        return chosen
    runtime = environment.get(b"XDG_RUNTIME_DIR")
    if runtime:
        return runtime + b"/ansible-prefork"
    return b"/tmp/ansible-prefork-%d" % posix.getuid()


def is_private(directory: bytes) -> bool:
    """Whether only this user can create a socket there."""
    try:
        found = posix.lstat(directory)
    except OSError:
        return False
    return found.st_mode & 0o170077 == 0o040000 and found.st_uid == posix.getuid()


def open_files() -> list[int]:
    """The open file descriptors, as numbers."""
    found = []
    for name in posix.listdir("/proc/self/fd"):
        number = int(name)
        try:
            posix.fstat(number)
        except OSError:
            continue
        found.append(number)
    return sorted(found)


def ignored_signals() -> list[int]:
    return [
        number
        for number in (getattr(_signal, name) for name in FORWARDED)
        if _signal.getsignal(number) == _signal.SIG_IGN
    ]


def get_umask() -> int:
    umask = posix.umask(0o077)
    posix.umask(umask)
    return umask


def get_directory() -> bytes:
    """The working directory; empty if it was removed."""
    try:
        return posix.getcwdb()
    except OSError:
        return b""


def connect(path: bytes) -> "_socket.socket | None":
    """A connection to the parent that listens at ``path``, or None."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        at_address(path, connection.connect)
    except OSError:
        connection.close()
        return None
    return connection


def at_address(path: bytes, use: "Callable[[bytes], object]") -> None:
    """Call ``use`` with a socket address for a path of any length; the system limits addresses to 107 bytes."""
    if len(path) <= MAXIMUM_ADDRESS:
        use(path)
        return
    parent, _slash, name = path.rpartition(b"/")
    number = posix.open(parent, posix.O_PATH | posix.O_DIRECTORY | posix.O_CLOEXEC)
    try:
        use(b"/proc/self/fd/%d/%s" % (number, name))
    finally:
        posix.close(number)


def send_request(connection: _socket.socket, request: "tuple[object, ...]", actual: list[int]) -> None:
    """Send the request for a run: its size and the file descriptors first, then the rest.

    ``request``: argv, environment, working directory, descriptor numbers in the run, umask, ignored signals;
    ``actual``: the descriptors of this process that get those numbers.
    """
    body = marshal.dumps([PROTOCOL, *request])
    head = len(body).to_bytes(8, "little")
    numbers = b"".join(number.to_bytes(4, sys.byteorder) for number in actual)
    connection.sendmsg([head], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)] if actual else [])
    view = memoryview(body)
    while view:
        view = view[connection.send(view) :]


def receive(connection: _socket.socket, count: int) -> bytes:
    """Exactly ``count`` bytes, or none at the end of the stream; TimeoutError if there are none yet."""
    data = b""
    while len(data) < count:
        try:
            chunk = connection.recv(count - len(data))
        except TimeoutError:
            if data:
                continue
            raise
        except OSError:
            return b""
        if not chunk:
            return b""
        data += chunk
    return data


def is_warming(base: bytes) -> bool:
    """Whether the parent may take longer to answer, because it started to warm up recently."""
    try:
        return abs(time.time() - posix.stat(base + b".warm").st_mtime) < PARENT_WAIT_SECONDS
    except OSError:
        return False


def receive_answer(connection: _socket.socket, base: bytes) -> bytes:
    """The first answer of a parent, a letter and a number, or nothing if it ended; TimeoutError without an answer."""
    end = time.monotonic() + PARENT_WAIT_SECONDS
    while True:
        try:
            return receive(connection, 5)
        except TimeoutError:
            if not is_warming(base) and not (time.monotonic() < end and is_busy(peer(connection))):
                raise


def begin(connection: _socket.socket, request: "tuple[object, ...]", actual: list[int], base: bytes) -> int | str:
    """Start a run; the process id of its fork, or the reason why there is none.

    The fork exists before it gets the request. So a run without a process id is never executed, and a parent that
    accepts no runs never holds their descriptors, whose other ends would wait for it. ``base``: the path of the
    parent's socket without its suffix. The other arguments are those of send_request.
    """
    connection.settimeout(ANSWER_SECONDS)
    try:
        head = receive_answer(connection, base)
    except TimeoutError:
        note_silence(connection, base)
        return SILENT
    value = int.from_bytes(head[1:], "little")
    try:
        if head[:1] == b"S":
            return receive(connection, value).decode()
        if head[:1] == b"P":
            send_request(connection, request, actual)
            return value
    except OSError:
        pass
    return "the parent ended before the run began"


def note_silence(connection: _socket.socket, base: bytes) -> None:
    """Record that the parent does not answer; the parent removes the record when it accepts a client.

    A parent that still does not answer when the record has expired is killed together with its runs. The next client
    starts another parent.
    """
    path = base + b".stock"
    try:
        if time.time() - posix.stat(path).st_mtime > STOCK_SECONDS:
            posix.kill(peer(connection), _signal.SIGKILL)
            posix.unlink(path)
        return
    except FileNotFoundError:
        pass
    except OSError:
        return
    try:
        with open(path, "w") as file:
            file.write(SILENT)
    except OSError:
        pass


def peer(connection: _socket.socket) -> int:
    """The process id of the parent."""
    return int.from_bytes(connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 4), sys.byteorder)


def follow(connection: _socket.socket, pid: int, base: bytes, seconds: float = 0) -> int | None:
    """Wait for a run; its wait status, None if it was lost, OVERDUE after ``seconds``.

    A parent that is renewing itself reports the status later, and may have to end the run first.
    """
    end = time.monotonic() + seconds if seconds else 0.0
    while True:
        if end:
            connection.settimeout(min(ANSWER_SECONDS, max(0.001, end - time.monotonic())))
        try:
            head = receive(connection, 5)
        except TimeoutError:
            status = None if is_warming(base) else ended_status(pid)
            if status is not None:
                return status
            if end and time.monotonic() >= end:
                return OVERDUE
            continue
        if not head:
            return None
        if head[:1] == b"X":
            return int.from_bytes(head[1:], "little")


def end_overdue(connection: _socket.socket, pid: int, base: bytes) -> None:
    """Terminate an overdue run and all processes that it started."""
    for number in (_signal.SIGTERM, _signal.SIGKILL):
        for target in (-pid, pid):
            try:
                posix.kill(target, number)
            except OSError:
                pass
        if follow(connection, pid, base, GRACE_SECONDS) != OVERDUE:
            return


def ended_status(pid: int) -> int | None:
    """The wait status of a run whose end a stopped or stuck parent has not noticed; None if it is running."""
    fields = read_stat(pid)
    return int(fields[49]) if fields[:1] == ["Z"] else None


def is_busy(pid: int) -> bool:
    """Whether the process runs, or waits for a processor or a disk; a stuck parent sleeps or is stopped."""
    return read_stat(pid)[:1] in (["R"], ["D"])


def read_stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; none if the process does not exist."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


class Forwarded:
    """Forwards the signals that this process receives to the run."""

    def __init__(self) -> None:
        self.pid = 0
        self.waiting: list[int] = []
        self.numbers: list[int] = []

    def install(self, names: "tuple[str, ...]", ignored: list[int]) -> None:
        self.numbers = [number for number in (getattr(_signal, name) for name in names) if number not in ignored]
        for number in self.numbers:
            _signal.signal(number, self.handle)

    def remove(self) -> None:
        """Let signals act on this process again, including those received for a run that never started."""
        for number in self.numbers:
            _signal.signal(number, _signal.SIG_DFL)
        for number in self.waiting:
            posix.kill(posix.getpid(), number)

    def handle(self, number: int, _frame: object) -> None:
        if self.pid:
            self.send(number)
        else:
            self.waiting.append(number)

    def send(self, number: int) -> None:
        try:
            posix.kill(self.pid, number)
        except OSError:
            pass

    def start(self, pid: int) -> None:
        self.pid = pid
        for number in self.waiting:
            self.send(number)
        self.waiting = []

    def stop(self) -> None:
        self.pid = 0
        self.waiting = []


def find_program(name: bytes, environment: dict[bytes, bytes], own: bytes) -> bytes | None:
    """The next program of that name on PATH that is not one of the clients."""
    for directory in environment.get(b"PATH", b"/usr/bin:/bin").split(b":"):
        path = (directory or b".") + b"/" + name
        if not posix.access(path, posix.X_OK):
            continue
        try:
            with open(path, "rb") as file:
                text = file.read(400)
                if text[:4] == b"\x7fELF":
                    # A compiled client has the mark at its end.
                    text = file.read()[-400:]
                is_client = b"ansible_prefork.client" in text
        except OSError:
            is_client = False
        if not is_client and path != own:
            return path
    return None


def run_stock(name: bytes, environment: dict[bytes, bytes], own: bytes) -> None:
    path = find_program(name, environment, own)
    if path is None:
        report(name.decode() + ": not found on PATH besides the client of prefork: install the package that has it")
        posix._exit(NO_PROGRAM)
    posix.execv(path, [name] + [argument.encode("utf-8", "surrogateescape") for argument in sys.argv[1:]])


def report_once(directory: bytes, key: bytes, text: str) -> None:
    """Print a message only for the first of all runs that would print it."""
    try:
        posix.close(
            posix.open(
                directory + b"/" + key + b".said",
                posix.O_CREAT | posix.O_EXCL | posix.O_WRONLY,
                0o600,
            )
        )
    except FileExistsError:
        return
    except OSError:
        pass
    report(text)


def note_fallback(directory: bytes, what: str, reason: str, environment: dict[bytes, bytes]) -> None:
    """Count a run, a play or a module that is not warm; the first time, log the reason in the operator's log.

    There is one file per reason, with the text and one zero byte per occurrence. ``what`` is the kind. The texts
    contain no data of a run.
    """
    if not is_private(directory):
        return
    text = f"{what}\t{reason}".encode("utf-8", "backslashreplace")[:MAXIMUM_REASON]
    path = directory + b"/" + _imp.source_hash(PROTOCOL, text).hex().encode() + FALLBACK
    flags = posix.O_WRONLY | posix.O_APPEND | posix.O_CLOEXEC
    try:
        try:
            number = posix.open(path, flags)
            is_first = False
        except FileNotFoundError:
            if sum(name.endswith(FALLBACK) for name in posix.listdir(directory)) >= MAXIMUM_REASONS:
                return
            number = posix.open(path, flags | posix.O_CREAT | posix.O_EXCL, 0o600)
            is_first = True
        try:
            if posix.fstat(number).st_size < MAXIMUM_COUNT:
                posix.write(number, (text if is_first else b"") + b"\0")
        finally:
            posix.close(number)
        if is_first:
            log(directory, f"a {what} is not warm: {reason}", environment)
    except OSError:
        pass


def log(directory: bytes, text: str, environment: dict[bytes, bytes]) -> None:
    """Write to the operator's log, which is the stderr of the process that the parent follows; else to the parent's."""
    line = ("prefork: " + text + "\n").encode("utf-8", "backslashreplace")
    followed = environment.get(FOLLOW, b"")
    for path in ([b"/proc/" + followed + b"/fd/2"] if followed.isdigit() else []) + [directory + b"/parent.log"]:
        try:
            number = posix.open(path, posix.O_WRONLY | posix.O_APPEND | posix.O_NOCTTY | posix.O_NONBLOCK)
        except OSError:
            continue
        try:
            posix.write(number, line)
            return
        except OSError:
            continue
        finally:
            posix.close(number)


def spawn_parent(directory: bytes, name: bytes) -> None:
    """Start a detached parent for this environment, which outlives this process."""
    if posix.fork():
        posix.wait()
        return
    posix.setsid()
    if posix.fork():
        posix._exit(0)
    # The system assigns the lowest free descriptors, so these become 0, 1 and 2.
    posix.closerange(0, 1 << 20)
    posix.open("/dev/null", posix.O_RDONLY)
    posix.open(directory + b"/parent.log", posix.O_CREAT | posix.O_WRONLY | posix.O_APPEND, 0o600)
    posix.dup(1)
    for number in range(3):
        posix.set_inheritable(number, True)
    posix.execve(
        sys.executable,
        [sys.executable, "-P", "-m", "ansible_prefork", "parent", "--program", name.decode()],
        parent_environment(dict(posix.environ)),
    )


def read_refusal(base: bytes) -> str:
    """The reason why a parent recently could not warm up or did not answer; empty if there is no record."""
    path = base + b".stock"
    try:
        if time.time() - posix.stat(path).st_mtime > STOCK_SECONDS:
            return ""
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return ""


def reach_parent(directory: bytes, key: bytes, name: bytes) -> "tuple[_socket.socket | None, str]":
    """A connection to a parent, which is started if there is none; or None and the reason."""
    base = directory + b"/" + key
    end = 0.0
    while not end or time.monotonic() < end:
        refusal = read_refusal(base)
        if refusal:
            return None, refusal
        connection = connect(base + b".sock")
        if connection:
            return connection, ""
        if not end:
            report_once(directory, key, "no parent for " + name.decode() + " runs yet: starting one")
            spawn_parent(directory, name)
            end = time.monotonic() + PARENT_WAIT_SECONDS
        time.sleep(0.02)
    return None, "the parent did not come up within {} s, see {}/parent.log".format(
        PARENT_WAIT_SECONDS, directory.decode(errors="replace")
    )


def fall_back(directory: bytes, key: bytes, name: bytes, reason: str, environment: dict[bytes, bytes]) -> None:
    """Report that a run is stock, and count it."""
    report_once(directory, key + b".stock", reason + ": running stock")
    note_fallback(directory, RUN + name.decode(), reason, environment)


def end_as(status: int) -> None:
    """Exit like the run: with its exit code, or by the signal that ended it."""
    number = status & 0x7F
    if not number:
        posix._exit(status >> 8 & 0xFF)
    if number != _signal.SIGKILL:
        _signal.signal(number, _signal.SIG_DFL)
    posix.kill(posix.getpid(), number)
    posix._exit(128 + number)


def main() -> None:
    # A compiled client executes this script, which is in a directory beside it.
    directory, _slash, name = sys.argv[0].encode("utf-8", "surrogateescape").rpartition(b"/")
    own = directory.removesuffix(b"/.python") + b"/" + name
    environment = dict(posix.environ)
    reason = environment.pop(REASON, b"").decode(errors="replace")
    posix.unsetenv(REASON)
    if is_off(environment):
        run_stock(name, environment, own)
    seconds = get_limit(environment, RUN_SECONDS)
    get_limit(environment, RUN_MEMORY)
    directory = parent_directory(environment)
    try:
        posix.mkdir(directory, 0o700)
    except OSError:
        pass
    cwd = get_directory()
    files = open_files()
    if not cwd or len(files) > MAXIMUM_FILES:
        why = "it has more open files than can be passed on" if cwd else "its working directory was removed"
        note_fallback(directory, RUN + name.decode(), why, environment)
        run_stock(name, environment, own)
    key = name + b"-" + environment_key(environment, cwd).encode()
    if not is_private(directory):
        report(
            directory.decode(errors="replace") + " is not a private directory (mode 0700) of this user: running stock"
        )
        run_stock(name, environment, own)
    connection, reason = (None, reason) if reason else reach_parent(directory, key, name)
    if connection is None:
        fall_back(directory, key, name, reason, environment)
        run_stock(name, environment, own)
        return
    ignored = ignored_signals()
    forwarded = Forwarded()
    forwarded.install(HANDLED.get(name, FORWARDED), ignored)
    argv = [own, *(argument.encode("utf-8", "surrogateescape") for argument in sys.argv[1:])]
    base = directory + b"/" + key
    begun = begin(connection, (argv, environment, cwd, files, get_umask(), ignored), files, base)
    if isinstance(begun, str):
        connection.close()
        forwarded.remove()
        fall_back(directory, key, name, begun, environment)
        run_stock(name, environment, own)
        return
    forwarded.start(begun)
    status = follow(connection, begun, base, seconds)
    forwarded.stop()
    if status == OVERDUE:
        report(f"the run took longer than {RUN_SECONDS.decode()}={seconds}: ended it")
        end_overdue(connection, begun, base)
        posix._exit(TIMED_OUT)
    if status is not None:
        end_as(status)
    report("the parent of this run ended, and the run with it: changes so far remain, run it again")
    posix._exit(LOST)


if __name__ == "__main__":
    main()
