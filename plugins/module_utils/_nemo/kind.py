# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The common declaration of the NeMo kinds."""

from __future__ import annotations

import typing as t

from .._builders.rbac import SCC_GROUP, SCC_RESOURCE
from .._builders.traffic import SELECTOR_ACCESS
from .._engine.kind import Access, Kind, Rule
from .app import NemoApp
from .children import desired, reads
from .grants import Grant
from .status import assess, refuse

_CHILD = "read write delete"


def nemo_kind(
    app: type[NemoApp],
    name: str,
    short_name: str,
    *,
    finalizer_name: str = "",
    access: tuple[Access, ...] = (),
    grants: t.Iterable[Grant] = (),
) -> Kind[NemoApp]:
    """A NeMo kind; ``access``: its additional permissions; ``grants``: those of its Role."""
    return Kind(
        name=name,
        plural=f"{name.lower()}s",
        short_names=(short_name,),
        app=app,
        reads=reads,
        desired=desired,
        assess=assess,
        refuse=refuse,
        finalizer_name=finalizer_name,
        reconcile_period="1m",
        watches_annotations=True,
        is_scalable=True,
        component="nemo",
        access=(
            Access("ServiceAccount", _CHILD, "identity of the pods"),
            Access("Role", _CHILD, "what the pods may do"),
            Access("RoleBinding", _CHILD, "binds the Role to the ServiceAccount"),
            Access("Service", _CHILD, "address"),
            Access("Deployment", _CHILD, "workload"),
            Access("Ingress", _CHILD, "external access"),
            Access("HTTPRoute", _CHILD, "external access"),
            Access(
                "HorizontalPodAutoscaler",
                f"{_CHILD} list",
                "autoscaling; listed to find a foreign one where the replica count differs",
            ),
            Access("ServiceMonitor", _CHILD, "scraping"),
            Access("Pod", "list", "why they are not ready"),
            Access(
                "Secret", "read", "whether those that the spec refers to exist and have changed"
            ),
            *SELECTOR_ACCESS,
            *access,
        ),
        rules=(
            Rule(SCC_GROUP, SCC_RESOURCE, "use", "the Roles of pods grant it", "nonroot"),
            *(rule for grant in grants for rule in grant.operator_rules(name)),
        ),
    )
