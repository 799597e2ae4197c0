# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The command: make fuzz."""

from __future__ import annotations

import argparse
import json
import re
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ansible_collections.nimops.nim.plugins.module_utils._base.reserved_keys import (
    remove_reserved_keys,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.loader import stored
from ansible_collections.nimops.nim.plugins.module_utils._commands.schema import (
    find_violations,
    schema_of,
)
from nimops_harness.cases import make_parser, print_table
from nimops_harness.cluster import Json
from nimops_harness.errors import HarnessError
from nimops_harness.progress import say

from .chain import pass_of, signature
from .cluster import Cluster, batches
from .draws import draw_many
from .malformed import Malformed, malformed
from .schema import KINDS
from .strategies import resources
from .trial import play, reduce, settle, surroundings

_BATCH = 50
_MAX_DRAWN = 8
"""Resources that are generated at most for one that the API server accepts."""


@dataclass
class Tally:
    """The results of one kind; ``findings``: finding → how often."""

    name: str
    wanted: int
    generated: int = 0
    refused: int = 0
    served: int = 0
    raised: int = 0
    findings: dict[str, int] = field(default_factory=dict)
    refusals: dict[str, list[str]] = field(default_factory=dict)
    unserved: int = 0

    @property
    def ok(self) -> bool:
        """Whether enough cases ran and all had an allowed outcome."""
        return not self.findings and self.refused + self.served >= self.wanted

    def to_result(self) -> Json:
        """The object in build/fuzz/results.json."""
        seen = (
            f"{self.generated} generated, {self.refused} refused, {self.served} served,"
            f" {self.raised} raised"
        )
        expected = (
            f"{self.wanted} refused by a message that names the field, or served; none raises"
        )
        refusals = {key: len(texts) for key, texts in sorted(self.refusals.items())}
        return {
            "name": self.name, "expected": expected, "seen": seen, "ok": self.ok,
            "findings": self.findings, "children_refused": refusals,
        }  # fmt: skip


class Fuzz:
    """One run over all kinds."""

    def __init__(self, cluster: Cluster, number: int, output: Path) -> None:
        self._cluster = cluster
        self._seed = number
        self._cases = output / "cases"
        self.tallies: list[Tally] = []

    def fuzz_malformed(self, kind: str, wanted: int) -> None:
        """Resources that are malformed in one place."""
        tally = self._begin(f"{kind}, malformed", wanted)
        for batch in batches(draw_many(malformed(kind), self._seed), min(wanted, _BATCH)):
            answers = self._cluster.create_all(item.resource for item in batch)
            for item, (found, why) in zip(batch, answers, strict=True):
                if tally.generated >= wanted:
                    return
                tally.generated += 1
                if found is None:
                    self._judge_refusal(tally, item, why)
                else:
                    self._serve(tally, found, draw_one(surroundings(kind), self._seed), None)

    def fuzz_odd(self, kind: str, wanted: int) -> None:
        """Resources that are valid, but odd."""
        tally = self._begin(f"{kind}, odd", wanted)
        around = draw_many(surroundings(kind), self._seed)
        for batch in batches(draw_many(resources(kind), self._seed), min(wanted, _BATCH)):
            for sent, (found, _why) in zip(batch, self._cluster.create_all(batch), strict=True):
                if tally.served + tally.raised >= wanted or tally.generated > _MAX_DRAWN * wanted:
                    return
                tally.generated += 1
                if found is None:
                    tally.refused += 1
                    continue
                self._compare(tally, sent, found)
                self._serve(tally, found, next(around), self._cluster)

    def _begin(self, name: str, wanted: int) -> Tally:
        say(name)
        self.tallies.append(Tally(name, wanted))
        return self.tallies[-1]

    def _judge_refusal(self, tally: Tally, item: Malformed, why: str) -> None:
        if any(name in why for name in item.names):
            tally.refused += 1
        else:
            self._note(
                tally, f"refused without the field: {item.what} of {item.where}: {why[:150]}"
            )

    def _compare(self, tally: Tally, sent: Json, found: Json) -> None:
        """Check that the verbs without a cluster agree with the API server."""
        kind = sent["kind"]
        if faults := find_violations(schema_of(kind), sent):
            self._note(tally, f"render refuses what is accepted: {_plain(faults[0])}")
            return
        spec = stored(sent)["spec"]
        remove_reserved_keys(spec)  # as in what was found
        if spec != found["spec"]:
            where = ".".join(_first_difference(spec, found["spec"]))
            self._note(tally, f"render fills in otherwise: {where}")

    def _serve(
        self, tally: Tally, found: Json, around: tuple[Json, Json, int], cluster: Cluster | None
    ) -> None:
        trial = settle(found, around)
        write = None
        if cluster:
            write = lambda simulated: cluster.writer(simulated, tally.refusals)  # noqa: E731
        try:
            passes = play(trial, write)
            tally.served += 1
            tally.unserved += bool(passes[-1].error)
        except Exception as error:
            if isinstance(error, HarnessError):
                raise
            tally.raised += 1
            self._keep(tally, error)

    def _keep(self, tally: Tally, error: Exception) -> None:
        """Keep the finding, and the smallest case that reproduces it."""
        found = signature(error)
        if self._note(tally, found) and (done := pass_of(error)):
            case = reduce(done.to_case(found), found)
            self._cases.mkdir(parents=True, exist_ok=True)
            file = self._cases / f"{re.sub(r'[^a-z0-9]+', '-', found.lower()).strip('-')}.json"
            file.write_text(json.dumps(case, indent=2, sort_keys=True) + "\n")
            say(f"FOUND: {found}: {file}")

    def _note(self, tally: Tally, found: str) -> bool:
        """Count a finding, and return whether it is new."""
        tally.findings[found] = tally.findings.get(found, 0) + 1
        return tally.findings[found] == 1


def draw_one(strategy: t.Any, number: int) -> t.Any:
    """One value of a strategy that is not the simplest one."""
    values = draw_many(strategy, number)
    next(values)
    return next(values)


def _plain(fault: str) -> str:
    return re.sub(r"\[\d+\]", "[]", fault)[:150]


def _first_difference(left: t.Any, right: t.Any) -> list[str]:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted({*left, *right}):
            if key not in left or key not in right:
                return [key]
            if left[key] != right[key]:
                return [key, *_first_difference(left[key], right[key])]
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for one, other in zip(left, right, strict=True):
            if one != other:
                return _first_difference(one, other)
    return []


def parse_arguments(argv: t.Sequence[str] | None = None) -> argparse.Namespace:
    parser = make_parser(
        "fuzz",
        "Malformed and odd resources, generated from the CRDs' schemas, against the API server"
        " of $KUBECONFIG and through the pure functions. Writes nothing but a namespace and CRDs.",
        "0 all were refused or served; 1 some were not",
    )
    parser.add_argument("--seed", type=int, default=1, help="another seed gives other resources")
    parser.add_argument("--count", type=int, default=1000, help="of each kind and sort")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    return parser.parse_args(argv)


def run(options: argparse.Namespace) -> int:
    fuzz = None
    try:
        cluster = Cluster()
        cluster.prepare()
        fuzz = Fuzz(cluster, options.seed, options.output)
        for kind in options.kinds:
            fuzz.fuzz_malformed(kind, options.count)
            fuzz.fuzz_odd(kind, options.count)
    finally:
        if fuzz:
            write_results(fuzz.tallies, options.output)
    return 0 if all(item.ok for item in fuzz.tallies) else 1


def write_results(tallies: t.Sequence[Tally], folder: Path) -> None:
    """Write the files and print the table, also of an interrupted run."""
    folder.mkdir(parents=True, exist_ok=True)
    results = [item.to_result() for item in tallies]
    (folder / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    examples = {key: texts[0] for item in tallies for key, texts in item.refusals.items()}
    (folder / "refusals.json").write_text(json.dumps(examples, indent=2, sort_keys=True) + "\n")
    header = (
        "",
        "",
        "generated",
        "refused",
        "served",
        "raised",
        "served with an error",
        "findings",
    )
    rows = []
    for item in tallies:
        numbers = (item.generated, item.refused, item.served, item.raised, item.unserved)
        findings = "; ".join(f"{count} x {what}" for what, count in item.findings.items())
        if not item.ok and not findings:
            findings = f"fewer than {item.wanted} could be tried"
        rows.append(("ok" if item.ok else "NOT", item.name, *map(str, numbers), findings))
    print_table(header, rows)
    say(f"written: {folder}/results.json, refusals.json")
