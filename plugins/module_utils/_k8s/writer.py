# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Carries out a plan in one go: for verbs, which have no tasks, and where tasks cannot do it."""

from __future__ import annotations

import json
import re
import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import (
    Outcome,
    Refusal,
    key_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import FIELD_MANAGER
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import api_path
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import ApiError, Client
from ansible_collections.nimops.nim.plugins.module_utils._k8s.keys import generate_keys
from ansible_collections.nimops.nim.plugins.module_utils._k8s.outcome import (
    is_race,
    refusal_text,
)

Json = dict[str, t.Any]

_BEYOND = re.compile("[\U00010000-\U0010ffff]")


def exceeds_tasks(plan: Json) -> bool:
    """Whether `kubernetes.core.k8s` cannot apply this: characters beyond U+FFFF, such as emoji.

    The official client escapes them as pairs of surrogates. That is JSON, but server-side apply is
    YAML to the API server, which refuses such escapes.
    """
    return bool(_BEYOND.search(json.dumps(plan["apply"], ensure_ascii=False)))


def carry_out(client: Client, plan: Json) -> Outcome:
    """Claim, apply and delete what `plan_for` found; what is refused does not stop the rest.

    Raises ApiError if there is no answer at all.
    """
    refusals = [Refusal(**item) for item in plan["refusals"]]
    raced: list[str] = []
    written, deleted = {}, []
    for patch in plan["adopt"]:
        # What cannot be claimed now is claimed at the next pass; applying goes on without.
        _try(client.patch, _path(patch), patch)
    for manifest in generate_keys(plan["apply"]):
        found, error = _try(client.apply, _path(manifest), manifest, FIELD_MANAGER)
        if error:
            _sort_error(manifest, error, raced, refusals)
        else:
            written[key_of(manifest)] = {**found, "kind": manifest["kind"]}
    for reference in plan["prune"]:
        uid = reference["metadata"].get("uid") or ""
        _found, error = _try(client.delete, _path(reference), uid)
        if error and error.status != 404:
            _sort_error(reference, error, raced, refusals)
        else:
            deleted.append(key_of(reference))
    return Outcome(
        written=written,
        deleted=deleted,
        raced=raced,
        refusals=refusals,
        failure=plan["failure"],
        failure_reason=plan["failure_reason"] or "Failed",
    )


def _try(call: t.Callable[..., Json], *arguments: t.Any) -> tuple[Json, ApiError | None]:
    try:
        return call(*arguments), None
    except ApiError as error:
        if not error.status:
            raise
        return {}, error


def _path(manifest: Json) -> str:
    metadata = manifest["metadata"]
    return api_path(manifest["kind"], metadata["namespace"], metadata["name"])


def _sort_error(manifest: Json, error: ApiError, raced: list[str], refusals: list[Refusal]) -> None:
    if is_race(error.status, str(error)):
        raced.append(key_of(manifest))
        return
    kind = manifest["kind"]
    message = refusal_text(str(error), kind, manifest["apiVersion"])
    refusals.append(Refusal(kind, manifest["metadata"]["name"], message))
