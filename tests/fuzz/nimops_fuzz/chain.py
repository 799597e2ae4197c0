# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A reconcile without a cluster and without Ansible: the pure functions, one after the other."""

from __future__ import annotations

import copy
import json
import re
import signal
import traceback
import typing as t
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.live import LiveCluster
from ansible_collections.nimops.nim.plugins.module_utils._commands.schema import find_violations
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import KINDS
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import (
    PLAN,
    RESOURCE,
    Observed,
    pack,
    unpack,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import Read
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of
from nimops_harness.cluster import Json

from .schema import home_of, limits_of, schema_of, walk

Ask = t.Callable[[Read], t.Any]
Apply = t.Callable[[Json], Json]
"""Returns an object as the API server stores it; ApiError if it is refused."""
Take = t.Callable[[Json], None]
"""Deletes and evicts what a plan names, and merges its patches."""

SECONDS = 10
_WRITES = ("apply", "prune", "adopt", "orphan", "patch", "evict")
_MAX_READS = 300
_MAX_STATUS, _MAX_EVENT = 1 << 20, 4096
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_LABEL = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")
_PERIOD = re.compile(r"[1-9]\d*s|")


class FlawError(Exception):
    """A pass violated a rule, which the text names."""


@dataclass
class Pass:
    """The input and the output of a pass, which is enough to repeat it."""

    resource: Json
    answers: Json = field(default_factory=dict)
    plan: Json = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    """Keys of the objects that were written."""
    status: Json = field(default_factory=dict)
    error: str = ""

    def to_case(self, why: str) -> Json:
        """The pass as a case."""
        case = {"why": why, "resource": self.resource, "answers": self.answers}
        return t.cast(Json, json.loads(json.dumps(case)))


class FuzzedClient:
    """Takes the place of a `Client`: applies children by a function, and checks other requests."""

    def __init__(self, write: Apply) -> None:
        self._write = write

    def get(self, _path: str, **_query: str) -> None:
        return None

    def patch(self, path: str, body: Json, _manager: str = "") -> Json:
        json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
        if ".." in path.split("/") or re.search(r"[\n?#]", path):
            raise FlawError(f"a request to {path}")
        if body.get("kind") == "Event" and len(body["message"].encode()) > _MAX_EVENT:
            raise FlawError(f"an event of more than {_MAX_EVENT} bytes")
        return {}

    def apply(self, path: str, body: Json, manager: str) -> Json:
        is_event = body["kind"] == "Event"
        return self.patch(path, body, manager) if is_event else self._write(body)

    def delete(self, path: str, *_arguments: str, **_options: bool) -> Json:
        return self.patch(path, {})

    evict = delete


class FuzzedCluster(LiveCluster):
    """A cluster with invented answers, which a pass remembers."""

    def __init__(self, client: FuzzedClient, ask: Ask, answers: Json) -> None:
        super().__init__(client, is_shared=False)  # type: ignore[arg-type]
        self._ask = ask
        self._answers = answers

    def answer(self, read: Read) -> t.Any:
        if len(self._answers) > _MAX_READS:
            raise FlawError(f"reads never end: {read.key}")
        json.dumps(vars(read))
        self._answers[read.key] = self._ask(read)
        return self._answers[read.key]


@contextmanager
def in_time(seconds: int) -> t.Iterator[None]:
    """A `FlawError` if it takes longer; only in the main thread."""

    def stop(*_: object) -> None:
        raise FlawError(f"a pass takes more than {seconds} s")

    former = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, former)


def make_pass(
    resource: Json, ask: Ask, write: Apply = copy.deepcopy, take: Take = lambda _plan: None
) -> Pass:
    """One pass; it raises a `FlawError`, or the error of a bug, with the `Pass` as an argument."""
    done = Pass(copy.deepcopy(resource))
    try:
        with in_time(SECONDS):
            _run(done, FuzzedCluster(FuzzedClient(write), ask, done.answers), take)
    except Exception as error:
        error.args = (*error.args, done)
        raise
    return done


def _run(done: Pass, cluster: FuzzedCluster, take: Take) -> None:
    resource, answers = done.resource, dict[str, t.Any]()
    kind = kind_of(resource)
    try:
        answers = steps.observe(kind, resource, cluster)
        plan = steps.plan(kind, resource, Observed(answers))[1]
        done.plan = asdict(plan)
        answers = unpack(pack({**answers, RESOURCE: resource, PLAN: done.plan}))
        _check_plan(resource, done.plan)
        outcome = steps.write(plan, cluster)
        done.written = set(outcome.written)
        take(done.plan)
    except NimError as error:
        # A pass that fails reports with nothing observed.
        answers, outcome, done.plan = {}, Outcome(failure=str(error)), {}
    try:
        found = steps.report(kind, resource, answers, outcome, cluster)
    except NimError as error:
        raise FlawError(f"an error is not reported: {error}") from error
    done.status, done.error = found.status, found.error
    if found.status:
        _check_status(resource["kind"], found.status)
    if not _PERIOD.fullmatch(found.period):
        raise FlawError(f"no period: {found.period!r}")
    reports = found.error or any(
        item.get("type") in ("Failed", "Stalled") or item.get("message")
        for item in found.status["conditions"]
    )
    if outcome.failure and not reports:
        raise FlawError(f"the status does not report: {outcome.failure}")


def _check_plan(resource: Json, plan: Json) -> None:
    home = home_of(resource["kind"])
    for manifest in (item for name in _WRITES for item in plan[name]):
        json.dumps(manifest, allow_nan=False)
        kind, metadata = manifest["kind"], manifest["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace")
        if not isinstance(name, str) or not name:
            raise FlawError(f"{kind} without a name: {name!r}")
        if kind != "Pod" and namespace != (home if KINDS[kind].is_namespaced else None):
            raise FlawError(f"{kind} {name} is of another namespace")
    if others := {item["kind"] for item in plan["evict"]} - {"Pod"}:
        raise FlawError(f"evicted: {sorted(others)}")
    for patch in plan["patch"]:
        for key, value in (patch["metadata"].get("labels") or {}).items():
            if value is not None and not _LABEL.fullmatch(value):
                raise FlawError(f"{patch['kind']} would get the label {key}={value}")
    keys = [(item["kind"], item["metadata"]["name"]) for item in plan["apply"]]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise FlawError(f"applied twice in one pass: {twice}")


def _check_status(kind: str, status: Json) -> None:
    schema = schema_of(kind, "status")
    if violations := find_violations(schema, status, "status"):
        raise FlawError(f"the API server would refuse the status: {violations[0]}")
    for spot in walk(schema, status, ("status",)):
        least, most = limits_of(spot.schema)
        if spot.schema.get("type") == "integer" and not least <= spot.value <= most:
            raise FlawError(f"{spot.place}: {spot.value} does not fit")
        if spot.schema.get("format") == "date-time" and not _TIME.fullmatch(spot.value):
            raise FlawError(f"{spot.place}: {spot.value} is not a time")
        if isinstance(spot.value, str):
            spot.value.encode()
    if (size := len(json.dumps(status))) > _MAX_STATUS:
        raise FlawError(f"the status has {size} bytes")


def replay(case: Json) -> Pass:
    """The pass of a case that was kept."""
    answers = case["answers"]
    return make_pass(case["resource"], lambda read: copy.deepcopy(answers.get(read.key)))


def signature(error: BaseException) -> str:
    """The identity of a finding: the error, and its last frame in our code."""
    if isinstance(error, FlawError):
        text = re.sub(r"\d+", "N", str(error.args[0]))
        return f"Flaw: {text[:70]}"
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "module_utils" in frame.filename]
    where = f"{ours[-1].filename.rpartition('module_utils/')[2]}:{ours[-1].name}" if ours else "?"
    return f"{type(error).__name__} in {where}"


def pass_of(error: BaseException) -> Pass | None:
    """The pass that an error of `make_pass` came from."""
    return next((item for item in error.args if isinstance(item, Pass)), None)
