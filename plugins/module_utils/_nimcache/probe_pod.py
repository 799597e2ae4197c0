# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The pod that prints the model manifest of the puller image into its log."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest import (
    NO_PULLER,
    NOT_FOUND,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest_pod import print_command
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import (
    operator_labels,
    owner_reference,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.pods import (
    container_security,
    pod_security,
    seccomp,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import manifest
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.flavour import source_of
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.names import (
    CONTAINER,
    Resource,
    name_of,
    pod_name,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.pods import (
    placement,
    resources_of,
)

_FIND = f"""\
if [ -f /opt/nim/etc/default/model_manifest.yaml ]; then
  show /opt/nim/etc/default/model_manifest.yaml
elif [ -f /etc/nim/config/model_manifest.yaml ]; then
  show /etc/nim/config/model_manifest.yaml
else
  command -v download-to-cache >/dev/null 2>&1 || echo '{NO_PULLER}'
  echo '{NOT_FOUND}'
fi
"""


def build_probe_pod(cr: Resource, orchestrator: str) -> Manifest:
    """The pod."""
    name = name_of(cr)
    container = {
        "name": CONTAINER,
        "image": source_of(cr)["modelPuller"],
        "command": print_command(_FIND),
        "resources": resources_of(cr),
        "securityContext": container_security(cr["spec"]) | seccomp(orchestrator),
    }
    annotations = {"openshift.io/required-scc": "nonroot"} if orchestrator == "OpenShift" else {}
    return manifest(
        "Pod",
        pod_name(cr),
        cr["metadata"]["namespace"],
        metadata={
            "labels": operator_labels(name),
            "annotations": annotations,
            "ownerReferences": [owner_reference(cr)],
        },
        spec={
            "containers": [container],
            "securityContext": pod_security(cr["spec"]),
            **placement(cr),
        },
    )
