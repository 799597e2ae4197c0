# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""A real node beside the control plane: containerd, a kubelet and kube-proxy. Needs root."""
