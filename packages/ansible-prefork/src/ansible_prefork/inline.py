# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Run the tasks of a play with one host in the process of the play.

ansible-core forks a worker for each task and host, even for a skipped task, so that hosts run in parallel. A play with
one host has nothing to run in parallel. The fork, the pages that it copies, and the plugins and templates that a worker
loads, compiles and loses cost more than most tasks.

ansible-core's own code executes the task, on copies of the data that the strategy needs afterwards. Results, callbacks
and messages go through the same queue to the same thread as those of a worker, in the same order. Changes to the
process (environment, working directory, umask, signal handlers) are reverted. If a plugin ends its process, by sys.exit
or os._exit, this ends the simulated worker, not the play. A task that uses a plugin from outside ansible-core continues
in a worker (see ``isolation``).
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Any, NoReturn

from ansible_prefork import isolation, request

# The thread that reads the queue answers the prompt of `pause`. Since ansible-core 2.21, the others send a request to
# the strategy to change the inventory, and the strategy would wait for them.
NEVER_INLINE = frozenset(
    prefix + name
    for prefix in ("", "ansible.builtin.", "ansible.legacy.")
    for name in ("pause", "add_host", "group_by")
)
CATCHABLE = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})


class _QueueOfMainThread:
    """The queue of Display while a task runs, true only in the thread of the task.

    Messages of that thread go through the queue; the thread that reads the queue displays them.
    """

    def __init__(self, queue: Any) -> None:
        self.queue = queue
        self.owner = threading.get_ident()

    def __bool__(self) -> bool:
        return threading.get_ident() == self.owner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.queue, name)


class _OutputOfMainThread:
    """sys.stdout while a task runs. It keeps the output of plugins, which ansible-core turns into a warning."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._kept = io.StringIO()
        self._owner = threading.get_ident()

    def _target(self) -> Any:
        return self._kept if threading.get_ident() == self._owner else self._stream

    def write(self, text: str) -> int:
        return int(self._target().write(text))

    def flush(self) -> None:
        self._target().flush()

    def getvalue(self) -> str:
        return self._kept.getvalue()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Descriptors:
    """Hides the descriptors 0, 1 and 2 of the run while a task runs, as a worker does not have them.

    The run's own standard streams write to duplicates, because the thread that reads the queue continues its output.
    """

    def __init__(self) -> None:
        self.null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self.kept = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10) for number in range(3)]
        for stream, number in ((sys.stdout, self.kept[1]), (sys.stderr, self.kept[2])):
            request.move_stream(stream, number)

    def detach(self) -> None:
        # ansible-core made them non-inheritable.
        self.inheritable = [os.get_inheritable(number) for number in range(3)]
        for number in range(3):
            os.dup2(self.null, number)

    def attach(self) -> None:
        for number, kept in enumerate(self.kept):
            os.dup2(kept, number, self.inheritable[number])


# Since ansible-core 2.19 workers are detached from the standard streams; before, they write to those of the run.
_detaches = False
_descriptors: _Descriptors | None = None


def prepare_run() -> None:
    """Hide the descriptors of the run in this process from its tasks."""
    global _descriptors
    if _detaches:
        _descriptors = _Descriptors()


class _WorkerEnd(BaseException):
    """The end of the simulated worker by os._exit."""


class _ProcessState:
    """Restores the process state that a task may change, and makes an exit end only the simulated worker.

    ``interrupted``: whether the user interrupted the play meanwhile, which must still work.
    """

    def __init__(self) -> None:
        self.interrupted = False
        self.owner = os.getpid(), threading.get_ident()

    def _interrupt(self, number: int, frame: object) -> None:
        self.interrupted = True
        self.handlers[signal.SIGINT](number, frame)

    def _end_worker(self, status: int) -> NoReturn:
        if (os.getpid(), threading.get_ident()) == self.owner:
            raise _WorkerEnd(status)
        self.exit(status)

    def __enter__(self) -> None:
        self.environment = dict(os.environb)
        self.directory = os.getcwd()
        self.umask = os.umask(0o022)
        os.umask(self.umask)
        self.handlers: dict[int, Any] = {number: signal.getsignal(number) for number in CATCHABLE}
        if callable(self.handlers[signal.SIGINT]):
            signal.signal(signal.SIGINT, self._interrupt)
        self.exit = os._exit
        os._exit = self._end_worker
        self.path = list(sys.path)
        self.streams = sys.stdin, sys.stdout, sys.stderr
        if _descriptors is not None:
            _descriptors.detach()
            sys.stdin = open(0, closefd=False)
            sys.stdin.close()
        # Before 2.19, a worker ends without flushing its buffers.
        if _detaches or not sys.stdout.line_buffering:
            sys.stdout = _OutputOfMainThread(sys.stdout)
        if _detaches:
            sys.stderr = _OutputOfMainThread(sys.stderr)

    def __exit__(self, *_exception: object) -> None:
        os._exit = self.exit
        sys.stdin, sys.stdout, sys.stderr = self.streams
        if _descriptors is not None:
            _descriptors.attach()
        for number, handler in self.handlers.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        sys.path[:] = self.path
        os.umask(self.umask)
        os.chdir(self.directory)
        if dict(os.environb) != self.environment:
            os.environb.clear()
            os.environb.update(self.environment)


def make_worker_class(stock: Any) -> Any:
    """A subclass of ansible-core's WorkerProcess that replaces it."""

    class Worker(stock):  # type: ignore[misc]
        """A worker that runs its task in this process if possible, and otherwise as stock."""

        _prefork_requests: _RequestQueue | None = None
        _was_inline = False
        _inline_exitcode: int | None = None

        def start(self) -> None:
            if not is_inline_task(self._task):
                super().start()
                return
            self._was_inline = True
            # As multiprocessing does before each fork, so that earlier output is visible while the task runs.
            sys.stdout.flush()
            sys.stderr.flush()
            with answer_requests(self._prefork_requests):
                self._inline_exitcode = run_inline(self)

        def is_alive(self) -> bool:
            return not self._was_inline and super().is_alive()

        @property
        def exitcode(self) -> int | None:
            return self._inline_exitcode if self._was_inline else super().exitcode

        def close(self) -> None:
            if not self._was_inline:
                super().close()

        def terminate(self) -> None:
            if not self._was_inline:
                super().terminate()

    return Worker


class _RequestQueue(queue.Queue):  # type: ignore[type-arg]
    """The queue of a strategy (since ansible-core 2.21) for requests of its workers, such as to add a host.

    Requests of a task in the strategy's own thread would wait for that thread, so they are answered at once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_inline = False

    def put(self, item: Any, *arguments: Any, **named: Any) -> None:
        if self.is_inline:
            item.dispatch()
        else:
            super().put(item, *arguments, **named)


@contextlib.contextmanager
def answer_requests(requests: _RequestQueue | None) -> Iterator[None]:
    """Answer requests at once during a task, if the strategy has a queue for them."""
    if requests is None:
        yield
        return
    requests.is_inline = True
    try:
        yield
    finally:
        requests.is_inline = False


def is_inline_task(task: Any) -> bool:
    return not task.async_val and task.action not in NEVER_INLINE


def run_inline(worker: Any) -> int:
    """Run the worker's task here; the exit code that the worker's process would have had."""
    from ansible.executor.process import worker as module
    from ansible.utils.display import Display

    display = Display()
    host = worker._host
    kept = host.vars, host.groups
    before = getattr(module, "current_worker", None)
    _copy_inputs(worker)
    display.set_queue = _keep_queue
    display.display = _make_display(display, worker._final_q)
    display._final_q = _QueueOfMainThread(worker._final_q)
    process_state = _ProcessState()
    try:
        with isolation.task(display._lock), process_state:
            try:
                _run_task(worker, module)
                isolation.end_worker()
            except BaseException as problem:
                is_end = isinstance(problem, (_WorkerEnd, isolation.Moved))
                if not isolation.is_worker() and (process_state.interrupted or is_end):
                    raise
                # Since ansible-core 2.21, any exception is shown, even sys.exit(0).
                worker._hard_exit(_format(problem))
    except isolation.Moved as moved:
        return moved.code
    except BaseException:
        if process_state.interrupted:
            raise
        # A play fails if the exit code of a worker is not 0.
        return 1
    finally:
        display._final_q = None
        del display.set_queue, display.display
        host.vars, host.groups = kept
        module.current_worker = before
    return 0


def _format(problem: BaseException) -> str:
    """The traceback of an exception, starting in ansible-core's code."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(problem), problem, trace))


def _keep_queue(_queue: Any) -> None:
    """Replaces Display.set_queue, which a worker of ansible-core 2.18 calls itself."""


def _make_display(display: Any, queue: Any) -> Any:
    """A replacement of Display.display during a task.

    The callback plugin of ansible-runner wraps the method of the class to make an event of each message. A message that
    only goes into the queue must not become an event yet.
    """
    owner = threading.get_ident()

    def show(*arguments: Any, **named: Any) -> None:
        if threading.get_ident() == owner:
            if not isolation.has_moved():
                queue.send_display("display", *arguments, **named)
        else:
            type(display).display(display, *arguments, **named)

    return show


def _copy_inputs(worker: Any) -> None:
    """Copy the data that the task changes and the strategy uses again."""
    task = worker._task
    copy = task.copy(exclude_parent=True, exclude_tasks=True)
    copy._parent = task._parent
    worker._task = copy
    worker._task_vars = worker._task_vars.copy()
    worker._new_stdin = None


def _run_task(worker: Any, module: Any) -> None:
    context = getattr(module, "_task", None)
    if context is None:
        worker._run()
        return
    create = getattr(context.TaskContext, "create", None)
    # Since ansible-core 2.21, the context also has the data that loops need.
    current = (
        create(task=worker._task, task_vars=worker._task_vars, host_name=worker._host.name)
        if create
        else context.TaskContext(worker._task)
    )
    with current:
        worker._run()


def install() -> None:
    """Make the strategies of ansible-core use these workers in plays with one worker."""
    from ansible.plugins import strategy

    global _detaches
    stock = strategy.WorkerProcess
    _detaches = hasattr(stock, "_detach")
    inline = make_worker_class(stock)
    queue_task = strategy.StrategyBase._queue_task

    def queue_inline(self: Any, *arguments: Any, **named: Any) -> Any:
        is_alone = len(self._workers) == 1
        strategy.WorkerProcess = inline if is_alone else stock
        if is_alone and hasattr(self, "_rpc_queue"):
            if not isinstance(self._rpc_queue, _RequestQueue):
                self._rpc_queue = _RequestQueue()
            inline._prefork_requests = self._rpc_queue
        try:
            return queue_task(self, *arguments, **named)
        finally:
            inline._prefork_requests = None

    strategy.StrategyBase._queue_task = queue_inline
    isolation.install()
