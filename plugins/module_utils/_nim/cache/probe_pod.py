# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The pod that prints the model manifest of the puller image to its log."""

from __future__ import annotations

from ..._base.types import Manifest
from ..._builders.pod import container_security, pod_security, seccomp
from ..._engine.created_once import marks_of
from ..profiles.manifest_pod import print_command
from ..profiles.model_manifest import NO_PULLER, NOT_FOUND
from .app import NIMCacheApp
from .constants import CONTAINER
from .pods import placement, resources_of
from .source import source_of

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


def build_probe_pod(app: NIMCacheApp, orchestrator: str) -> Manifest:
    """Build the probe pod."""
    user, group = app.spec.user, app.spec.group
    container = {
        "name": CONTAINER,
        "image": source_of(app).puller,
        "command": print_command(_FIND),
        "resources": resources_of(app),
        "securityContext": container_security(user, group) | seccomp(orchestrator),
    }
    scc = {"openshift.io/required-scc": "nonroot"} if orchestrator == "OpenShift" else {}
    spec = {
        "containers": [container],
        "securityContext": pod_security(user, group),
        **placement(app),
    }
    return app.child(
        "Pod",
        spec,
        name=app.pod_name,
        labels=app.standard_labels,
        annotations={**marks_of(app.resource), **scc},
    )
