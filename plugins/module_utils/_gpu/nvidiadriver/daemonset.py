# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Builds the DaemonSet of a pool of nodes."""

from __future__ import annotations

from dataclasses import replace

from ..._base.types import Manifest
from ..driver.license import license_marks
from ..driver.pod import (
    COMPONENT,
    COMPONENT_LABEL,
    DEFAULT_CONTAINER,
    PRECOMPILED_LABEL,
)
from ..driver.pool import Pool, pool_images, pool_pod, why_not_precompiled
from ..fields import SpecError
from ..images import (
    precompiled_image,
    tagged_image,
    with_os,
)
from ..nodes import DEPLOY, short_kernel
from ..operand_spec import OperandSpec
from ..pods import APP, Item
from ..preserve_live import keep_texts
from ..scripts import TEXTS
from .app import DriverApp
from .pools import OS_LABEL, account_name, selector_of

_KERNEL_LABEL = "nvidia.com/precompiled.kernel-version"
_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def build_daemon_set(app: DriverApp, pool: Pool) -> Manifest:
    """Build a DaemonSet; NimError if the spec sets no image or refers to a missing object."""
    spec, driver = app.spec, replace(app.spec.driver, root=app.stack.root)
    if pool.kernel and (why := why_not_precompiled(driver)):
        raise SpecError(f"kernel {pool.kernel}: {why}")
    images = pool_images(driver, _image(driver.operand, pool), pool, app.observed)
    pod = pool_pod(driver, images, pool, app.nodes.runtime, app.namespace, app.live)
    account = account_name(app, pool.system.tag)
    _place(app, pool, pod, account)
    labels = {
        APP: pool.name,
        COMPONENT_LABEL: COMPONENT,
        OS_LABEL: pool.system.tag,
        PRECOMPILED_LABEL: str(bool(pool.kernel)).lower(),
        **({_KERNEL_LABEL: short_kernel(pool.kernel)} if pool.kernel else {}),
    }
    own = {**spec.labels, **labels}
    marks = license_marks(app, driver.sources, pool.name)
    manifest = app.child(
        "DaemonSet",
        {
            "selector": {"matchLabels": {APP: pool.name}},
            "updateStrategy": {"type": "OnDelete"},
            "template": {
                "metadata": {
                    "labels": own,
                    "annotations": {**spec.annotations, **DEFAULT_CONTAINER, **marks.pods},
                },
                "spec": pod,
            },
        },
        name=pool.name,
        labels=own,
        annotations={**spec.annotations, "openshift.io/scc": account, **marks.record},
    )
    return keep_texts(manifest, app.live("DaemonSet", pool.name), TEXTS)


def _place(app: DriverApp, pool: Pool, pod: Item, account: str) -> None:
    """Set the node selection and the ServiceAccount of the pods."""
    spec = app.spec
    pod |= {
        "nodeSelector": {f"{DEPLOY}driver": "true", **selector_of(app, pool)},
        "priorityClassName": spec.priority_class,
        "serviceAccountName": account,
        "tolerations": list(spec.tolerations) or [_TOLERATION],
    }
    if spec.node_affinity:
        pod["affinity"]["nodeAffinity"] = dict(spec.node_affinity)
    if spec.pod_security:
        pod["securityContext"] = dict(spec.pod_security)


def _image(operand: OperandSpec, pool: Pool) -> str:
    """The image of the driver; settings of the operator do not override it."""
    image, tag = tagged_image(operand), pool.system.tag
    return precompiled_image(operand, pool.kernel, tag) if pool.kernel else with_os(image, tag)
