# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The command: make reports."""

from __future__ import annotations

import argparse
import math
import tempfile
import typing as t
from functools import partial
from pathlib import Path

from nimops_harness.cases import (
    Rows,
    add_case_options,
    choose,
    make_parser,
    recording,
    run_cases,
)
from nimops_harness.cluster import Json
from nimops_harness.progress import say
from nimops_harness.sandbox import Sandbox
from nimops_harness.workload import create_namespace, label_nodes

from .cases import ReportCase, read_cases
from .objects import Objects, trim
from .play import OPERANDS, Play, RunningOperator

GPU_KINDS = ("NVIDIADriver", "ClusterPolicy")


def parse_arguments(argv: t.Sequence[str] | None = None) -> argparse.Namespace:
    parser = make_parser(
        "reports",
        "Plays public bug reports, with the operator on a sandbox of its own.",
        "0 all outcomes are right; 1 not all of them",
    )
    add_case_options(parser, "a few cases of each kind")
    return parser.parse_args(argv)


class Stage:
    """The sandbox with its operator, as each case finds it."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.api = sandbox.api
        self.operator = RunningOperator(sandbox)
        objects = Objects(sandbox.api, "default")
        label_nodes(sandbox.api)
        self.nodes = [trim(item) for item in objects.select("Node/*")]

    def play(self, case: ReportCase) -> tuple[bool, str]:
        """One case, from an empty namespace to the nodes as they were."""
        say(f"{case.name}: {case.right}")
        objects = Objects(self.api, f"report-{case.name.lower()}")
        problems: list[str] = []
        with tempfile.TemporaryDirectory() as folder:
            play = Play(objects, self.operator, Path(folder))
            with recording(problems.append):
                self.operator.ensure()
                create_namespace(self.api, objects.namespace)
                play.run(case.steps)
            if problems and "CustomResourceDefinition" in str(case.steps):
                # A new one puts our CRDs back.
                self.operator.stop()
            with recording(problems.append):
                self.clear(play)
        return not problems, "; ".join(problems) or "as expected"

    def clear(self, play: Play) -> None:
        """Remove what the case made."""
        self.operator.ensure()
        objects = play.objects
        for item in play.hidden:
            objects.send("POST", objects.complete(item)[0], item)
        for place in (f"Namespace/{objects.namespace}", "Event/default/"):
            objects.send("DELETE", objects.path(place).rstrip("/"))
        made = [f"{kind}/*" for kind in GPU_KINDS] + play.cluster_wide
        play.run([{"delete": reference} for reference in made])
        play.run([{"expect": {f"DaemonSet/{OPERANDS}/*": "none", f"Pod/{OPERANDS}/*": "none"}}])
        if list(map(shape_of, objects.select("Node/*"))) != list(map(shape_of, self.nodes)):
            play.run([{"delete": "Node/*"}])
            for node in self.nodes:
                objects.send("POST", objects.complete(node)[0], node)


def shape_of(node: Json) -> Json:
    """The fields of a node that cases change."""
    metadata = {key: node["metadata"].get(key) for key in ("name", "labels", "annotations")}
    return metadata | {key: node["spec"].get(key) for key in ("taints", "unschedulable")}


def run(options: argparse.Namespace) -> int:
    cases = read_cases()
    chosen = choose(cases, [case for case in cases if case.quick], options)

    def run_all(sandbox: Sandbox, rows: Rows) -> None:
        stage = Stage(sandbox)
        try:
            for case in chosen:
                rows.run(case.name, case.right, partial(stage.play, case), math.inf)
        finally:
            stage.operator.stop()

    return run_cases(options, cases, run_all)
