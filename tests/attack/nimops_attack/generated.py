# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Attacks generated from the CRDs: text in every field, marker keys in every free map, in spec and status."""

from __future__ import annotations

import typing as t
from functools import cache, partial
from pathlib import Path

import yaml
from nimops_harness.cluster import Json
from nimops_harness.crds import read_samples, read_schemas
from nimops_harness.errors import HarnessError
from nimops_harness.mentions import list_texts
from nimops_harness.workload import make, make_nimservice

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


@cache
def read_bases() -> dict[str, list[Json]]:
    """Resources for payloads by kind: the samples, and those of bases.yaml; pipelines have the specs of services."""
    found = {kind: list(samples) for kind, samples in read_samples().items()}
    for item in yaml.safe_load(Path(__file__).with_name("bases.yaml").read_text()):
        found[item["kind"]].append(make(item["kind"], "base", item["spec"]))
    for service in found["NIMService"]:
        entry = {"name": "one", "enabled": True, "spec": service["spec"]}
        found["NIMPipeline"].append(make("NIMPipeline", "base", {"services": [entry]}))
    return found


def rename(resource: Json, name: str) -> Json:
    return resource | {"metadata": resource["metadata"] | {"name": name}}


def pack(
    scene: Scene,
    payload: PayloadClass,
    bases: t.Sequence[Json],
    parts: t.Sequence[str] = ("spec", "metadata"),
    is_key: bool | None = None,
    ask: Ask | None = None,
) -> Packing:
    """Pack payloads into resources of a kind, in all places, or in keys or texts only."""
    kind, schema = bases[0]["kind"], read_schemas()[bases[0]["kind"]]
    places = [it for it in list_places(schema, *parts) if is_key in (None, it.is_key)]
    return Packer(kind, schema, payload, scene.canary, ask or scene.dry_run).pack(bases, places)


def some(scene: Scene, cases: t.Sequence[T]) -> t.Sequence[T]:
    """Only the first case in a quick run, and with stock, where a pass takes seconds."""
    return cases[:1] if scene.side == "stock" or scene.quick else cases


def judge(scene: Scene) -> None:
    """The resources have a status, and nothing was evaluated."""
    scene.expect_answered()
    scene.expect_unevaluated()


# --- text in every field -------------------------------------------------------------------------


def attack_fields(kind: str, payload: PayloadClass, scene: Scene) -> str:
    packing = pack(scene, payload, read_bases()[kind])
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
    claims = scene.cluster.ask("GET", scene.path("ResourceClaimTemplate")).body
    for expression in [it for path, it, _ in list_texts(claims) if path.endswith(".expression")]:
        for token, place in tokens.items():
            is_loose = find_loose_in_cel(expression, token)
            scene.expect(not is_loose, f"{place} got out of its text in {expression[:80]!r}")


# --- keys that Ansible takes for something else --------------------------------------------------


def with_markers(scene: Scene, kind: str, keys: t.Sequence[str]) -> t.Iterator[Packing]:
    """By key: resources with it in every free map, and with templates in every text."""
    bases = read_bases()[kind]
    texts = pack(scene, JINJA, bases[:1], is_key=False).packed[0].resource
    for key in keys:
        yield pack(scene, PayloadClass(key, key, key), [texts, *bases], is_key=True)


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
    markers = [PayloadClass(key, key, key) for key in MARKER_KEYS[:2]]
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
    if refusal := scene.create(rename(read_bases()[kind][0], name)):
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
    for _payload in (PACKED, *CLASSES):
        attack(
            f"text-{_kind.lower()}-{_payload.name}",
            NOT_EVALUATED,
            sides=("prefork", "stock") if _payload is PACKED else ("prefork",),
            quick=_payload is PACKED and _kind == "NIMService",
        )(partial(attack_fields, _kind, _payload))
