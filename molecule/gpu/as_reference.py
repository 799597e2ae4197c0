# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Recreates the DaemonSets of a ClusterPolicy as the reference operator creates them.

They have its field manager, hash, scripts and driver digest. This operator must take them over
without changing a pod template.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from typing import Any

MANAGER = "gpu-operator"
HASH = {"nvidia.com/last-applied-hash": "2593714403"}
DIGEST = "DRIVER_CONFIG_DIGEST"
SCRIPT = "until [ -f /run/nvidia/validations/toolkit-ready ]; do echo waiting; sleep 5; done"

Json = dict[str, Any]


def kubectl(*arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        ["kubectl", *arguments], input=stdin, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def convert(item: Json) -> Json:
    """Convert a DaemonSet to the form that the reference operator creates."""
    pod = item["spec"]["template"]["spec"]
    for container in pod["containers"] + pod.get("initContainers", []):
        convert_container(container)
    before = item["metadata"]
    kept = {key: before[key] for key in ("name", "namespace", "labels", "ownerReferences")}
    metadata = {**kept, "annotations": {**before.get("annotations", {}), **HASH}}
    return {**{key: item[key] for key in ("apiVersion", "kind", "spec")}, "metadata": metadata}


def convert_container(container: Json) -> None:
    for key in ("command", "args"):
        if key in container:
            container[key] = [with_script(text) for text in container[key]]
    stop = container.get("lifecycle", {}).get("preStop", {}).get("exec")
    if stop:
        stop["command"] = [with_script(text) for text in stop["command"]]
    for variable in container.get("env", []):
        if variable["name"] == DIGEST:
            variable["value"] = "3141592653"


def with_script(text: str) -> str:
    return SCRIPT if "\n" in text else text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("namespace")
    namespace = parser.parse_args().namespace
    found = json.loads(kubectl("get", "daemonsets", "-n", namespace, "-o", "json"))["items"]
    items = [convert(item) for item in found]
    kubectl("delete", "daemonsets", "--all", "-n", namespace, "--cascade=foreground")
    made = {"apiVersion": "v1", "kind": "List", "items": items}
    kubectl("create", f"--field-manager={MANAGER}", "-f", "-", stdin=json.dumps(made))


if __name__ == "__main__":
    main()
