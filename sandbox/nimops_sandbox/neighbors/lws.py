# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The controller of LeaderWorkerSets."""

from __future__ import annotations

from typing import Any

from .base import Neighbor, Place, Webhook

# A label that LWS gives its pods: their webhooks do not apply to others.
_OF_GROUP = {
    "matchExpressions": [{"key": "leaderworkerset.sigs.k8s.io/name", "operator": "Exists"}]
}


def _files(place: Place) -> dict[str, Any]:
    configuration = {
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        # The certificate is the sandbox's.
        "internalCertManagement": {"enable": False},
        "webhook": {"host": "127.0.0.1", "port": place.port(), "certDir": str(place.folder)},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": "0"},
    }
    return {"config.yaml": configuration}


def _arguments(place: Place) -> list[str]:
    return [
        f"--kubeconfig={place.kubeconfig}",
        f"--config={place.folder / 'config.yaml'}",
        "--zap-devel=false",
    ]


LWS = Neighbor(
    "lws",
    {"lws-controller-manager": _arguments},
    definitions={
        "sigs.k8s.io/lws": ["config/crd/bases/disaggregatedset.x-k8s.io_disaggregatedsets.yaml"]
    },
    webhooks=(
        Webhook(
            "mleaderworkerset.kb.io",
            "mutate-leaderworkerset-x-k8s-io-v1-leaderworkerset",
            "leaderworkerset.x-k8s.io",
            "leaderworkersets",
            mutates=True,
        ),
        Webhook(
            "mpod.kb.io",
            "mutate--v1-pod",
            "",
            "pods",
            mutates=True,
            operations=("CREATE",),
            selector=_OF_GROUP,
        ),
        Webhook(
            "vleaderworkerset.kb.io",
            "validate-leaderworkerset-x-k8s-io-v1-leaderworkerset",
            "leaderworkerset.x-k8s.io",
            "leaderworkersets",
        ),
        Webhook("vpod.kb.io", "validate--v1-pod", "", "pods", selector=_OF_GROUP),
    ),
    files=_files,
)
