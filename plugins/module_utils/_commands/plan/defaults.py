# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Default values of the API server: removing them from an object changes nothing."""

from __future__ import annotations

import typing as t

_DEFAULTS: dict[str, tuple[t.Any, ...]] = {
    # pods
    "apiVersion": ("v1",),
    "defaultMode": (420,),
    "dnsPolicy": ("ClusterFirst",),
    "failureThreshold": (3,),
    "imagePullPolicy": ("Always", "IfNotPresent"),
    "periodSeconds": (10,),
    "protocol": ("TCP",),
    "restartPolicy": ("Always",),
    "schedulerName": ("default-scheduler",),
    "scheme": ("HTTP",),
    "successThreshold": (1,),
    "terminationGracePeriodSeconds": (30,),
    "terminationMessagePath": ("/dev/termination-log",),
    "terminationMessagePolicy": ("File",),
    "timeoutSeconds": (1,),
    # Deployments, and groups of pods
    "partition": (0,),
    "progressDeadlineSeconds": (600,),
    "replicas": (1,),
    "revisionHistoryLimit": (10,),
    # Services
    "internalTrafficPolicy": ("Cluster",),
    "sessionAffinity": ("None",),
    "type": ("ClusterIP", ""),
    # routes and pools
    "failureMode": ("FailClose",),
    "group": ("", "gateway.networking.k8s.io"),
    "kind": ("Gateway", "Service"),
    "port": (9002,),
    "weight": (1,),
}
_ALLOCATED = {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "nodePort"}
_DERIVED = {"serviceAccount"}
"""The deprecated alias of `serviceAccountName`."""


def is_default(name: str, value: t.Any) -> bool:
    """Whether the API server sets a field of this name to this (or an arbitrary) value by default.

    The kind does not matter, as the names have the same meaning in all kinds that we write.
    """
    if name in _ALLOCATED | _DERIVED or value is None or value is False or value in ({}, [], ""):
        return True
    return value in _DEFAULTS.get(name, ())
