# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Writes to a namespace as a release of the reference operator does once it runs again.

It sets its hashes on each child that lacks them, and `--label` on one Service, as its user changes
a spec. It fails on what the release would panic on: kinds that it cannot update.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

THEIRS = "nim-operator"
CHILDREN = (
    "deployments,services,serviceaccounts,roles,rolebindings,ingresses,horizontalpodautoscalers,"
    "servicemonitors,leaderworkersets,httproutes,grpcroutes"
)
CRASHING = "inferencepools,resourceclaimtemplates,computedomains"
SELECTOR = "app.kubernetes.io/managed-by=k8s-nim-operator"
HASH = "nvidia.com/last-applied-hash"

Json = dict[str, Any]


def kubectl(*arguments: str) -> str:
    done = subprocess.run(["kubectl", *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def is_child(item: Json) -> bool:
    """Whether the reference wrote the object itself: a Service of KServe only has its labels."""
    owners = item["metadata"].get("ownerReferences") or []
    return all(owner["apiVersion"].startswith("apps.nvidia.com/") for owner in owners)


def without_hash(namespace: str, kinds: str) -> list[str]:
    found = json.loads(kubectl("get", kinds, "-n", namespace, "-l", SELECTOR, "-o", "json"))
    return [
        f"{item['kind']}/{item['metadata']['name']}"
        for item in found["items"]
        if HASH not in (item["metadata"].get("annotations") or {}) and is_child(item)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("namespace")
    parser.add_argument("--label", metavar="SERVICE", help="a Service that gets a label")
    options = parser.parse_args()
    if panics := without_hash(options.namespace, CRASHING):
        print(f"the reference would panic on {', '.join(panics)}", file=sys.stderr)
        return 1
    names = without_hash(options.namespace, CHILDREN)
    manager = f"--field-manager={THEIRS}"
    kubectl("annotate", *names, "-n", options.namespace, manager, f"{HASH}=7f4d85b6c9")
    if options.label:
        kubectl("label", f"service/{options.label}", "-n", options.namespace, manager, "by=theirs")
    print(f"{len(names)} objects were written", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
