# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Attacks generated from the CRDs: text in every field, marker keys in every free map, in spec and status."""

from __future__ import annotations

import copy
import typing as t
from functools import partial

from nimops_harness.workload import make_nimservice

from .bases import rename
from .fields import Json, Place, list_places
from .harness import KINDS, Harness, Seen, attack, path_to
from .pack import Ask, Packed, Packer, Packing, Refusal
from .payloads import (
    CLASSES,
    MARKER_KEYS,
    PACKED,
    PayloadClass,
    apply_defaults,
    find_loose_in_cel,
    make_token,
)
from .policies import without_policies, without_rules

T = t.TypeVar("T")

JINJA = CLASSES[0]
NOT_EVALUATED = "refused at admission, or taken as text; the resource is answered, and deleted"


def pack(
    harness: Harness, kind: str, payload: PayloadClass, namespace: str, parts: t.Sequence[str]
) -> Packing:
    """Pack payloads into new resources of a kind."""
    ask = harness.dry_run(namespace)
    packer = Packer(kind, harness.crds[kind], payload, str(harness.canary), ask)
    return packer.pack(harness.bases[kind], list_places(harness.crds[kind], *parts))


# --- text in every field -------------------------------------------------------------------------


def attack_fields(kind: str, payload: PayloadClass, harness: Harness) -> Seen:
    namespace = harness.namespace(f"{kind.lower()}-{payload.name}")
    packing = pack(harness, kind, payload, namespace, ("spec", "metadata"))
    packed = some(harness, packing.packed)
    problems = [] if packed else ["no resource carries a payload: the attack did not take place"]
    resources = [rename(item.resource, f"p{number}") for number, item in enumerate(packed)]
    refusals = [harness.create(namespace, resource) for resource in resources]
    problems += [f"a packed resource was refused: {refusal}" for refusal in refusals if refusal]
    problems += follow(harness, namespace, kind, [f"p{number}" for number in range(len(packed))])
    problems += loose_in_cel(harness, namespace, packed)
    problems += harness.find_undeleted(
        kind, namespace, [item["metadata"]["name"] for item in resources]
    )
    carried = sum(len(item.tokens) for item in packed)
    return Seen.of(
        problems,
        f"{carried} fields in {len(packed)} resources: each answered, nothing evaluated, all deleted; "
        f"{len(packing.refused)} fields refused at admission",
    )


def follow(harness: Harness, namespace: str, kind: str, names: t.Iterable[str]) -> list[str]:
    """Problems once these resources have a status."""
    unanswered = harness.find_unanswered(kind, namespace, names)
    return harness.evaluated(namespace) + unanswered


def loose_in_cel(harness: Harness, namespace: str, packed: t.Iterable[Packed]) -> list[str]:
    """Problems with device selectors that have a payload outside of a text, except for the user's own."""
    tokens = {
        token: place
        for item in packed
        for place, token in item.tokens.items()
        if "celExpressions" not in place.path
    }
    path = f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaimtemplates"
    found = harness.cluster.ask("GET", path).body.get("items") or []
    return [
        f"{tokens[token]} got out of its text in the expression {expression[:80]!r}"
        for expression in find_expressions(found)
        for token in tokens
        if find_loose_in_cel(expression, token)
    ]


def find_expressions(value: t.Any) -> t.Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "expression" and isinstance(item, str):
                yield item
            yield from find_expressions(item)
    elif isinstance(value, list):
        for item in value:
            yield from find_expressions(item)


# --- keys that Ansible takes for something else --------------------------------------------------


def with_markers(harness: Harness, kind: str, key: str, ask: Ask) -> Packing:
    """Resources with a marker key in every free map, and templates in every text."""
    keys = Packer(kind, harness.crds[kind], PayloadClass(key, key, key), str(harness.canary), ask)
    places = list_places(harness.crds[kind], "spec", "metadata")
    templates = harness.shared.setdefault("templates", {})
    if kind not in templates:
        texts = Packer(kind, harness.crds[kind], JINJA, str(harness.canary), ask).pack(
            harness.bases[kind][:1], [place for place in places if not place.is_key]
        )
        templates[kind] = texts.packed[0].resource
    bases = [templates[kind], *harness.bases[kind]]
    return keys.pack(bases, [place for place in places if place.is_key])


def attack_markers(kind: str, harness: Harness) -> Seen:
    """New resources, refused by admission or by the operator."""
    namespace = harness.namespace(f"markers-{kind.lower()}")
    problems, resources, refused = [], [], 0
    keys = MARKER_KEYS[:1] if harness.quick else MARKER_KEYS
    for number, key in enumerate(keys):
        packing = with_markers(harness, kind, key, harness.dry_run(namespace))
        refused += len(packing.refused)
        for index, item in enumerate(
            packing.packed[: 1 if harness.side == "stock" or harness.quick else None]
        ):
            resource = rename(item.resource, f"m{number}{index}")
            if refusal := harness.create(namespace, resource):
                problems.append(f"accepted as a dry run, then refused: {refusal}")
            else:
                resources.append(resource)
    names = [item["metadata"]["name"] for item in resources]
    problems += follow(harness, namespace, kind, names)
    problems += harness.find_undeleted(kind, namespace, names)
    return Seen.of(
        problems,
        f"{refused} keys refused at admission; {len(names)} resources with others: nothing evaluated, all deleted",
    )


def store_markers(harness: Harness) -> None:
    """Store resources before the operator starts, without the rules of the CRDs."""
    namespace = harness.namespace("stored")
    with without_rules(harness), without_policies(harness):
        stored, problems = store(harness, namespace)
    harness.shared["stored"] = (namespace, stored, problems)


def some(harness: Harness, cases: t.Sequence[T]) -> t.Sequence[T]:
    """Only the first case in a quick run, and with stock, where a pass takes seconds."""
    return cases[:1] if harness.side == "stock" or harness.quick else cases


def store(harness: Harness, namespace: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Kinds and names of stored resources, and problems."""
    canary, ask = str(harness.canary), harness.dry_run(namespace)
    probe = service_with_markers("probe", "__ansible_unsafe", canary)
    harness.wait_for("the CRDs without the rules", lambda: ask(probe) is None, 20)
    stored: list[tuple[str, str]] = []
    problems: list[str] = []
    for number, key in enumerate(some(harness, MARKER_KEYS)):
        resources = [service_with_markers(f"plain{number}", key, canary)]
        for kind in KINDS:
            packing = with_markers(harness, kind, key, ask)
            resources += [
                rename(item.resource, f"{kind.lower()}{number}") for item in packing.packed[:1]
            ]
        for resource in resources:
            if refusal := harness.create(namespace, resource):
                problems.append(f"could not be stored: {refusal}")
            stored.append((resource["kind"], resource["metadata"]["name"]))
    return stored, problems


def service_with_markers(name: str, key: str, canary: str) -> Json:
    """A valid NIMService, except for a key in two of its maps, and a template in its environment."""
    token = make_token("stored", key)
    resource = make_nimservice(name)
    resource["spec"] |= {
        "env": [{"name": "PAYLOAD", "value": apply_defaults(JINJA.text, token, canary)}],
        "nodeSelector": {key: "a"},
        "labels": {key: "a", "team": "blue"},
    }
    return resource


@attack(
    "keys-stored",
    "what was stored before the CRDs had rules works but for that key, nothing is evaluated",
    prepare=store_markers,
)
def attack_stored(harness: Harness) -> Seen:
    namespace, stored, problems = t.cast(
        "tuple[str, list[tuple[str, str]], list[str]]", harness.shared["stored"]
    )
    problems = list(problems)
    for kind in KINDS:
        problems += follow(harness, namespace, kind, [name for of, name in stored if of == kind])
    problems += [
        f"{name} is not Ready without that key"
        for kind, name in stored
        if name.startswith("plain")
        if not harness.wait_state(kind, namespace, name, limit=90)
    ]
    for kind in KINDS:
        problems += harness.find_undeleted(
            kind, namespace, [name for of, name in stored if of == kind]
        )
    return Seen.of(
        list(dict.fromkeys(problems)),
        f"{len(stored)} resources: answered, nothing evaluated, all deleted",
    )


# --- the status, which others than the operator may write ----------------------------------------


def write_statuses(harness: Harness) -> None:
    """Write statuses before the operator starts."""
    namespace = harness.namespace("status")
    written: list[tuple[str, str, int]] = []
    for kind in KINDS:
        places = list_places(harness.crds[kind], "status")
        keys = (PayloadClass(key, key, key) for key in MARKER_KEYS[:2])
        for payload in some(harness, (PACKED, JINJA, *keys)):
            is_reserved_key = payload.name.startswith("__")
            wanted = [place for place in places if place.is_key or not is_reserved_key]
            if not wanted:
                continue
            name = f"{kind.lower()}-{payload.name.strip('_').replace('_', '-')}"
            count = write_status(
                harness, namespace, rename(harness.bases[kind][0], name), payload, wanted
            )
            written.append((kind, name, count))
    harness.shared["status"] = (namespace, written)


def write_status(
    harness: Harness, namespace: str, resource: Json, payload: PayloadClass, places: list[Place]
) -> int:
    """Create the resource and fill its status; the number of fields with a payload."""
    kind, name = resource["kind"], resource["metadata"]["name"]
    if refusal := harness.create(namespace, resource):
        raise RuntimeError(f"{name}: {refusal}")
    live = harness.cluster.get(path_to(kind, namespace, name))
    path = f"{path_to(kind, namespace, name)}/status"

    def ask(body: Json) -> Refusal | None:
        return harness.cluster.ask("PUT", f"{path}?dryRun=All", body).refusal

    base = copy.deepcopy(live)
    if payload.name.startswith("__"):  # templates beside the keys
        texts = Packer(kind, harness.crds[kind], JINJA, str(harness.canary), ask).pack(
            [live],
            [place for place in list_places(harness.crds[kind], "status") if not place.is_key],
        )
        base = texts.packed[0].resource if texts.packed else base
    packing = Packer(kind, harness.crds[kind], payload, str(harness.canary), ask).pack(
        [base], places
    )
    for item in packing.packed[:1]:
        harness.cluster.request("PUT", path, item.resource)
        return len(item.tokens)
    return 0


@attack("status-text", NOT_EVALUATED, prepare=write_statuses)
def attack_status(harness: Harness) -> Seen:
    namespace, written = t.cast("tuple[str, list[tuple[str, str, int]]]", harness.shared["status"])
    problems: list[str] = []
    for kind in KINDS:
        names = [name for of, name, _ in written if of == kind]
        problems += follow(harness, namespace, kind, names)
    for kind in KINDS:
        names = [name for of, name, _ in written if of == kind]
        problems += harness.find_undeleted(kind, namespace, names)
    count = sum(number for *_, number in written)
    if not count:
        problems.append("no status carries a payload: the attack did not take place")
    return Seen.of(
        list(dict.fromkeys(problems)),
        f"{count} fields of {len(written)} statuses: nothing evaluated, each answered and deleted",
    )


for _kind in KINDS:
    attack(f"keys-{_kind.lower()}", NOT_EVALUATED, quick=_kind == "NIMService")(
        partial(attack_markers, _kind)
    )
for _kind in KINDS:
    for _payload in (PACKED, *CLASSES):
        attack(
            f"text-{_kind.lower()}-{_payload.name}",
            NOT_EVALUATED,
            sides=("prefork", "stock") if _payload is PACKED else ("prefork",),
            quick=_payload is PACKED and _kind == "NIMService",
        )(partial(attack_fields, _kind, _payload))
