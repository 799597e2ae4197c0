# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Puts whole objects that a release of the reference operator left in a cluster into another one.

Each file is a list of objects as `kubectl get -o json` prints them, all of one namespace. Objects
that the API server makes itself are left out, and so are Secrets that exist, as files have no data.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

THEIRS, USERS, OTHERS = "nim-operator", "kubectl", "controller"
NAMES_OF_THE_SERVER = {"kube-root-ca.crt", "default"}
METADATA_OF_THE_SERVER = (
    *("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"),
    *("finalizers", "generateName"),
)
ANNOTATIONS_OF_CONTROLLERS = ("pv.kubernetes.io/", "volume.", "deployment.kubernetes.io/")
ALLOCATED = {
    "Service": ("clusterIP", "clusterIPs", "healthCheckNodePort"),
    "PersistentVolumeClaim": ("volumeName",),
    "Job": ("selector",),
}
SIMULATED = ("LeaderWorkerSet", "InferenceService", "ComputeDomain")
"""Kinds without a controller here: their status is the file's."""
OF_USERS = (False, False, False)
"""The `rank` of the custom resources that users create."""
JOB_LABELS = ("controller-uid", "job-name")

Json = dict[str, Any]


def kubectl(*arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        ["kubectl", *arguments], input=stdin, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def make_creatable(item: Json, uids: dict[tuple[str, str], str]) -> Json:
    """The object without what only the API server and controllers set, owned by the new owner."""
    made: Json = json.loads(
        json.dumps({key: value for key, value in item.items() if key != "status"})
    )
    metadata = made["metadata"]
    for name in METADATA_OF_THE_SERVER:
        metadata.pop(name, None)
    annotations = metadata.get("annotations") or {}
    metadata["annotations"] = {
        key: value
        for key, value in annotations.items()
        if not key.startswith(ANNOTATIONS_OF_CONTROLLERS)
    }
    for owner in metadata.get("ownerReferences") or []:
        owner["uid"] = uids[owner["kind"], owner["name"]]
    for field in ALLOCATED.get(made["kind"], ()):
        made["spec"].pop(field, None)
    if made["kind"] == "Job":
        labels = made["spec"]["template"]["metadata"]["labels"]
        for name in [name for name in labels if name.endswith(JOB_LABELS)]:
            del labels[name]
    if made["kind"] == "Secret":
        key = ".dockerconfigjson" if made["type"].endswith("dockerconfigjson") else "NGC_API_KEY"
        made["data"] = {key: base64.b64encode(b"{}").decode()}
    return made


def create(items: list[Json], manager: str) -> dict[tuple[str, str], str]:
    """Create objects; the uid of each."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    shown = '{{.kind}} {{.metadata.name}} {{.metadata.uid}}{{"\\n"}}'
    command = ("create", "--save-config=false", f"--field-manager={manager}")
    lines = kubectl(*command, f"--output=go-template={shown}", "-f", "-", stdin=text).splitlines()
    return {(kind, name): uid for kind, name, uid in map(str.split, lines)}


def is_custom(item: Json) -> bool:
    return str(item["apiVersion"]).startswith("apps.nvidia.com/")


def is_loaded(item: Json) -> bool:
    """Whether neither the API server nor a pod makes the object."""
    metadata = item["metadata"]
    by_pod = any(owner["kind"] == "Pod" for owner in metadata.get("ownerReferences") or [])
    return not by_pod and metadata["name"] not in NAMES_OF_THE_SERVER


def belongs_to(item: Json, name: str) -> bool:
    """Whether the object is a custom resource of that name, or owned by one."""
    metadata = item["metadata"]
    owners = [owner["name"] for owner in metadata.get("ownerReferences") or []]
    return name in owners or (is_custom(item) and metadata["name"] == name)


def name_of(item: Json) -> str:
    """The kind and the name, as kubectl prints them."""
    return f"{item['kind'].lower()}/{item['metadata']['name']}"


def rank(item: Json) -> tuple[bool, bool, bool]:
    """Owners before their objects: a pipeline, its services, their objects, and theirs."""
    owners = item["metadata"].get("ownerReferences") or []
    return not is_custom(item), bool(owners), not all(map(is_custom, owners))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--only", metavar="NAME", help="a custom resource, with what it owns")
    options = parser.parse_args()
    items = [item for file in options.files for item in json.loads(Path(file).read_text())]
    if options.only:
        items = [item for item in items if belongs_to(item, options.only)]
    namespace = items[0]["metadata"]["namespace"]
    found = kubectl("get", "secrets,configmaps", "-n", namespace, "-o", "name").split()
    existing = set(found)
    uids: dict[tuple[str, str], str] = {}
    for key, group in itertools.groupby(sorted(filter(is_loaded, items), key=rank), key=rank):
        manager = USERS if key == OF_USERS else OTHERS if key[-1] else THEIRS
        chosen = [item for item in group if name_of(item) not in existing]
        uids |= create([make_creatable(item, uids) for item in chosen], manager)
    for item in items:
        if not is_custom(item) and item["kind"] not in SIMULATED:
            continue
        body = json.dumps({"status": item.get("status") or {}})
        name = f"{item['kind']}/{item['metadata']['name']}"
        flags = ("--subresource=status", "--type=merge", f"--field-manager={THEIRS}")
        kubectl("patch", name, "-n", namespace, *flags, "-p", body)
    print(f"{len(items)} objects are in namespace {namespace}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
