# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Names for JSON objects in signatures."""

from __future__ import annotations

import typing as t

Json = dict[str, t.Any]
"""A JSON object that its owner may change."""
Manifest = Json
"""A whole Kubernetes object, with ``apiVersion`` and ``kind``."""
Fields = t.Mapping[str, t.Any]
"""A JSON object to read."""
FieldsV1 = dict[str, t.Any]
"""A set of fields as ``metadata.managedFields`` writes it: ``{"f:spec": {"f:replicas": {}}}``."""
