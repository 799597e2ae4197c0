# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Faults, each with resources in flight, and whether the operator gets over them."""
