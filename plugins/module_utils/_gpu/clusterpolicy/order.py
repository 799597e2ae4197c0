# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Operands in deployment order. On a node, validation files enforce the start order."""

from __future__ import annotations

from .operand import Operand
from .operands import (
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

OPERANDS: tuple[Operand, ...] = (
    prerequisites.OPERAND,
    operator_metrics.OPERAND,
    driver.OPERAND,
    toolkit.OPERAND,
    validation.OPERAND,
    device_plugin.OPERAND,
    mps.OPERAND,
    dcgm.OPERAND,
    dcgm_exporter.OPERAND,
    feature_discovery.OPERAND,
    mig_manager.OPERAND,
    node_status_exporter.OPERAND,
)
