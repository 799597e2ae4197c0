# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Summarizes a driver upgrade from recorded watches of nodes and pods, as JSON.

The recordings are outputs of `kubectl get … --watch --output-watch-events --output json`. Resource
versions order the events of both.

cordoned     nodes in the order of their cordoning
at_once      the maximum number of nodes that were cordoned at the same time
ready        the minimum of ready replicas of each NIMService, since the first node was cordoned
drivers      the images of the driver pods of each node, in order
wrong        pods that left a node that was not cordoned, or that had a job or pods with GPUs
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

COMPONENT, PART_OF, NAME = (f"app.kubernetes.io/{key}" for key in ("component", "part-of", "name"))

Json = dict[str, Any]
Event = tuple[int, bool, Json]
"""(resource version, whether the object exists, object)"""


def read_events(path: Path) -> Iterator[Event]:
    text, decoder = path.read_text(), json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            event, end = decoder.raw_decode(text, start)
        except ValueError:
            return  # the watch was stopped while writing
        item = event["object"]
        yield int(item["metadata"]["resourceVersion"]), event["type"] != "DELETED", item
        start = text.find("{", end)


def condition(item: Json, kind: str) -> bool:
    found = item.get("status", {}).get("conditions") or []
    return any(it["type"] == kind and it["status"] == "True" for it in found)


def is_leaving(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def label(pod: Json, key: str) -> str:
    return str(pod["metadata"].get("labels", {}).get(key, ""))


def is_served(pod: Json) -> bool:
    return label(pod, PART_OF) == "nim-service"


def is_driver(pod: Json) -> bool:
    return label(pod, COMPONENT) == "nvidia-driver"


def is_working(pod: Json) -> bool:
    return bool(label(pod, "job")) and pod["status"].get("phase") not in ("Succeeded", "Failed")


class Record:
    """State after each event, and the collected summary."""

    def __init__(self) -> None:
        self._pods: dict[str, Json] = {}
        self._now: set[str] = set()
        self.cordoned: list[str] = []
        self.at_once = 0
        self.ready: dict[str, int] = {}
        self.drivers: dict[str, dict[str, str]] = {}
        self.wrong: list[str] = []

    def see_node(self, node: Json, *, is_there: bool) -> None:
        name = node["metadata"]["name"]
        if is_there and node["spec"].get("unschedulable"):
            if name not in self._now:
                self.cordoned.append(name)
            self._now.add(name)
        else:
            self._now.discard(name)
        self.at_once = max(self.at_once, len(self._now))

    def see_pod(self, pod: Json, *, is_there: bool) -> None:
        uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName", "")
        before = self._pods.get(uid)
        if before and not is_leaving(before) and (is_leaving(pod) or not is_there):
            self._check(before, node)
        self._pods[uid] = pod
        if not is_there:
            del self._pods[uid]
        if node and is_driver(pod):
            image = pod["spec"]["containers"][0]["image"]
            self.drivers.setdefault(node, {}).setdefault(uid, image)

    def count(self) -> None:
        """Ready replicas by service, including services without any, once a node is cordoned."""
        found = dict.fromkeys(self.ready, 0)
        for pod in filter(is_served, self._pods.values()):
            is_ready = condition(pod, "Ready") and not is_leaving(pod)
            found[label(pod, NAME)] = found.get(label(pod, NAME), 0) + is_ready
        if self.cordoned:
            for service, ready in found.items():
                self.ready[service] = min(ready, self.ready.get(service, ready))

    def _check(self, pod: Json, node: str) -> None:
        """Whether a pod may be deleted now."""
        if not (is_served(pod) or is_driver(pod)):
            return
        name = pod["metadata"]["name"]
        there = [item for item in self._pods.values() if item["spec"].get("nodeName") == node]
        if node not in self._now:
            self.wrong.append(f"{name} left {node}, which was not cordoned")
        self.wrong += [
            f"{name} left {node} while {item['metadata']['name']} was there"
            for item in there
            if is_working(item) or (is_driver(pod) and is_served(item))
        ]

    def to_dict(self) -> Json:
        return {
            "cordoned": self.cordoned,
            "at_once": self.at_once,
            "ready": dict(sorted(self.ready.items())),
            "drivers": {node: list(pods.values()) for node, pods in sorted(self.drivers.items())},
            "wrong": self.wrong,
        }


def see_all(events: Iterable[Event]) -> Json:
    record = Record()
    for _version, is_there, item in sorted(events, key=lambda event: event[0]):
        see = record.see_node if item["kind"] == "Node" else record.see_pod
        see(item, is_there=is_there)
        record.count()
    return record.to_dict()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("watches", type=Path, nargs="+")
    paths = parser.parse_args().watches
    print(json.dumps(see_all(event for path in paths for event in read_events(path))))


if __name__ == "__main__":
    main()
