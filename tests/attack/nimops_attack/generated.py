# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Attacks generated from the CRDs: text in every field, marker keys in every free map, in spec and status."""

from __future__ import annotations

import typing as t
from functools import partial

from nimops_harness.cluster import Json
from nimops_harness.errors import HarnessError
from nimops_harness.workload import make_nimservice

from .bases import rename
from .fields import list_places
from .harness import KINDS, Scene, attack, refusal_of
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
from .policies import is_rule_about_keys, without, without_policies

T = t.TypeVar("T")

JINJA = CLASSES[0]
NOT_EVALUATED = "refused at admission, or taken as text; the resource is answered, and deleted"


def pack(
    scene: Scene,
    payload: PayloadClass,
    bases: t.Sequence[Json],
    parts: t.Sequence[str] = ("spec", "metadata"),
    is_key: bool | None = None,
    ask: Ask | None = None,
) -> Packing:
    """Pack payloads into resources of a kind, in all places, or in keys or texts only."""
    kind, schema = bases[0]["kind"], scene.harness.crds[bases[0]["kind"]]
    places = [it for it in list_places(schema, *parts) if is_key in (None, it.is_key)]
    return Packer(kind, schema, payload, scene.canary, ask or scene.dry_run).pack(bases, places)


def some(scene: Scene, cases: t.Sequence[T]) -> t.Sequence[T]:
    """Only the first case in a quick run, and with stock, where a pass takes seconds."""
    return cases[:1] if scene.side == "stock" or scene.quick else cases


def judge(scene: Scene) -> None:
    """The resources have a status, and nothing was evaluated."""
    scene.expect_answered()
    scene.expect_unevaluated()


def as_marker(key: str) -> PayloadClass:
    return PayloadClass(key, key, key)


# --- text in every field -------------------------------------------------------------------------


def attack_fields(kind: str, payload: PayloadClass, scene: Scene) -> str:
    packing = pack(scene, payload, scene.harness.bases[kind])
    packed = some(scene, packing.packed)
    scene.expect(packed, "no resource carries a payload: the attack did not take place")
    scene.make(*(rename(item.resource, f"p{number}") for number, item in enumerate(packed)))
    judge(scene)
    expect_quoted_in_cel(scene, packed)
    scene.expect_deleted()
    carried = sum(len(item.tokens) for item in packed)
    return (
        f"{carried} fields in {len(packed)} resources: each answered, nothing evaluated, all deleted; "
        f"{len(packing.refused)} fields refused at admission"
    )


def expect_quoted_in_cel(scene: Scene, packed: t.Iterable[Packed]) -> None:
    """Problems are device selectors with a payload outside of a text, except for the user's own."""
    tokens = {
        token: place
        for item in packed
        for place, token in item.tokens.items()
        if "celExpressions" not in place.path
    }
    claims = scene.cluster.ask("GET", scene.path("ResourceClaimTemplate")).body.get("items")
    for expression in find_expressions(claims):
        for token, place in tokens.items():
            is_loose = find_loose_in_cel(expression, token)
            scene.expect(not is_loose, f"{place} got out of its text in {expression[:80]!r}")


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


def with_markers(scene: Scene, kind: str, keys: t.Sequence[str]) -> t.Iterator[Packing]:
    """By key: resources with it in every free map, and with templates in every text."""
    bases = scene.harness.bases[kind]
    texts = pack(scene, JINJA, bases[:1], is_key=False).packed[0].resource
    for key in keys:
        yield pack(scene, as_marker(key), [texts, *bases], is_key=True)


def attack_markers(kind: str, scene: Scene) -> str:
    """New resources, refused by admission or by the operator."""
    refused = 0
    keys = MARKER_KEYS[:1] if scene.quick else MARKER_KEYS
    for number, packing in enumerate(with_markers(scene, kind, keys)):
        refused += len(packing.refused)
        for index, item in enumerate(some(scene, packing.packed)):
            scene.make(rename(item.resource, f"m{number}{index}"))
    count = len(scene.read_made())
    judge(scene)
    scene.expect_deleted()
    return (
        f"{refused} keys refused at admission;"
        f" {count} resources with others: nothing evaluated, all deleted"
    )


@attack(
    "keys-stored",
    "what was stored before the CRDs had rules works but for that key, nothing is evaluated",
)
def attack_stored(scene: Scene) -> str:
    """The operator starts beside resources that were stored without the rules of the CRDs."""
    scene.harness.stop()
    keys = some(scene, MARKER_KEYS)
    plain = {f"plain{number}": key for number, key in enumerate(keys)}
    with without(scene.cluster, is_rule_about_keys), without_policies(scene.cluster):
        probe = service_with_markers("probe", "__ansible_unsafe", scene.canary)
        scene.wait_for(lambda: scene.dry_run(probe) is None, 20)
        for name, key in plain.items():
            scene.make(service_with_markers(name, key, scene.canary))
        for kind in KINDS:
            for number, packing in enumerate(with_markers(scene, kind, keys)):
                for item in packing.packed[:1]:
                    scene.make(rename(item.resource, f"{kind.lower()}{number}"))
    scene.harness.start()
    judge(scene)
    for name in plain:
        scene.expect(scene.wait_state(name, limit=90), f"{name} is not Ready without that key")
    count = len(scene.read_made())
    scene.expect_deleted()
    return f"{count} resources: answered, nothing evaluated, all deleted"


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


# --- the status, which others than the operator may write ----------------------------------------


@attack("status-text", NOT_EVALUATED)
def attack_status(scene: Scene) -> str:
    """The operator starts beside resources whose status has payloads."""
    scene.harness.stop()
    markers = map(as_marker, MARKER_KEYS[:2])
    payloads = some(scene, (PACKED, JINJA, *markers))
    written = [write_status(scene, kind, payload) for kind in KINDS for payload in payloads]
    scene.harness.start()
    judge(scene)
    scene.expect_deleted()
    scene.expect(any(written), "no status carries a payload: the attack did not take place")
    return (
        f"{sum(written)} fields of {len(written)} statuses:"
        " nothing evaluated, each answered and deleted"
    )


def write_status(scene: Scene, kind: str, payload: PayloadClass) -> int:
    """Create a resource and fill its status; the number of fields with a payload."""
    name = f"{kind.lower()}-{payload.name.strip('_').replace('_', '-')}"
    if refusal := scene.create(rename(scene.harness.bases[kind][0], name)):
        raise HarnessError(f"{name}: {refusal}")
    path = f"{scene.path(kind, name)}/status"
    base = scene.read(kind, name) | {"kind": kind}

    def ask(body: Json) -> Refusal | None:
        return refusal_of(scene.cluster.ask("PUT", f"{path}?dryRun=All", body))

    is_key = payload.name in MARKER_KEYS
    if is_key:  # templates beside the keys
        for item in pack(scene, JINJA, [base], ["status"], False, ask).packed[:1]:
            base = item.resource
    for item in pack(scene, payload, [base], ["status"], is_key or None, ask).packed[:1]:
        scene.cluster.request("PUT", path, item.resource)
        return len(item.tokens)
    return 0


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
