# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""A local Kubernetes control plane of plain processes. Uses only the standard library."""
