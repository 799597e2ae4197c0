# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The harness of attacks: a cluster, an operator, and all places that may have traces."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from nimops_harness.cluster import Api
from nimops_harness.errors import HarnessError
from nimops_harness.progress import Deadline
from nimops_harness.runtime import ROOT, ContainedOperator, Side
from nimops_harness.sandbox import Sandbox
from nimops_harness.workload import create_namespace, make_nimservice

from .bases import read_bases
from .fields import Json, read_crds
from .pack import Refusal
from .payloads import find_evaluated

GROUP = "/apis/apps.nvidia.com/v1alpha1"
KINDS: tuple[str, ...] = tuple(
    item["kind"] for item in yaml.safe_load((ROOT / "watches.yaml").read_text())
)
SEARCHED = (
    *(f"{GROUP}/{kind.lower()}s" for kind in KINDS),
    "/api/v1/configmaps",
    "/api/v1/events",
    "/api/v1/persistentvolumeclaims",
    "/api/v1/pods",
    "/api/v1/serviceaccounts",
    "/api/v1/services",
    "/apis/apps/v1/deployments",
    "/apis/autoscaling/v2/horizontalpodautoscalers",
    "/apis/batch/v1/jobs",
    "/apis/gateway.networking.k8s.io/v1/httproutes",
    "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets",
    "/apis/networking.k8s.io/v1/ingresses",
    "/apis/rbac.authorization.k8s.io/v1/roles",
    "/apis/resource.k8s.io/v1/resourceclaimtemplates",
)
"""Collections that may have traces; canary secrets belong into Secrets."""

_BIG = 64 << 20


class Cluster(Api):
    """The API server, with its refusals."""

    def ask(self, method: str, path: str, body: Json | None = None, kind: str = "") -> Answer:
        status, text = self.exchange(method, path, body, kind)
        return Answer(status, json.loads(text or b"{}"))

    def merge(self, path: str, change: Json) -> Answer:
        """The answer to a merge patch."""
        return self.ask("PATCH", path, change, "application/merge-patch+json")


@dataclass(frozen=True)
class Answer:
    status: int
    body: Json

    @property
    def refusal(self) -> Refusal | None:
        if self.status < 300:
            return None
        causes = (self.body.get("details") or {}).get("causes") or []
        said = str(self.body.get("message") or self.status)
        texts = [(item.get("field") or "", item.get("message") or "") for item in causes]
        pairs = tuple((name or find_field(text), text) for name, text in texts)
        return Refusal(pairs or ((find_field(said), said),))


def find_field(said: str) -> str:
    """The field that the message of a policy names, as a policy has no causes."""
    found = re.search(r"(?:^|: )((?:spec|metadata)(?:\.\w+|\[\])+): ", said)
    return found[1].replace("[]", "[0]") if found else ""


def path_to(kind: str, namespace: str, name: str = "") -> str:
    return f"{GROUP}/namespaces/{namespace}/{kind.lower()}s" + (f"/{name}" if name else "")


@dataclass
class Harness:
    """A cluster with an operator of one side, stock or prefork."""

    sandbox: Sandbox
    side: Side
    quick: bool
    operator: ContainedOperator | None = None
    starts: int = 0
    shared: dict[str, t.Any] = field(default_factory=dict)
    _namespaces: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cluster = Cluster()
        self.crds = read_crds(ROOT / "config" / "crd" / "bases")
        self.bases = read_bases(ROOT / "config" / "samples")
        self.canary = self.sandbox.folder / "canary"
        shutil.rmtree(self.canary, ignore_errors=True)
        self.canary.mkdir(parents=True)
        self.canary.chmod(0o777)

    # --- the operator --------------------------------------------------------------------------

    def start(self, **environment: str) -> ContainedOperator:
        """Start an operator; HarnessError if it does not become ready."""
        self.stop()
        self.starts += 1
        name = f"{self.side}-{self.starts}"
        os.environ.update(environment)
        try:
            self.operator = self.sandbox.start_operator(name, self.side)
        finally:
            for key in environment:
                os.environ.pop(key, None)
        self.operator.wait_until_ready()
        return self.operator

    def stop(self) -> None:
        if self.operator:
            self.operator.stop()
            self.operator = None

    def ensure(self) -> ContainedOperator:
        """The operator; it is started if none runs."""
        if self.operator and self.operator.is_running:
            return self.operator
        return self.start()

    # --- resources -----------------------------------------------------------------------------

    def namespace(self, name: str) -> str:
        """A new namespace with the Secrets of our samples; each round has its own."""
        taken = self._namespaces[name] = self._namespaces.get(name, 0) + 1
        full = f"attack-{self.side}-{name}" + (f"-{taken}" if taken > 1 else "")
        create_namespace(self.cluster, full)
        return full

    def dry_run(self, namespace: str) -> t.Callable[[Json], Refusal | None]:
        def ask(resource: Json) -> Refusal | None:
            place = path_to(resource["kind"], namespace)
            return self.cluster.ask("POST", f"{place}?dryRun=All", resource).refusal

        return ask

    def create(self, namespace: str, resource: Json, query: str = "") -> Refusal | None:
        place = path_to(resource["kind"], namespace) + query
        return self.cluster.ask("POST", place, resource).refusal

    def read(self, kind: str, namespace: str, name: str) -> Json | None:
        return self.cluster.find(path_to(kind, namespace, name))

    def wait_for(
        self, what: str, is_so: t.Callable[[], t.Any], limit: float = 60.0, pause: float = 0.2
    ) -> t.Any:
        """The first true result of `is_so`; None when the time is up or the operator has ended."""
        deadline = Deadline(limit, what)
        while True:
            if found := is_so():
                return found
            if not deadline.left:
                return None
            if self.operator and not self.operator.is_running:
                return None
            time.sleep(pause)

    def wait_answered(
        self, kind: str, namespace: str, names: t.Iterable[str], limit: float = 90.0
    ) -> list[str]:
        """Names of resources that have no status for their current spec when the time is up."""
        left = set(names)

        def look() -> bool:
            left.difference_update(
                [
                    item["metadata"]["name"]
                    for item in self.cluster.get(path_to(kind, namespace))["items"]
                    if (item.get("status") or {}).get("observedGeneration")
                    == item["metadata"]["generation"]
                ]
            )
            return not left

        self.wait_for(f"a status of {', '.join(left)}", look, limit)
        return sorted(left)

    def find_unanswered(
        self, kind: str, namespace: str, names: t.Iterable[str], limit: float = 90.0
    ) -> list[str]:
        """Problems with resources that have no status for their spec when the time is up."""
        left = self.wait_answered(kind, namespace, names, limit)
        return [f"{kind} {name} got no status" for name in left]

    def wait_state(
        self, kind: str, namespace: str, name: str, state: str = "Ready", limit: float = 60.0
    ) -> Json | None:
        def look() -> Json | None:
            found = self.read(kind, namespace, name)
            is_there = ((found or {}).get("status") or {}).get("state") == state
            return found if is_there else None

        return t.cast("Json | None", self.wait_for(f"{name} {state}", look, limit))

    def wait_gone(self, kind: str, namespace: str, name: str, limit: float = 60.0) -> bool:
        gone = self.wait_for(
            f"deletion of {name}", lambda: self.read(kind, namespace, name) is None, limit
        )
        return bool(gone)

    def find_undeleted(
        self, kind: str, namespace: str, names: t.Iterable[str], limit: float = 90.0
    ) -> list[str]:
        """Delete resources; problems with those that exist when the time is up."""
        left = self.delete_all(kind, namespace, list(names), limit)
        return [f"{kind} {name} could not be deleted" for name in left]

    def read_status(self, kind: str, namespace: str, name: str) -> Json:
        """The status of a resource, empty if there is none."""
        return (self.read(kind, namespace, name) or {}).get("status") or {}

    def delete_all(
        self, kind: str, namespace: str, names: t.Sequence[str], limit: float = 90.0
    ) -> list[str]:
        """Names of resources that exist when the time is up."""
        for name in names:
            self.cluster.ask("DELETE", path_to(kind, namespace, name))

        def list_left() -> list[str]:
            items = self.cluster.get(path_to(kind, namespace))["items"]
            return sorted({item["metadata"]["name"] for item in items}.intersection(names))

        self.wait_for("deletions", lambda: not list_left(), limit)
        return list_left()

    def delete(self, kind: str, namespace: str, name: str, limit: float = 60.0) -> bool:
        """Whether it could be deleted, with its finalizer."""
        with contextlib.suppress(HarnessError):
            self.cluster.request("DELETE", path_to(kind, namespace, name))
        return self.wait_gone(kind, namespace, name, limit)

    def find_unserved(self, namespace: str, limit: float = 60.0) -> list[str]:
        """The problem with an ordinary NIMService, if it does not become Ready or cannot be deleted."""
        wrong = self.serves(namespace, limit=limit)
        return [wrong] if wrong else []

    def serves(self, namespace: str, name: str = "bystander", limit: float = 60.0) -> str:
        """Empty if an ordinary NIMService becomes Ready and can be deleted, else the problem."""
        began = time.monotonic()
        if refusal := self.create(namespace, make_nimservice(name)):
            return f"an ordinary NIMService was refused: {refusal}"
        if not self.wait_state("NIMService", namespace, name, limit=limit):
            return f"an ordinary NIMService was not Ready after {time.monotonic() - began:.0f} s"
        if not self.delete("NIMService", namespace, name, limit):
            return "an ordinary NIMService could not be deleted"
        return ""

    # --- traces --------------------------------------------------------------------------------

    def list_texts(self, namespace: str) -> t.Iterator[tuple[str, str]]:
        """Name and text of everything outside of Secrets: objects, logs, files in /tmp."""
        for collection in SEARCHED:
            head, _, resource = collection.rpartition("/")
            answer = self.cluster.ask("GET", f"{head}/namespaces/{namespace}/{resource}")
            for item in answer.body.get("items") or []:
                yield f"{resource}/{item['metadata']['name']}", json.dumps(item, ensure_ascii=False)
        yield from self.list_own_texts()

    def list_own_texts(self) -> t.Iterator[tuple[str, str]]:
        """The logs of operators, and the files in their /tmp."""
        for log in sorted(self.sandbox.logs.glob(f"{self.side}-*.log")):
            yield f"log {log.name}", log.read_text(errors="replace")
        if self.operator:
            yield from read_folder(self.operator.tmp)

    def evaluated(self, namespace: str) -> list[str]:
        """Traces of payloads: files that they created, templates that were evaluated."""
        found = [f"a command ran: {path.name}" for path in sorted(self.canary.iterdir())]
        if self.operator:
            found += [
                f"a file in /tmp: {path.name}" for path in self.operator.tmp.glob("t?????????")
            ]
        for where, text in self.list_texts(namespace):
            found += [
                f"a template was evaluated: {token} in {where}" for token in find_evaluated(text)
            ]
        return found

    def clear_canary(self) -> None:
        for path in self.canary.iterdir():
            path.unlink()


def read_folder(folder: Path) -> t.Iterator[tuple[str, str]]:
    """Small files below a folder, without those that disappear meanwhile."""
    for base, _folders, names in os.walk(folder):
        for name in names:
            path = Path(base) / name
            with contextlib.suppress(OSError):
                if path.is_file() and path.stat().st_size < _BIG:
                    yield f"file {path.relative_to(folder)}", path.read_text(errors="replace")


@dataclass(frozen=True)
class Seen:
    """The outcome of an attack."""

    ok: bool
    text: str

    @classmethod
    def of(cls, problems: t.Sequence[str], fine: str) -> t.Self:
        """Fine if there are no problems."""
        more = f" and {len(problems) - 4} more" if len(problems) > 4 else ""
        return cls(not problems, "; ".join(problems[:4]) + more if problems else fine)


@dataclass(frozen=True)
class Attack:
    """One row. `prepare` runs before the operator starts, `run` while it works."""

    name: str
    expected: str
    run: t.Callable[[Harness], Seen]
    prepare: t.Callable[[Harness], None] | None = None
    sides: tuple[str, ...] = ("prefork", "stock")
    quick: bool = False


ATTACKS: list[Attack] = []


def attack(
    name: str, expected: str, **options: t.Any
) -> t.Callable[[t.Callable[[Harness], Seen]], t.Callable[[Harness], Seen]]:
    """Add a function to ATTACKS."""

    def add(run: t.Callable[[Harness], Seen]) -> t.Callable[[Harness], Seen]:
        ATTACKS.append(Attack(name, expected, run, **options))
        return run

    return add
