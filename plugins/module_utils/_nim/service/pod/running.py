# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Keeps running pods as they are if only the operator or the NIMCache has changed."""

from __future__ import annotations

import typing as t

from ...._base.types import Json
from ...._builders.pod_templates import without_scaling
from ...._engine.kept_lists import has_equivalent
from ...._engine.metadata import Labels
from ...cache_versions import CACHE_STORE
from ..app import NIMServiceApp
from ..model_store import Store, only_profile
from ..workload import live_template, live_workload, spec_of
from . import drain

PROFILE = "nimops.nim/profile"
"""Annotation of a workload: the profile of its pods, because the cache had no other one."""


class Form(t.NamedTuple):
    """Properties that may differ between pods of the same spec.

    ``requires_key``: as in `base_env`. Releases of the reference before 3.1.3 require the key of
    `spec.authSecret`, and so did ours. ``profile``: the only profile of the cache, if the spec
    has none. The reference and our former releases do not pass it on, and a NIMBuild may add a
    second one. ``drain``: the operator's default of `drain.py` when the pods were created.
    """

    requires_key: bool = False
    profile: str = ""
    drain: int = 0


class Running(t.NamedTuple):
    """The pods to have, and the annotations of their workload."""

    pods: Json
    annotations: Labels


def keep_running(
    app: NIMServiceApp, store: Store, live: Json, build: t.Callable[[Form], Json]
) -> Running:
    """The pods that ``build`` makes, in the form of the live ones if nothing else differs.

    A change of the form restarts the pods, so it waits for a change that also does.
    """
    wanted = Form(profile=only_profile(app, store), drain=drain.default_seconds(app))
    first = build(wanted)
    if not live:
        return _running(store, wanted, first)
    annotations = ((live_workload(app) or {}).get("metadata") or {}).get("annotations") or {}
    profiles = dict.fromkeys((wanted.profile, str(annotations.get(PROFILE) or "")))
    keys = (False, True) if app.spec.auth_secret else (False,)
    kept = drain.kept_default(app, spec_of(live_template(app)), annotations)
    seconds = wanted.drain if kept is None else kept
    for form in (Form(key, profile, seconds) for profile in profiles for key in keys):
        pods = first if form == wanted else build(form)
        if has_equivalent(live, without_scaling(pods)):
            return _running(store, form, pods)
    return _running(store, wanted, first)


def _running(store: Store, form: Form, pods: Json) -> Running:
    given = {
        PROFILE: form.profile,
        drain.RECORD: str(form.drain or ""),
        CACHE_STORE: store.version,
    }
    return Running(pods, {key: value for key, value in given.items() if value})
