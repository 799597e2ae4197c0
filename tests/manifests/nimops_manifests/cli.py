# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The command: make manifests."""

from __future__ import annotations

import argparse
import json
import subprocess
import time
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from nimops_harness.cases import Row, Rows, make_parser, run_rows
from nimops_harness.cluster import Json, kubectl, path_of
from nimops_harness.errors import HarnessError
from nimops_harness.progress import Deadline, say
from nimops_harness.runtime import ROOT, Operator
from nimops_harness.sandbox import Sandbox
from nimops_harness.workload import label_nodes

from .documents import Document, NeededSecret, needed_secrets, plan_rounds, read_files
from .outcome import is_ready, join, judge, refusal, warnings

REFERENCE = ROOT.parent / "shared" / "reference" / "crds"
STEADY_SECONDS = 25.0
PAUSE = 1.0
NO_KIND = ("no matches for kind", "could not find the requested")


def parse_arguments(argv: t.Sequence[str] | None = None) -> argparse.Namespace:
    parser = make_parser(
        "manifests",
        "Applies files of users to a sandbox of its own, and prints what becomes of each object.",
        "0 each is Ready, or its status or its refusal names the reason; 1 one does not",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--namespace", default="manifests", help="of objects that name none (default: manifests)")  # fmt: skip
    parser.add_argument("--placeholders", action="store_true", help="create missing Secrets, with placeholders as values")  # fmt: skip
    parser.add_argument("--seconds", type=float, default=90.0, help="time limit of each round (default: 90)")  # fmt: skip
    parser.add_argument(
        "--reference", type=Path, default=REFERENCE, metavar="FOLDER",
        help="CRDs of the reference operator: what they accept, ours must accept (default: %(default)s, if it exists)",
    )  # fmt: skip
    return parser.parse_args(argv)


@dataclass
class Trial:
    """The run on a sandbox. `accepted`: which documents the CRDs of the reference accept."""

    sandbox: Sandbox
    options: argparse.Namespace
    rows: Rows
    accepted: dict[str, bool] = field(default_factory=dict)

    def ask_reference(self, documents: t.Iterable[Document]) -> None:
        """Try all documents with the CRDs of the reference, which store nothing."""
        folder = self.options.reference
        if not folder.is_dir():
            say(f"no CRDs of the reference at {folder}: refusals are not compared")
            return
        kubectl("apply", "--server-side", "--force-conflicts", "-f", str(folder))
        kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", str(folder))
        for document in documents:
            if document.is_ours:
                code, _text = send(document, "apply", "--dry-run=server")
                self.accepted[document.label] = not code
        kubectl("delete", "--wait", "--timeout=60s", "-f", str(folder))

    def create_namespaces(self, documents: t.Iterable[Document]) -> None:
        for name in sorted({document.namespace for document in documents}):
            if not self.sandbox.api.find(f"/api/v1/namespaces/{name}"):
                self.sandbox.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    def play(self, documents: t.Sequence[Document], operator: Operator) -> None:
        """Apply the documents of a round, wait for them, report and delete them."""
        applied: list[Document] = []
        notes: dict[str, str] = {}
        for document in documents:
            notes[document.label] = self.lacks(document)
            code, text = send(document, "apply")
            if not code:
                applied.append(document)
                notes[document.label] = join([notes[document.label], *warnings(text)])
            else:
                self.rows.add(self.refused(document, text))
        self.wait([document for document in applied if document.is_ours], operator)
        for document in applied:
            self.rows.add(self.report(document, notes[document.label]))
        for document in reversed(applied):
            send(document, "delete", "--ignore-not-found", "--timeout=60s")

    def lacks(self, document: Document) -> str:
        """The Secrets that are missing; with --placeholders, they are created."""
        missing = [need for need in needed_secrets(document) if not self.find(need)]
        if self.options.placeholders:
            for need in missing:
                path = path_of("Secret", need.namespace)
                self.sandbox.api.request("POST", path, need.placeholder())
            return ""
        names = ", ".join(need.name for need in missing)
        return f"lacks Secret {names}" if names else ""

    def find(self, need: NeededSecret) -> Json | None:
        return self.sandbox.api.find(path_of("Secret", need.namespace, need.name))

    def refused(self, document: Document, text: str) -> Row:
        reason = refusal(text)
        if not document.is_ours and any(words in text for words in NO_KIND):
            return Row(document.label, "skipped", reason, True)
        is_alike = not self.accepted.get(document.label, False)
        more = "" if is_alike else "the CRDs of the reference accept it"
        return Row(document.label, "refused", join([reason, more]), is_alike)

    def wait(self, documents: t.Sequence[Document], operator: Operator) -> None:
        """Until all are ready, or nothing has changed for a while, or the time is up."""
        deadline = Deadline(self.options.seconds, "")
        before: list[t.Any] = []
        since = time.monotonic()
        while deadline.left:
            operator.check()
            found = [read(document) for document in documents]
            if all(item and is_ready(item) for item in found):
                return
            states = [(item or {}).get("status") for item in found]
            if states != before:
                before, since = states, time.monotonic()
            elif all(states) and time.monotonic() - since > STEADY_SECONDS:
                return
            time.sleep(PAUSE)

    def report(self, document: Document, note: str) -> Row:
        if not document.is_ours:
            return Row(document.label, "applied", note, True)
        state, text, ok = judge(read(document))
        return Row(document.label, state, join([text, note]), ok)


def send(document: Document, verb: str, *options: str) -> tuple[int, str]:
    """Exit code and messages of kubectl for a document; unknown fields are dropped with a warning.

    A server-side apply would refuse them.
    """
    how = ["--validate=warn"] if verb == "apply" else []
    where = [] if document.body["metadata"].get("namespace") else ["-n", document.namespace]
    command = ["kubectl", verb, *how, *where, *options, "-f", "-"]
    done = subprocess.run(
        command, input=json.dumps(document.body), capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


def read(document: Document) -> Json | None:
    """The object as it is stored; None if it is gone."""
    group = document.body["apiVersion"].partition("/")[0]
    name = f"{document.kind.lower()}.{group}/{document.name}"
    try:
        text = kubectl("get", name, "-n", document.namespace, "--ignore-not-found", "-o", "json")
    except HarnessError:
        return None
    return dict(json.loads(text)) if text.strip() else None


def run(options: argparse.Namespace) -> int:
    if missing := [str(path) for path in options.files if not path.is_file()]:
        raise HarnessError(f"not a file: {', '.join(missing)}")
    files, unread = read_files(options.files, options.namespace)
    rounds = plan_rounds(files)
    rows = Rows(options.output.resolve() / "results.json")
    for row in unread:
        rows.add(row)
    order = {path.name: index for index, path in enumerate(options.files)}

    def play(sandbox: Sandbox) -> None:
        trial = Trial(sandbox, options, rows)
        documents = [document for chosen in rounds for document in chosen]
        label_nodes(sandbox.api)
        trial.create_namespaces(documents)
        trial.ask_reference(documents)
        try:
            with sandbox.start_operator("operator", LEAST_PRIVILEGE="1") as operator:
                operator.wait_until_ready()
                for number, chosen in enumerate(rounds, 1):
                    say(f"round {number} of {len(rounds)}: {len(chosen)} objects")
                    trial.play(chosen, operator)
        finally:
            rows.sort(key=lambda row: order.get(row.name.partition(":")[0], 0))

    return run_rows(rows, play, ("", "object", "result", "detail"))
