# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The states in order. On a node, files of the validations enforce the order of their starts."""

from __future__ import annotations

from .state import State
from .states import (
    dcgm,
    dcgm_exporter,
    device_plugin,
    driver,
    feature_discovery,
    mig_manager,
    mps,
    node_status_exporter,
    operator_metrics,
    prerequisites,
    toolkit,
    validation,
)

STATES: tuple[State, ...] = (
    prerequisites.STATE,
    operator_metrics.STATE,
    driver.STATE,
    toolkit.STATE,
    validation.STATE,
    device_plugin.STATE,
    mps.STATE,
    dcgm.STATE,
    dcgm_exporter.STATE,
    feature_discovery.STATE,
    mig_manager.STATE,
    node_status_exporter.STATE,
)
