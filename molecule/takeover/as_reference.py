# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Turns what our operator has made in a namespace into what the reference operator leaves behind.

Its writes are updates by the field manager `manager`, over all fields; it sets two hashes on what
it makes, and knows neither our annotations nor the status fields that only we have. As every object
was ours, pods differ in nothing; templates/takeover.yaml.j2 of the default scenario was written by
hand after the reference's own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

GROUP = "apps.nvidia.com"
CHILDREN = (
    "deployments,services,serviceaccounts,roles,rolebindings,configmaps,secrets,ingresses,"
    "horizontalpodautoscalers,servicemonitors,leaderworkersets,inferenceservices,inferencepools,"
    "computedomains"
)
CLAIMS = "resourceclaimtemplates"
OURS, THEIRS = "nimops.nim", "manager"
SELECTOR = "app.kubernetes.io/managed-by=k8s-nim-operator"
HASHES = {"nvidia.com/last-applied-hash": "7f4d85b6c9", "nvidia.com/parent-spec-hash": "55c98df6f5"}

Json = dict[str, Any]


def kubectl(*arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        ["kubectl", *arguments], input=stdin, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def read(namespace: str, kinds: str, *options: str) -> list[Json]:
    found = kubectl("get", kinds, "-n", namespace, "-o", "json", "--show-managed-fields", *options)
    return list(json.loads(found)["items"])


def convert(item: Json) -> Json:
    """A child as the reference leaves it."""
    metadata = item["metadata"]
    entries = metadata.get("managedFields") or []
    for entry in entries:
        if entry["manager"] == OURS and not entry.get("subresource"):
            entry |= {"manager": THEIRS, "operation": "Update"}
    kept = {
        key: value
        for key, value in (metadata.get("annotations") or {}).items()
        if not key.startswith("nimops.nim/")
    }
    metadata["annotations"] = kept | HASHES
    return item


def custom_kinds() -> str:
    return ",".join(kubectl("api-resources", f"--api-group={GROUP}", "-o", "name").split())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("namespace")
    namespace = parser.parse_args().namespace
    has_claims = "resource.k8s.io/v1" in kubectl("api-versions").splitlines()
    kinds = f"{CHILDREN},{CLAIMS}" if has_claims else CHILDREN
    children = [convert(item) for item in read(namespace, kinds, "-l", SELECTOR)]
    documents = json.dumps({"apiVersion": "v1", "kind": "List", "items": children})
    kubectl("replace", f"--field-manager={THEIRS}", "-f", "-", stdin=documents)
    for item in read(namespace, custom_kinds()):
        name = f"{item['kind']}/{item['metadata']['name']}"
        body = json.dumps({"status": {"operatorVersion": None}})
        kubectl(
            *("patch", name, "-n", namespace, "--subresource=status", "--type=merge", "-p", body)
        )
    print(f"{len(children)} objects are the reference's", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
