# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Builders of Kubernetes objects that several families share.

Belongs here: pure functions that build one Kubernetes object or a part of one (a Service, probes,
environment variables), read the live state of one, or validate the fields of the spec for it.

Does not belong here: rules of a single family or kind (its own folder), comparing, writing or
deleting objects (`_engine`), and any I/O. No module here imports a family.
"""
