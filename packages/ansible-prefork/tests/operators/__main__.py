# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Compare the effects of one operator under the unmodified ansible-operator: stock, and with prefork's entry point.

Like the public samples, the operator has a watch of a role, one of a playbook with over a hundred tasks, finalizers of both
kinds, and ten resources at once. It runs on its own sandbox, in its own namespaces.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "tests" / "harness"))

from nimops_harness.cluster import kubectl
from nimops_harness.errors import HarnessError
from nimops_harness.isolation import mount
from nimops_harness.progress import say
from nimops_harness.runtime import find_free_port
from nimops_harness.sandbox import Sandbox, enter

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
CACHES = tuple(f"cache-{number}" for number in range(10))
CATALOG = "catalog"
KINDS = "deployments,services,configmaps,caches,catalogs"
ARTIFACTS = Path("/tmp/ansible-operator")
WAIT_SECONDS = 300.0
MINIMUM_TASKS = 100
VARYING = frozenset(
    ("uid", "resourceVersion", "creationTimestamp", "time", "clusterIP", "clusterIPs", "lastTransitionTime",
     "lastUpdateTime", "completion", "deletionTimestamp")
)  # fmt: skip

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# The compared fields of a task's result; the objects are compared in their final state.
RESULT_FIELDS = ("changed", "failed", "skipped", "skip_reason", "method", "rc", "msg")

Json = dict[str, Any]


class Operator:
    """One run of the operator for a namespace."""

    def __init__(self, side: str, folder: Path) -> None:
        self.side = side
        self.namespace = f"of-{side}"
        self.place = folder / side
        shutil.copytree(HERE / "operator", self.place)
        self.log = folder / "logs" / f"{side}.log"

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        health, metrics = find_free_port(), find_free_port()
        command = [
            "ansible-operator", "run", "--watches-file=./watches.yaml", "--max-concurrent-reconciles=4",
            f"--health-probe-bind-address=127.0.0.1:{health}", f"--metrics-bind-address=127.0.0.1:{metrics}",
        ]  # fmt: skip
        if self.side == "prefork":
            command = [sys.executable, "-m", "ansible_prefork", "exec", "--", *command]
        settings = ("PREFORK", "ANSIBLE_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(settings)}
        environment |= {"WATCH_NAMESPACE": self.namespace, "ANSIBLE_ROLES_PATH": str(self.place / "roles")}
        ARTIFACTS.mkdir(exist_ok=True)
        mount("-t", "tmpfs", "-o", "size=512m", "tmpfs", ARTIFACTS)
        self.log.parent.mkdir(exist_ok=True)
        with self.log.open("wb") as log:
            process = subprocess.Popen(command, cwd=self.place, env=environment, stdout=log, stderr=log)
        try:
            wait_for(lambda: is_ready(health) or process.poll() is not None, f"the operator, see {self.log}")
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            subprocess.run(["umount", str(ARTIFACTS)], check=True)

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return kubectl("-n", self.namespace, *arguments, stdin=stdin)

    def objects(self) -> list[Json]:
        return list(json.loads(self.kubectl("get", KINDS, "-o", "json"))["items"])

    def resources(self) -> list[Json]:
        return [item for item in self.objects() if item["kind"] in {"Cache", "Catalog"}]

    def have_succeeded(self) -> bool:
        found = self.resources()
        return len(found) == len(CACHES) + 1 and all(map(has_succeeded, found))

    def apply(self, size: int) -> None:
        items = [make("Cache", name, size=size) for name in CACHES] + [make("Catalog", CATALOG, edition=size)]
        self.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    def play(self) -> Json:
        """Create, change and delete the resources; the observations and durations."""
        kubectl("create", "namespace", self.namespace)
        seen: Json = {"seconds": {}}
        with self.running():
            for name, size in (("first", 1), ("changed", 2)):
                with timed(seen["seconds"], name):
                    self.apply(size)
                    wait_for(lambda size=size: self.have_size(size), f"{name} runs, see {self.log}")
                time.sleep(1)  # Controllers still write.
                seen[name] = self.normal(self.objects())
            seen["events"] = self.normal(read_events(ARTIFACTS))
            if self.side == "prefork":
                seen["status"] = read_status()
            with timed(seen["seconds"], "deleted"):
                self.kubectl("delete", "caches,catalogs", "--all", "--wait=false")
                wait_for(lambda: not self.resources(), f"finalizers, see {self.log}")
            seen["farewells"] = self.normal(
                [item for item in self.objects() if item["metadata"]["name"].startswith("farewell-")]
            )
        return seen

    def have_size(self, size: int) -> bool:
        """Whether all resources had a successful run with that size."""
        if not self.have_succeeded():
            return False
        objects = {(item["kind"], item["metadata"]["name"]): item for item in self.objects()}
        deployments = [objects.get(("Deployment", name), {}).get("spec", {}).get("replicas") for name in CACHES]
        last = objects.get(("ConfigMap", f"{CATALOG}-11"), {}).get("data", {}).get("books", "")
        return deployments == [size] * len(CACHES) and last.endswith(f"edition {size}")

    def normal(self, value: Any) -> Any:
        """The value without data that depends on the cluster, the time or the directory."""
        text = UUID.sub("<uuid>", json.dumps(clean(value), sort_keys=True))
        return json.loads(text.replace(self.namespace, "<namespace>").replace(str(self.place), "<place>"))


def make(kind: str, name: str, **spec: Any) -> Json:
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def has_succeeded(resource: Json) -> bool:
    conditions = {item["type"]: item for item in resource.get("status", {}).get("conditions", [])}
    running = conditions.get("Running", {})
    return running.get("status") == "True" and running.get("reason") == "Successful"


def clean(value: Any) -> Any:
    if isinstance(value, dict):
        found = {name: "<varying>" if name in VARYING else clean(item) for name, item in value.items()}
        if "managedFields" in found:
            found["managedFields"].sort(key=lambda item: json.dumps(item, sort_keys=True))
        return found
    return [clean(item) for item in value] if isinstance(value, list) else value


def read_events(artifacts: Path) -> Json:
    """The events of all runs of each resource, in order: name, task and result."""
    found: dict[str, list[list[Any]]] = {}
    for run in sorted(artifacts.glob("runner/*/*/*/*/*/artifacts/[0-9]*"), key=lambda path: path.stat().st_ctime):
        events = [json.loads(path.read_text()) for path in run.glob("job_events/*.json")]
        described = [describe_event(event) for event in sorted(events, key=lambda event: event["counter"])]
        found.setdefault("/".join(run.parts[-5:-2]), []).append(described)
    return found


def describe_event(event: Json) -> list[Any]:
    data = event.get("event_data", {})
    result = data.get("res") or {}
    return [
        event["event"],
        data.get("task"),
        data.get("role"),
        {name: result[name] for name in RESULT_FIELDS if name in result},
    ]


def read_status() -> str:
    command = [sys.executable, "-m", "ansible_prefork", "status"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def is_ready(port: int) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2):
        return True
    return False


def wait_for(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise HarnessError(f"not within {WAIT_SECONDS:.0f} s: {what}")
        time.sleep(0.1)


@contextlib.contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    begin = time.monotonic()
    yield
    seconds[name] = round(time.monotonic() - begin, 1)


def compare(stock: Json, prefork: Json) -> list[str]:
    """The differences, as lines."""
    lines: list[str] = []
    for name in ("first", "changed", "events", "farewells"):
        one, two = (json.dumps(side[name], indent=1, sort_keys=True).splitlines() for side in (stock, prefork))
        lines += difflib.unified_diff(one, two, f"stock: {name}", f"prefork: {name}", lineterm="", n=6)
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python packages/ansible-prefork/tests/operators", description=__doc__.split(": ", 1)[1]
    )
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "operators", help="for logs and the sandbox")
    parser.add_argument("--ratio", type=float, default=1.5, help="how much faster it must be at least (1.5)")
    arguments = parser.parse_args()
    try:
        arguments.folder = arguments.folder.resolve()
        enter(arguments.folder)
        sandbox = Sandbox(arguments.folder)
        for side in ("stock", "prefork"):
            shutil.rmtree(arguments.folder / side, ignore_errors=True)
        sandbox.open()
        kubectl("apply", "-f", str(HERE / "operator" / "crds.yaml"))
        kubectl(
            "wait", "--for=condition=Established", "--timeout=60s", "crd/caches.example.com", "crd/catalogs.example.com"
        )
        seen = {}
        for side in ("stock", "prefork"):
            say(f"running the operator: {side}")
            seen[side] = Operator(side, arguments.folder).play()
            (arguments.folder / f"{side}.json").write_text(json.dumps(seen[side], indent=1))
        sandbox.close()
    except HarnessError as problem:
        print(f"operators: {problem}", file=sys.stderr)
        return 1
    return judge(seen["stock"], seen["prefork"], arguments.ratio)


def judge(stock: Json, prefork: Json, ratio: float) -> int:
    """Print the results; exit code 1 if they are not acceptable."""
    differences = compare(stock, prefork)
    for line in differences[:200]:
        print(line)
    tasks = max(
        sum(event[0] == "playbook_on_task_start" for event in run)
        for runs in stock["events"].values() for run in runs
    )  # fmt: skip
    print(prefork["status"])
    print(f"effects: {'identical' if not differences else 'DIFFERENT'}; {tasks} tasks in the longest run")
    total = {}
    for side, seen in (("stock", stock), ("prefork", prefork)):
        total[side] = sum(seen["seconds"].values())
        print(f"{side}: {seen['seconds']}, {total[side]:.1f} s together")
    print(f"ratio: {total['stock'] / total['prefork']:.1f}")
    is_good = not differences and tasks >= MINIMUM_TASKS and total["stock"] >= ratio * total["prefork"]
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
