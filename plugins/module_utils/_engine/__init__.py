# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The reconcile engine: the parts that every kind uses.

Belongs here: the types that a kind declares and returns, and the pass that reads, plans, writes and
reports. That includes drift, field ownership, object ownership, conditions and status.

Does not belong here: rules of a single kind (its own folder), manifests of children
(`_builders`), access to the API server (`_cluster`) and other servers (`_http`), and helpers that
are independent of Kubernetes (`_base`). No module here imports a builder or a family.
"""
