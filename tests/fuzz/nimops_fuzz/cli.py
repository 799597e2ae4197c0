# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The command: make fuzz."""

from __future__ import annotations

import argparse
import json
import re
import typing as t
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from ansible_collections.nimops.nim.plugins.module_utils._base.reserved_keys import (
    remove_reserved_keys,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.loader import stored
from ansible_collections.nimops.nim.plugins.module_utils._commands.schema import (
    find_violations,
    schema_of,
)
from nimops_harness.cases import Row, Rows, make_parser
from nimops_harness.cluster import Json
from nimops_harness.errors import HarnessError
from nimops_harness.progress import say

from .chain import pass_of, signature
from .cluster import Cluster
from .schema import KINDS
from .strategies import draw_many, resources
from .trial import Surroundings, play, surroundings

_BATCH = 50
_MAX_DRAWN = 8
"""Resources that are generated at most for one that the API server accepts."""


@dataclass
class Tally:
    """The results of one kind; ``findings``: finding → how often."""

    generated: int = 0
    refused: int = 0
    served: int = 0
    raised: int = 0
    unserved: int = 0
    findings: Counter[str] = field(default_factory=Counter)

    def to_row(self, kind: str, wanted: int) -> Row:
        """The row in build/fuzz/results.json."""
        seen = (
            f"{self.generated} generated, {self.refused} refused, {self.served} served, of which "
            f"{self.unserved} with an error, {self.raised} raised"
        )
        findings = "".join(f"; {count} x {what}" for what, count in self.findings.items())
        expected = f"{wanted} served; none raises, and each refusal names a field"
        return Row(kind, expected, seen + findings, not findings and self.served >= wanted)


class Fuzz:
    """One run over all kinds."""

    def __init__(self, cluster: Cluster, number: int, output: Path) -> None:
        self._cluster = cluster
        self._seed = number
        self._cases = output / "cases"

    def fuzz(self, kind: str, wanted: int) -> Tally:
        """Serve so many resources of a kind that the API server accepts."""
        say(kind)
        tally = Tally()
        around = draw_many(surroundings(kind), self._seed)
        drawn = draw_many(resources(kind), self._seed)
        while tally.served + tally.raised < wanted and tally.generated < _MAX_DRAWN * wanted:
            batch = list(islice(drawn, min(wanted, _BATCH)))
            for sent, (found, why) in zip(batch, self._cluster.create_all(batch), strict=True):
                tally.generated += 1
                if found:
                    self._compare(tally, sent, found)
                    self._serve(tally, found, next(around))
                    continue
                tally.refused += 1
                if not re.search(r"\b(spec|metadata)\b", why):
                    self._note(tally, f"refused without a field: {why[:150]}")
        return tally

    def _compare(self, tally: Tally, sent: Json, found: Json) -> None:
        """Check that the verbs without a cluster agree with the API server."""
        if violations := find_violations(schema_of(sent["kind"]), sent):
            text = re.sub(r"\[\d+\]", "[]", violations[0])
            self._note(tally, f"render refuses what is accepted: {text[:150]}")
            return
        spec = stored(sent)["spec"]
        remove_reserved_keys(spec)  # as in what was found
        for name in sorted({*spec, *found["spec"]}):
            if spec.get(name) != found["spec"].get(name):
                self._note(tally, f"render fills in otherwise: spec.{name}")

    def _serve(self, tally: Tally, found: Json, around: Surroundings) -> None:
        try:
            passes = play(found, around, self._cluster.writer)
        except HarnessError:
            raise
        except Exception as error:
            tally.raised += 1
            self._keep(tally, error)
        else:
            tally.served += 1
            tally.unserved += bool(passes[-1].error)

    def _keep(self, tally: Tally, error: Exception) -> None:
        """Keep the finding, and the pass that reproduces it."""
        found = signature(error)
        if self._note(tally, found) and (done := pass_of(error)):
            self._cases.mkdir(parents=True, exist_ok=True)
            file = self._cases / f"{re.sub(r'[^a-z0-9]+', '-', found.lower()).strip('-')}.json"
            file.write_text(json.dumps(done.to_case(found), indent=2, sort_keys=True) + "\n")
            say(f"FOUND: {found}: {file}")

    def _note(self, tally: Tally, found: str) -> bool:
        """Count a finding, and return whether it is new."""
        tally.findings[found] += 1
        return tally.findings[found] == 1


def parse_arguments(argv: t.Sequence[str] | None = None) -> argparse.Namespace:
    parser = make_parser(
        "fuzz",
        "Odd resources, generated from the CRDs' schemas, against the API server of $KUBECONFIG"
        " and through the pure functions. Writes nothing but two namespaces and CRDs.",
        "0 enough were served; 1 some were not",
    )
    parser.add_argument("--seed", type=int, default=1, help="another seed gives other resources")
    parser.add_argument("--count", type=int, default=1000, help="of each kind")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    return parser.parse_args(argv)


def run(options: argparse.Namespace) -> int:
    options.output.mkdir(parents=True, exist_ok=True)
    cluster = Cluster()
    fuzz = Fuzz(cluster, options.seed, options.output)
    rows = Rows(options.output / "results.json")
    try:
        for kind in options.kinds:
            rows.add(fuzz.fuzz(kind, options.count).to_row(kind, options.count))
    finally:
        refusals = {key: {"count": len(texts), "first": texts[0]} for key, texts in cluster.refused.items()}  # fmt: skip
        text = json.dumps(refusals, indent=2, sort_keys=True)
        (options.output / "refusals.json").write_text(text + "\n")
        code = rows.print()
    say(f"written: {rows.path}, refusals.json")
    return code
