# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The endpoint picker of the Gateway API inference extension.

The operator deploys pickers, so nothing runs before: ../../run_pods.py runs the program in the pods
of these Deployments. The definitions are of what a picker lists if the API server serves it.
"""

from __future__ import annotations

from .base import Neighbor

EPP = Neighbor(
    "epp",
    {},
    definitions={
        "sigs.k8s.io/gateway-api-inference-extension": [
            "config/crd/bases/inference.networking.x-k8s.io_*.yaml"
        ]
    },
)
