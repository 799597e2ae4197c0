# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The harness of attacks: an operator, the scene of an attack, and all places that may have traces."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import time
import typing as t
import unicodedata
from dataclasses import dataclass

import yaml
from nimops_harness.cases import Cases, recording
from nimops_harness.cluster import Answer, Json, Kind, path_of
from nimops_harness.runtime import ROOT, Side
from nimops_harness.sandbox import Restartable, Sandbox
from nimops_harness.workload import conditions_of, create_namespace, make_nimservice

from .pack import Refusal
from .payloads import find_evaluated

KINDS: tuple[str, ...] = tuple(
    item["kind"] for item in yaml.safe_load((ROOT / "watches.yaml").read_text())
)
CHILDREN = (
    *("ConfigMap", "Deployment", "HTTPRoute", "HorizontalPodAutoscaler", "Ingress", "Job", "LeaderWorkerSet"),
    *("NIMService", "PersistentVolumeClaim", "Pod", "ResourceClaimTemplate", "Role", "RoleBinding", "Secret"),
    *("Service", "ServiceAccount"),
)  # fmt: skip
"""Kinds of children, in the order in which they are created."""

SEARCHED = {"Event", *KINDS, *CHILDREN} - {"Secret"}
"""Kinds that may have traces; canary secrets belong into Secrets."""

T = t.TypeVar("T")
_BIG = 64 << 20


def refusal_of(answer: Answer) -> Refusal | None:
    """The fields that a refusal names, with their errors; None if the request was accepted."""
    if answer.status < 300:
        return None
    causes = (answer.body.get("details") or {}).get("causes") or []
    texts = [(item.get("field") or "", item.get("message") or "") for item in causes]
    pairs = tuple((name or find_field(text), text) for name, text in texts)
    return Refusal(pairs or ((find_field(answer.refusal), answer.refusal),))


def find_field(said: str) -> str:
    """The field in the message of an admission policy, whose errors have no causes."""
    found = re.search(r"(?:^|: )((?:spec|metadata)(?:\.\w+|\[\])+): ", said)
    return found[1].replace("[]", "[0]") if found else ""


def messages_of(resource: Json) -> list[str]:
    """The messages of its conditions that have one."""
    return [item["message"] for item in conditions_of(resource) if item.get("message")]


class Harness(Restartable):
    """A cluster with an operator of one side, stock or prefork."""

    def __init__(self, sandbox: Sandbox, side: Side, quick: bool) -> None:
        super().__init__(sandbox, side)
        self.quick = quick
        self._namespaces: list[str] = []
        self.cluster = sandbox.api
        self.canary = sandbox.folder / "canary"
        shutil.rmtree(self.canary, ignore_errors=True)
        self.canary.mkdir(parents=True)
        self.canary.chmod(0o777)

    def create_namespace(self, name: str) -> str:
        """A new namespace with the Secrets of our samples; each round has its own."""
        self._namespaces.append(name)
        taken = self._namespaces.count(name)
        full = f"attack-{self.side}-{name}" + (f"-{taken}" if taken > 1 else "")
        create_namespace(self.cluster, full)
        return full

    def play(self, attack: Attack) -> tuple[bool, str]:
        """Whether an attack failed, and what was seen."""
        problems: list[str] = []
        fine = ""
        with recording(lambda error: problems.append(f"not completed: {error}")):
            self.ensure()
            fine = attack.run(Scene(self, attack.name, problems))
        if self.operator and not self.operator.is_running:
            problems.insert(0, "the operator ended")
        for path in self.canary.iterdir():
            path.unlink()
        problems = list(dict.fromkeys(problems))
        more = f" and {len(problems) - 4} more" if len(problems) > 4 else ""
        return not problems, "; ".join(problems[:4]) + more or fine


class Scene:
    """A namespace of an attack, its resources, and the problems so far."""

    def __init__(self, harness: Harness, name: str, problems: list[str]) -> None:
        self.harness, self.cluster = harness, harness.cluster
        self.side, self.quick, self.canary = harness.side, harness.quick, str(harness.canary)
        self.name = name
        self.problems = problems
        self.made: dict[str, list[str]] = {}
        self.namespace = harness.create_namespace(name)

    def open(self, name: str) -> Scene:
        """Another namespace of this attack."""
        return Scene(self.harness, f"{self.name}-{name}", self.problems)

    def expect(self, is_so: object, problem: str) -> None:
        if not is_so:
            self.problems.append(problem)

    def wait_for(
        self, is_so: t.Callable[[], T], limit: float = 60.0, pause: float = 0.2
    ) -> T | None:
        """The first true result of `is_so`; None when the time is up or the operator has ended."""
        end, operator = time.monotonic() + limit, self.harness.operator
        while not (found := is_so()):
            if time.monotonic() > end or (operator and not operator.is_running):
                return None
            time.sleep(pause)
        return found

    # --- objects of others -----------------------------------------------------------------------

    def path(self, kind: Kind, name: str = "") -> str:
        return path_of(kind, self.namespace, name)

    def find(self, kind: Kind, name: str) -> Json | None:
        return self.cluster.find(self.path(kind, name))

    def plant(self, kind: Kind, name: str, body: Json | None = None, **meta: t.Any) -> Json:
        """Create an object that is not ours."""
        whole = {**(body or {}), "metadata": {"name": name, **meta}}
        return self.cluster.request("POST", self.path(kind), whole)

    @property
    def events(self) -> list[Json]:
        return self.cluster.items("Event", self.namespace)

    def expect_untouched(self, kind: str, before: Json) -> None:
        """A problem if an object of another owner was changed, adopted or deleted."""
        name = before["metadata"]["name"]
        after = self.read(kind, name)
        is_same = after["metadata"].get("uid") == before["metadata"]["uid"] and (
            after.get("spec") == before.get("spec")
        )
        is_adopted = bool(after["metadata"].get("ownerReferences"))
        self.expect(is_same and not is_adopted, f"{kind} {name} of another owner was taken")

    # --- resources -------------------------------------------------------------------------------

    def post(self, resource: Json, query: str = "") -> Refusal | None:
        place = self.path(resource["kind"]) + query
        return refusal_of(self.cluster.ask("POST", place, resource))

    def dry_run(self, resource: Json) -> Refusal | None:
        return self.post(resource, "?dryRun=All")

    def create(self, resource: Json) -> Refusal | None:
        """Create a resource; without a refusal, it is among those that were made."""
        refusal = self.post(resource)
        if refusal is None:
            self.made.setdefault(resource["kind"], []).append(resource["metadata"]["name"])
        return refusal

    def make(self, *resources: Json) -> None:
        """Create resources; each refusal is a problem."""
        for item in resources:
            refusal = self.create(item)
            name = f"{item['kind']} {item['metadata']['name']}"
            self.expect(refusal is None, f"{name} is refused: {refusal}")

    def read(self, kind: str, name: str) -> Json:
        """An object; an empty one if it does not exist."""
        return self.find(kind, name) or {"metadata": {}}

    def status(self, kind: str, name: str) -> Json:
        return self.read(kind, name).get("status") or {}

    def change(self, name: str, change: Json, kind: str = "NIMService") -> Json:
        return self.cluster.patch(self.path(kind, name), change)

    def read_made(self) -> dict[str, Json]:
        """The resources that were made and still exist, by `Kind name`."""
        return {
            f"{kind} {item['metadata']['name']}": item
            for kind, names in self.made.items()
            for item in self.cluster.items(kind, self.namespace)
            if item["metadata"]["name"] in names
        }

    def wait_answered(self, limit: float = 90.0) -> list[str]:
        """The made resources that have no status for their current spec when the time is up."""
        made = {f"{kind} {name}" for kind, names in self.made.items() for name in names}

        def list_left() -> set[str]:
            return made - {
                place
                for place, item in self.read_made().items()
                if (item.get("status") or {}).get("observedGeneration")
                == item["metadata"]["generation"]
            }

        self.wait_for(lambda: not list_left(), limit)
        return sorted(list_left())

    def expect_answered(self, limit: float = 90.0) -> None:
        self.problems += [f"{place} got no status" for place in self.wait_answered(limit)]

    def wait_state(
        self, name: str, state: str = "Ready", limit: float = 60.0, kind: str = "NIMService"
    ) -> bool:
        return bool(self.wait_for(lambda: self.status(kind, name).get("state") == state, limit))

    def delete(self) -> None:
        """Ask for the deletion of all made resources."""
        for kind, names in self.made.items():
            for name in names:
                self.cluster.ask("DELETE", self.path(kind, name))

    def expect_deleted(self, limit: float = 90.0) -> None:
        """Delete all made resources; those that exist when the time is up are problems."""
        self.delete()
        self.wait_for(lambda: not self.read_made(), limit)
        self.problems += [f"{place} could not be deleted" for place in self.read_made()]
        self.made.clear()

    def expect_served(self, limit: float = 60.0) -> None:
        """A problem unless an ordinary NIMService becomes Ready and can be deleted."""
        place = self.path("NIMService", "bystander")
        if refusal := self.post(make_nimservice("bystander")):
            self.problems.append(f"an ordinary NIMService was refused: {refusal}")
            return
        is_ready = self.wait_state("bystander", limit=limit)
        self.expect(is_ready, f"an ordinary NIMService was not Ready after {limit:.0f} s")
        self.cluster.ask("DELETE", place)
        is_gone = self.wait_for(lambda: self.cluster.find(place) is None, limit)
        self.expect(is_gone, "an ordinary NIMService could not be deleted")

    # --- traces ----------------------------------------------------------------------------------

    def list_texts(self) -> t.Iterator[tuple[str, str]]:
        """Name and text of everything outside of Secrets: objects, logs, files in /tmp."""
        for kind in SEARCHED:
            answer = self.cluster.ask("GET", self.path(kind))
            for item in answer.body.get("items") or []:
                name = f"{kind}/{item['metadata']['name']}"
                yield name, json.dumps(item, ensure_ascii=False)
        yield from self.list_own_texts()

    def list_own_texts(self) -> t.Iterator[tuple[str, str]]:
        """The logs of operators, and the files in their /tmp."""
        for log in sorted(self.harness.sandbox.logs.glob(f"{self.side}-*.log")):
            yield f"log {log.name}", log.read_text(errors="replace")
        if operator := self.harness.operator:
            for name in operator.list_files():
                path = operator.tmp / name
                with contextlib.suppress(OSError):  # of files that disappear meanwhile
                    if path.is_file() and path.stat().st_size < _BIG:
                        yield f"file {name}", path.read_text(errors="replace")

    def expect_printable(self, name: str, *texts: str) -> None:
        """Problems are control characters, except line feeds, in conditions and events."""
        said = [*texts, *messages_of(self.read("NIMService", name))]
        for text in [*said, *(item.get("message") or "" for item in self.events)]:
            odd = [c for c in text if unicodedata.category(c) in ("Cc", "Cf") and c != "\n"]
            self.expect(not odd, f"{name}: control characters in {text[:40]!r}")

    def expect_unevaluated(self) -> None:
        """Problems are files that a payload created, and templates that were evaluated."""
        folders = [self.harness.canary.iterdir()]
        if self.harness.operator:
            folders.append(self.harness.operator.tmp.glob("t?????????"))
        self.problems += [f"a command ran: {path.name}" for found in folders for path in found]
        self.problems += [
            f"a template was evaluated: {token} in {where}"
            for where, text in self.list_texts()
            for token in find_evaluated(text)
        ]


@dataclass(frozen=True)
class Attack:
    """`run` gets a Scene, and returns what is seen without problems; it raises an error if it could not take place."""

    name: str
    expected: str
    run: t.Callable[[Scene], str]
    sides: tuple[str, ...] = ("prefork", "stock")
    quick: bool = False


ATTACKS = Cases(Attack)
attack = ATTACKS.add
