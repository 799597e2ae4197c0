# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reads and desired children of a NeMo service."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from .._base.errors import NimError
from .._base.types import Fields, Manifest
from .._builders import autoscaler, deployment
from .._builders.claim_users import blocking_reads, explain_claim
from .._builders.env import merge_env, normalize_env
from .._builders.expose import (
    annotation_violations,
    build_http_route,
    build_ingress,
    label_violations,
)
from .._builders.inputs import (
    Missing,
    input_reads,
    is_restart_due,
    join_missing,
    live_pod_annotations,
    record_annotation,
    record_inputs,
    restart_annotation,
)
from .._builders.name_rules import check_name, check_not_reserved
from .._builders.pod import pull_secrets, without_empty
from .._builders.pvc import build_claim, refuse_foreign_claim
from .._builders.rbac import account_children, account_reads
from .._builders.replicas import Scaling, record_replicas, scaling_reads, wanted_replicas
from .._builders.rollout import readiness_of_deployment
from .._builders.service import build_service
from .._builders.service_monitor import build_service_monitor
from .._builders.tenant_limits import refuse, root_user_violations
from .._builders.traffic import selector_reads
from .._builders.unready_pods import pods_of, unready_reads, why_unready
from .._builders.within_limits import within_limits
from .._engine.desired import Child, Desired
from .._engine.metadata import Labels
from .._engine.reads import Read, ReadChild, ReadObject, ReadPresence, ReadSecretPlaceholders
from .app import PORT_API, NemoApp

_ALWAYS = ("Service", "Deployment")


def _build_ingress(app: NemoApp) -> Manifest:
    return build_ingress(app, app.spec.expose, app.name, _legacy_spec)


def _build_http_route(app: NemoApp) -> Manifest:
    return build_http_route(app, app.spec.expose, app.name)


def _build_autoscaler(app: NemoApp) -> Manifest:
    spec = app.spec
    return autoscaler.build_autoscaler(app, spec.autoscaler or {}, spec.autoscaler_annotations)


def _build_monitor(app: NemoApp) -> Manifest:
    return build_service_monitor(app, {PORT_API: ""}, app.spec.service_monitor or {})


FEATURES: tuple[
    tuple[str, t.Callable[[NemoApp], bool], t.Callable[[NemoApp], Manifest]],
    ...,
] = (
    ("Ingress", lambda app: "Ingress" in app.spec.expose.kinds, _build_ingress),
    ("HTTPRoute", lambda app: "HTTPRoute" in app.spec.expose.kinds, _build_http_route),
    ("HorizontalPodAutoscaler", lambda app: app.spec.autoscaler is not None, _build_autoscaler),
    ("ServiceMonitor", lambda app: app.spec.service_monitor is not None, _build_monitor),
)
"""kind, condition, builder; each object has the custom resource's name"""


def reads(app: NemoApp) -> list[Read]:
    """Children (including leftovers of disabled features), inputs, and pods if some are missing."""
    features = [
        kind for kind, is_wanted, _build in FEATURES if is_wanted(app) or app.may_have_leftovers
    ]
    kinds = [*_ALWAYS, *features]
    found = account_reads(app, has_rules=bool(app.grants()))
    found += [ReadChild(kind, app.namespace, app.name) for kind in kinds]
    found += _secret_reads(app)
    if app.spec.claim:
        found.append(ReadObject("PersistentVolumeClaim", app.namespace, app.spec.claim.name))
    found += [*app.more_reads(), *input_reads(app, app.inputs())]
    if app.was_read("Deployment"):
        live = app.live("Deployment")
        is_awaited = readiness_of_deployment(live).awaits_pods
        pods = unready_reads(pods_of(app, "app", app.name), live, is_awaited=is_awaited)
        found += pods
        if pods and app.spec.claim:
            found += blocking_reads(app, app.spec.claim.name, _why(app))
        found += scaling_reads(app, scaling_of(app))
        if live is None or not app.is_settled:
            found += selector_reads(app)
    return found


def find_cause(app: NemoApp) -> str:
    """Why the pods are not ready; empty if unknown."""
    claim = app.spec.claim.name if app.spec.claim else ""
    return explain_claim(app, claim, _why(app))


def _why(app: NemoApp) -> str:
    return why_unready(app, pods_of(app, "app", app.name), app.live("Deployment"))


def _secret_reads(app: NemoApp) -> list[Read]:
    """Our Secret, without its values. An invalid spec is ignored here: `desired` reports it."""
    try:
        secret = app.secret()
    except NimError:
        secret = None
    if secret:
        return [
            ReadSecretPlaceholders("Secret", app.namespace, app.name, tuple(secret["data"].items()))
        ]
    is_left = app.url_key and app.may_have_leftovers
    return [ReadPresence("Secret", app.namespace, app.name)] if is_left else []


@within_limits
def desired(app: NemoApp) -> Desired:
    """The wanted and unwanted children; NimError if the spec is invalid or forbidden.

    While an input of the Deployment is missing, the list omits the Deployment, so an existing one
    continues unchanged. For objects that only pods refer to, the pods themselves wait.
    """
    check_name(app.resource, is_label=True)
    check_not_reserved(app.resource)
    refuse(
        [
            *root_user_violations(app, app.pod_security().get("runAsUser")),
            *annotation_violations(app, app.spec.expose),
            *label_violations(app, app.spec.expose),
        ]
    )
    made = [
        build_service(
            app, _service_ports(app), dict.fromkeys(app.selected_by, app.name), app.spec.expose
        ),
    ]
    made += [build(app) for _kind, is_wanted, build in FEATURES if is_wanted(app)]
    wanted = account_children(app, [grant.role_rule() for grant in app.grants()])
    wanted.children.extend(Child(item) for item in made)
    wanted.unwanted.extend(
        (kind, app.name) for kind, is_wanted, _build in FEATURES if not is_wanted(app)
    )
    wanted.children.extend(_claims(app))
    missing, secret = find_missing(app), app.secret()
    if missing and missing.is_blocking:
        return replace(wanted, children=autoscaler.keep_aimed(app, wanted.children))
    wanted.children.extend(Child(item) for item in app.config_maps())
    if secret:
        wanted.children.append(Child(secret))
    elif app.url_key:
        wanted.unwanted.append(("Secret", app.name))
    wanted.children.append(Child(build_deployment(app)))
    return wanted


def find_missing(app: NemoApp) -> Missing | None:
    """The missing objects that the pods need, if any."""
    missing, claim = [], app.spec.claim
    if claim and not claim.is_created:
        kind = "PersistentVolumeClaim"
        if app.was_read(kind, claim.name) and app.live(kind, claim.name) is None:
            text = (
                f'Waiting for {kind} "{claim.name}", which does not exist: create it, or set'
                f" {claim.field}.create"
            )
            missing.append(Missing(f"{kind}NotFound", text))
    return join_missing([*missing, *app.missing()])


def build_deployment(app: NemoApp) -> Manifest:
    """The Deployment, annotated with hashes of the inputs that its pods read at startup."""
    rendered = app.rendered()
    record = record_inputs(app, app.inputs(), rendered)
    annotations = {
        **app.annotations,
        **restart_annotation(app, record),
        **_rendered_annotations(app, rendered, is_due=is_restart_due(app, record)),
    }
    selector = selector_of(app)
    template = deployment.pod_template(
        app, _pod(app), selector, app.live("Deployment"), annotations
    )
    return deployment.build_deployment(
        app,
        template,
        selector,
        replicas=wanted_replicas(app, scaling_of(app)),
        annotations={
            **app.annotations,
            **record_annotation(record),
            **record_replicas(app, scaling_of(app)),
        },
    )


def selector_of(app: NemoApp) -> Labels:
    """The labels by which the Deployment selects its pods."""
    return {"app": app.name}


def scaling_of(app: NemoApp) -> Scaling:
    """The scaling of the Deployment."""
    scaler = app.live("HorizontalPodAutoscaler")
    return Scaling(app.live("Deployment"), app.spec.replicas, app.spec.autoscaler, scaler)


def _rendered_annotations(app: NemoApp, rendered: Labels, *, is_due: bool) -> Labels:
    """Hashes of the rendered files; pods that need no restart keep theirs, as after a takeover."""
    if app.live("Deployment") is None or is_due:
        return rendered
    return {name: value for name, value in live_pod_annotations(app).items() if name in rendered}


def _pod(app: NemoApp) -> dict[str, t.Any]:
    return without_empty(
        {
            **app.spec.scheduling,
            "serviceAccountName": app.name,
            "imagePullSecrets": pull_secrets(dict.fromkeys(app.spec.image.pull_secrets)),
            "securityContext": app.pod_security(),
            "initContainers": [_container(item) for item in app.init_containers()],
            "containers": [_container(_main(app))],
            "volumes": app.volumes(),
        }
    )


def _main(app: NemoApp) -> dict[str, t.Any]:
    spec = app.spec
    return {
        **app.like_main(f"{app.name}-ctr"),
        "command": spec.command,
        "args": spec.args,
        "ports": [
            {"name": name, "containerPort": number, "protocol": "TCP"}
            for name, number in app.ports.items()
        ],
        "env": merge_env(app.env(), spec.env),
        "resources": spec.resources,
        "volumeMounts": app.mounts(),
        **app.probes,
    }


def _container(fields: Fields) -> dict[str, t.Any]:
    return without_empty({**fields, "env": normalize_env(fields.get("env") or [])})


def _claims(app: NemoApp) -> list[Child]:
    """The claim, unless a claim of that name exists. NimError if its size is not a quantity."""
    claim = app.spec.claim
    if not claim or not claim.is_created:
        return []
    refuse_foreign_claim(app, claim, app.live("Deployment"))
    if app.live("PersistentVolumeClaim", claim.name) is not None:
        return []
    built = build_claim(app, claim, app.labels)
    return [Child(built, create_only=True)]


def _service_ports(app: NemoApp) -> dict[str, int]:
    return {**app.ports, PORT_API: app.spec.expose.ports[PORT_API]}


def _legacy_spec(given: Fields, service: str) -> Fields:
    """The spec of an Ingress from `spec.expose.ingress.spec`."""
    backend = {"service": {"name": service, "port": {"name": PORT_API}}}
    paths = [
        {
            "path": item.get("path") or "/",
            "pathType": item.get("pathType") or "Prefix",
            "backend": backend,
        }
        for item in given.get("paths") or [{}]
    ]
    rule = without_empty({"host": given.get("host"), "http": {"paths": paths}})
    return {"ingressClassName": given["ingressClassName"], "rules": [rule]}
