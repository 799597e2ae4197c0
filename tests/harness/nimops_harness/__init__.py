# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The operator on a control plane, started, watched and judged: what bench, faults and attacks share."""
