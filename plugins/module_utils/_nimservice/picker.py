# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The endpoint picker of `spec.expose.router.eppConfig`: its objects, and whether it is up.

It picks the pod that is to answer a request. A gateway asks it for each request that is routed to
the InferencePool; the Service goes on without it.
"""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Child
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    Observed,
    Read,
    read_object,
    read_presence,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import object_key
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    is_served,
    name_of,
    namespace_of,
    picker,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.inference_pool import (
    PICKER_PORT,
    build_picker_service,
    build_pool,
    lacks_port,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.picker_config import (
    build_config,
    generated_config,
    given_config,
    picker_name,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.picker_deployment import (
    build_picker,
    build_picker_role,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.rbac import (
    build_role_binding,
    build_service_account,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.readiness import (
    Readiness,
    rollout_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.service import service_name

Names = list[tuple[str, str]]


def picker_children(cr: Resource, observed: Observed) -> list[Child]:
    """All of the picker's objects; none without one. NimError if its Service has no name left."""
    if not picker(cr):
        return []
    name = picker_name(cr)
    if service_name(cr) == name:
        raise NimError(
            f"spec.expose.service.name: {name} is the name of the endpoint picker's Service: choose"
            " another, or remove spec.expose.router.eppConfig",
            reason="ServiceFailed",
        )
    objects = [
        build_service_account(cr, observed, name),
        build_picker_role(cr, observed),
        build_role_binding(cr, observed, name),
        *([] if given_config(cr) else [build_config(cr, observed)]),
        build_picker_service(cr, observed),
        build_picker(cr, observed),
        build_pool(cr, observed),
    ]
    return [Child(item) for item in objects]


def picker_reads(cr: Resource, observed: Observed) -> list[Read]:
    """What is to be had, or what may be left of it: nothing of a settled service without a picker.

    Leftovers come with a change of the spec. Then the account, which was made first, tells whether
    there ever was more; after a failure all is looked for, as anything may be left.
    """
    namespace, wanted = namespace_of(cr), _wanted(cr)
    if _may_have_leftovers(cr):
        account = _all(cr)[0]
        has_more = wanted or _has_failed(cr) or observed.object(*account)
        wanted = _all(cr) if has_more else [account]
    reads = [read_object(kind, namespace, name) for kind, name in wanted]
    if given_config(cr) and _is_known_to_wait(cr, observed):
        reads.append(read_presence("ConfigMap", namespace, given_config(cr)))
    return reads


def picker_leftovers(cr: Resource, observed: Observed) -> Names:
    """What is there of a picker and is not to be; the account, by which it is found, comes last."""
    kept = {*_wanted(cr), ("Service", service_name(cr)), ("ConfigMap", given_config(cr))}
    return [item for item in reversed(_all(cr)) if item not in kept and observed.object(*item)]


def picker_readiness(cr: Resource, observed: Observed) -> Readiness:
    """How far the picker is; ready if there is none to have."""
    if not picker(cr):
        return Readiness(True, "")
    if lacks_port(cr):
        return Readiness(
            False,
            f"spec.expose.router.eppConfig.ports lacks {PICKER_PORT}/TCP, where the InferencePool"
            " asks the picker: add it",
        )
    if missing := _missing_config(cr, observed):
        return Readiness(False, f"Waiting for {missing}, which does not exist", moving=True)
    live = observed.object("Deployment", picker_name(cr))
    if live is None:
        return Readiness(False, f'deployment "{picker_name(cr)}" is not there yet', moving=True)
    return rollout_of(live)


def _all(cr: Resource) -> Names:
    """All objects that a picker may have, in the order in which they are made."""
    name = picker_name(cr)
    return [
        ("ServiceAccount", name),
        ("Role", name),
        ("RoleBinding", name),
        ("ConfigMap", generated_config(cr)),
        ("Service", name),
        ("Deployment", name),
        ("InferencePool", name_of(cr)),
    ]


def _wanted(cr: Resource) -> Names:
    """Those that this one is to have."""
    if not picker(cr):
        return []
    return [item for item in _all(cr) if item[0] != "ConfigMap" or not given_config(cr)]


def _has_failed(cr: Resource) -> bool:
    return bool((cr.get("status") or {}).get("state") == "Failed")


def _may_have_leftovers(cr: Resource) -> bool:
    """Whether a picker may be left of another spec; a service that is new had none before."""
    return bool(cr.get("status")) and not is_served(cr)


def _is_known_to_wait(cr: Resource, observed: Observed) -> bool:
    key = object_key("Deployment", picker_name(cr))
    return observed.has(key) and not rollout_of(observed.get(key)).ready


def _missing_config(cr: Resource, observed: Observed) -> str:
    """The user's ConfigMap, if it was looked for in vain; pods wait for it."""
    key = object_key("ConfigMap", given_config(cr))
    if not given_config(cr) or not observed.has(key) or observed.get(key):
        return ""
    return f'ConfigMap "{given_config(cr)}" of spec.expose.router.eppConfig.configMapRef'
