# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The steps of a case; the first one whose outcome differs raises HarnessError."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import typing as t
from pathlib import Path

from nimops_harness.cluster import APPLY, MERGE, Json
from nimops_harness.errors import HarnessError
from nimops_harness.progress import Deadline, wait_until
from nimops_harness.runtime import ContainedOperator
from nimops_harness.sandbox import Restartable, Sandbox

from .objects import Objects, trim
from .patterns import Pattern, find_mismatches, is_words

SECONDS = 60.0
PAUSE = 0.3
STEADY_SECONDS = 2.0
OPERANDS = "nimops-system"
OPTION = {"as": "manager", "with": "change"}
"""Options whose names are words of Python, or say too little here."""
PASS = re.compile(r'"\[playbook task start\]","name":"([^"]*)","namespace":"([^"]*)"')
"""A pass is one task; the log has no line of its own for the end of one that failed."""
QUIET = {
    "ANSIBLE_STDOUT_CALLBACK": "nimops.nim.pipe",
    "ANSIBLE_LOCALHOST_WARNING": "false",
    "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
}


class RunningOperator(Restartable):
    """The operator of the run, and its log."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(sandbox, LEAST_PRIVILEGE="1", REPLACE_CRDS="1")

    def ensure(self) -> ContainedOperator:
        """HarnessError if it has ended by itself."""
        self.check()
        return super().ensure()

    def check(self) -> None:
        if self.operator:
            self.operator.check()

    @property
    def is_idle(self) -> bool:
        """Whether no pass is in progress."""
        return self.operator is not None and self.operator.metrics.read().running == 0

    def read_log(self) -> str:
        return self.operator.log.read_text(errors="replace") if self.operator else ""


class Play:
    """A case in progress, in a namespace and a folder of its own.

    `hidden` objects are created again at its end, `cluster_wide` ones are deleted.
    """

    def __init__(self, objects: Objects, operator: RunningOperator, folder: Path) -> None:
        self.objects = objects
        self.operator = operator
        self.folder = folder
        self.hidden: list[Json] = []
        self.cluster_wide: list[str] = []
        self._log_start = len(operator.read_log())

    def run(self, steps: t.Iterable[Json]) -> None:
        for number, step in enumerate(steps, 1):
            verb, subject = next(iter(step.items()))
            options = {OPTION.get(key, key): part for key, part in step.items() if key != verb}
            try:
                getattr(self, f"step_{verb}")(subject, **options)
            except HarnessError as error:
                raise HarnessError(f"step {number}, {verb}: {error}") from error

    # --- changes ---------------------------------------------------------------------------------

    def step_create(
        self, bodies: list[Json], strict: bool = False, refused: Pattern = None
    ) -> None:
        for body in bodies:
            place, full = self.objects.complete(body)
            self._change("POST", place + _query(strict), full, "", refused)
            if not self.objects.kind(body["kind"]).is_namespaced:
                self.cluster_wide.append(f"{body['kind']}/{body['metadata']['name']}")

    def step_apply(
        self, bodies: list[Json], manager: str = "kubectl", strict: bool = False, refused: Pattern = None
    ) -> None:  # fmt: skip
        for body in bodies:
            place, full = self.objects.complete(body)
            query = f"{_query(strict)}&fieldManager={manager}"
            self._change("PATCH", f"{place}/{body['metadata']['name']}{query}", full, APPLY, refused)  # fmt: skip

    def step_patch(
        self, reference: str, change: Json, status: bool = False, refused: Pattern = None
    ) -> None:
        place = self.objects.path(reference) + ("/status" if status else "")
        self._change("PATCH", place, change, MERGE, refused)

    def _change(self, method: str, place: str, body: Json, kind: str, refused: Pattern) -> None:
        found = self.objects.send(method, place, body, kind)
        if bool(found) != (refused is not None):
            raise HarnessError(f"refused: {found}" if found else "not refused")
        if refused is not None:
            texts = {"$has": refused} if isinstance(refused, str) else refused
            _raise(find_mismatches(texts, found, "the refusal"))

    def step_delete(self, reference: str, wait: bool = True) -> None:
        for item in self.objects.select(reference):
            exact = "/".join([*reference.split("/")[:-1], item["metadata"]["name"]])
            self.objects.send("DELETE", self.objects.path(exact))
        if wait:
            self.step_expect({reference: "none"})

    def step_hide(self, reference: str) -> None:
        self.hidden += map(trim, self.objects.select(reference))
        self.step_delete(reference)

    def step_restore(self, reference: str) -> None:
        shown = [item for item in self.hidden if reference.endswith(f"/{item['metadata']['name']}")]
        self.hidden = [item for item in self.hidden if item not in shown]
        for item in shown:
            self._change("POST", self.objects.complete(item)[0], item, "", None)

    def step_operator(self, action: str) -> None:
        if action == "stop":
            self.operator.stop()
        else:
            self.operator.ensure()
        self._log_start = 0

    def step_repeat(self, times: int, steps: list[Json]) -> None:
        for _ in range(times):
            self.run(steps)

    # --- checks ----------------------------------------------------------------------------------

    def step_expect(
        self,
        patterns: Json,
        within: float = SECONDS,
        holds: float = 0.0,
        meanwhile: Json | None = None,
    ) -> None:
        """Wait until all match, and for `holds` seconds; `meanwhile` must match until then."""
        deadline = Deadline(within, "expected")
        while problems := self._judge(patterns):
            if (early := self._judge(meanwhile or {})) and self._judge(patterns):
                _raise(early, "meanwhile, ")
            self.operator.check()
            if not deadline.left:
                problems += self._describe(patterns)
            deadline.check("; ".join(problems))
            time.sleep(PAUSE)
        end = Deadline(holds, "")
        while end.left:
            time.sleep(PAUSE)
            _raise(self._judge(patterns), "no longer: ")

    def _judge(self, patterns: Json) -> list[str]:
        problems: list[str] = []
        for reference, pattern in patterns.items():
            try:
                found = self.objects.select(reference)
            except HarnessError as error:  # a kind whose CRD is new is served a moment later
                problems.append(str(error))
            else:
                problems += find_mismatches(as_list_pattern(pattern), found, reference)
        return problems

    def _describe(self, patterns: Json) -> list[str]:
        """The messages of our resources among these objects."""
        return [
            f"{item['metadata']['name']} says {condition['message']}"
            for reference in patterns
            for item in self.objects.select(reference)
            for condition in (item.get("status") or {}).get("conditions") or []
            if condition.get("message") and "nvidia.com" in item["apiVersion"]
        ]

    def step_settled(self, references: list[str]) -> None:
        """Another pass over these resources writes nothing."""
        before = self._wait_until_steady()
        counts = {reference: self._count_passes(reference) for reference in references}
        for reference in references:
            change = {"metadata": {"annotations": {"reports.nimops/poke": str(time.time())}}}
            poked = self.objects.api.patch(self.objects.path(reference), change)
            kind, namespace, name = self.objects.parse(reference)
            before[f"{kind.name}/{namespace or '-'}/{name}"] = poked["metadata"]["resourceVersion"]

        def is_done() -> bool:
            began = all(self._count_passes(name) > count for name, count in counts.items())
            return began and self.operator.is_idle

        wait_until(is_done, f"a pass over {', '.join(references)}", SECONDS, self.operator.check)
        time.sleep(PAUSE)
        after = self.objects.read_versions(OPERANDS)
        if written := _list_changes(before, after):
            raise HarnessError(f"another pass wrote {written}")

    def _wait_until_steady(self) -> dict[str, str]:
        deadline = Deadline(SECONDS, "a cluster in which nothing changes")
        after = self.objects.read_versions(OPERANDS)
        while True:
            before = after
            time.sleep(STEADY_SECONDS)
            after = self.objects.read_versions(OPERANDS)
            if before == after:
                return after
            deadline.check(_list_changes(before, after))

    def step_passes(self, reference: str, within: float, most: int) -> None:
        before = self._count_passes(reference)
        time.sleep(within)
        if (count := self._count_passes(reference) - before) > most:
            raise HarnessError(f"{count} passes over {reference} in {within:g} s, not {most}")

    def _count_passes(self, reference: str) -> int:
        _kind, namespace, name = self.objects.parse(reference)
        return PASS.findall(self.operator.read_log()).count((name, namespace))

    def step_log(self, pattern: Pattern) -> None:
        """The log since the case, or the operator, started."""
        _raise(find_mismatches(pattern, self.operator.read_log()[self._log_start :], "the log"))

    def step_run(
        self, playbook: str, file: str = "", variables: Json | None = None, code: int = 0, output: Pattern = None
    ) -> None:  # fmt: skip
        """Run a playbook of users; `file` is the text of its input."""
        given = dict(variables or {})
        if file:
            path = self.folder / "input.yaml"
            path.write_text(file)
            given |= {"files": str(path), "nim_namespace": self.objects.namespace}
        done = subprocess.run(
            ["ansible-playbook", f"nimops.nim.{playbook}", "-e", json.dumps(given)],
            capture_output=True, text=True, check=False, env=os.environ | QUIET,
        )  # fmt: skip
        text = done.stdout + done.stderr
        if done.returncode != code:
            raise HarnessError(f"exit code {done.returncode}, not {code}: {text[-800:]}")
        if output is not None:
            _raise(find_mismatches(output, text, "the output"))


def as_list_pattern(pattern: Pattern) -> Pattern:
    """The pattern of a list of objects: `none`, words, or what one object must match."""
    if pattern == "none":
        return {"$count": 0}
    return pattern if is_words(pattern) or isinstance(pattern, list) else [pattern]


def _raise(problems: list[str], prefix: str = "") -> None:
    if problems:
        raise HarnessError(prefix + "; ".join(problems))


def _list_changes(before: dict[str, str], after: dict[str, str]) -> str:
    changed = (name for name in {*before, *after} if before.get(name) != after.get(name))
    return ", ".join(sorted(changed))


def _query(strict: bool) -> str:
    return f"?fieldValidation={'Strict' if strict else 'Warn'}"
