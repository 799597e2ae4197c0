# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The addresses in a node's network, which are arbitrary because the network is isolated."""

from __future__ import annotations

ADDRESS = "10.89.0.1"
SERVICES = "10.96.0.0/16"
API_SERVICE = "10.96.0.1"
PODS = "10.244.0.0/24"

# Arguments of ip, in that network. An address must not be on lo: kubelet refuses it. The route is
# for processes that are not in a pod: without one, nothing is translated.
SETUP = (
    "link set lo up",
    "link add node0 type bridge",
    f"address add {ADDRESS}/32 dev node0",
    "link set node0 up",
    f"route add {SERVICES} dev node0",
)
