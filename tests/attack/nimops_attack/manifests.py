# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Manifests of models, whose authors need no permissions in the cluster."""

from __future__ import annotations

import json
import time
import typing as t
from functools import partial

from nimops_harness.cluster import Json
from nimops_harness.runtime import MemoryWatch
from nimops_harness.workload import make_nimcache, make_nimservice

from .harness import Scene, attack, conditions_of, messages_of
from .payloads import CLASSES, MARKER_KEYS, apply_defaults, make_token

JINJA, YAML = CLASSES[0], CLASSES[1]
GROWTH_MIB = 700
_STAMP = "2026-01-01T00:00:00.000000000Z stdout F "
_HEAD = """\
{id}:
  model: {model}
  release: 1.0.0
  tags:
    gpu: H100
    gpu_device: 2330:10de
    llm_engine: tensorrt_llm
    tp: "1"
    precision: fp8
    profile: throughput
{more}"""


def make_profile(identity: str, tags: str = "", model: str = "acme/tiny-llm") -> str:
    return _HEAD.format(id=identity, model=model, more=tags)


def tag(key: str, value: str) -> str:
    return f"    {json.dumps(key)}: {json.dumps(value)}\n"


def with_templates(canary: str) -> str:
    """Templates and marker keys wherever a manifest has text."""
    profiles = []
    for number, key in enumerate(MARKER_KEYS):
        token = make_token("manifest", key)
        text = apply_defaults(JINJA.text, token, canary)
        more = tag(key, text) + tag("other", text) + tag(text, "1")
        profiles.append(make_profile(f"{number:064x}", more, json.dumps(text)))
    text = apply_defaults(JINJA.text, make_token("manifest", "id"), canary)
    return "".join([*profiles, make_profile(json.dumps(text))])


def with_commands(canary: str) -> str:
    """YAML tags that build Python objects, in an otherwise valid manifest."""
    token = make_token("manifest", "yaml")
    command = f"!!python/object/apply:os.system ['touch {canary}/{token}']"
    return make_profile("a" * 64) + f"  workspace: {command}\n" + make_profile("b" * 64)


def nest_aliases(indent: str) -> str:
    """A text that is short, and ten billion times as long without its aliases."""
    lines = [f"{indent}l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 12)]
    return f"{indent}l0: &l0 [x, x]\n" + "".join(lines)


def with_aliases(_canary: str) -> str:
    return make_profile("a" * 64) + nest_aliases("  ") + "  tags2: *l11\n"


def with_alias_tags(_canary: str) -> str:
    """Aliases in tags, which go into the status."""
    return make_profile("a" * 64, nest_aliases("    "))


def with_much(_canary: str) -> str:
    """16 MiB, all of it profiles."""
    one = make_profile("%064x", "".join(f"    tag{n}: {'x' * 900}\n" for n in range(60)))
    return "".join(one % number for number in range((16 << 20) // len(one)))


def with_depth(_canary: str) -> str:
    return make_profile("a" * 64) + "  workspace: " + "[" * 100_000 + "\n"


def with_expression(_canary: str) -> str:
    """Expressions that backtrack forever on the names of the sandbox's GPUs."""
    expressions = (
        r"^(((\w|-)+)+)+!$",
        r"(?:(?:[A-Z]|[A-Za-z0-9-])*)*$^",
        r"^(.*.*.*.*.*.*.*.*.*)*!$",
    )
    profiles = []
    for number, expression in enumerate(expressions):
        text = make_profile(f"{number:064x}", tag("product_name_regex", expression))
        profiles.append(text.replace("    gpu: H100\n", ""))
    return "".join(profiles)


BOUNDED = "refused in bounded memory, others are served meanwhile"
BOMBS: dict[str, tuple[t.Callable[[str], str], str]] = {
    "templates": (with_templates, "nothing evaluated; keys of Ansible are not in the status"),
    "commands": (with_commands, "nothing is built but plain data"),
    "aliases": (with_aliases, BOUNDED),
    "alias-tags": (with_alias_tags, BOUNDED),
    "size": (with_much, BOUNDED),
    "depth": (with_depth, BOUNDED),
    "expression": (with_expression, "matched in bounded time, others are served meanwhile"),
}
"""By name: makes a manifest, and what is expected."""


def print_manifest(scene: Scene, pod: str, text: str) -> None:
    """Replace the log of a pod."""
    folder = scene.harness.sandbox.folder / "pod-logs"
    folder.mkdir(exist_ok=True)
    path = folder / f"{scene.namespace}-{pod}.log"
    path.write_text("".join(f"{_STAMP}{line}\n" for line in text.splitlines()))
    body = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Logs",
        "spec": {"logs": [{"logsFile": str(path)}]},
    }
    scene.plant(("apis/kwok.x-k8s.io/v1alpha1", "logs"), pod, body)


def make_choosy_cache(name: str) -> Json:
    cache = make_nimcache(name)
    cache["spec"]["source"]["ngc"]["model"] = {"engine": "tensorrt_llm"}
    return cache


def attack_manifest(make: t.Callable[[str], str], scene: Scene) -> str:
    print_manifest(scene, "model-pod", make(scene.canary))
    began = time.monotonic()
    user = make_nimservice("user", storage={"nimCache": {"name": "model"}})
    with MemoryWatch(scene.harness.ensure().memory) as memory:
        scene.make(make_choosy_cache("model"), user)
        scene.expect_served()
        is_judged = scene.wait_for(lambda: has_verdict(scene.read("NIMCache", "model")))
        seconds = time.monotonic() - began
    scene.expect(is_judged, "the NIMCache does not report its manifest")
    cache = scene.read("NIMCache", "model")
    status = cache.get("status") or {}
    profiles = status.get("profiles") or []
    keys = {key for profile in profiles for key in profile.get("config") or {}}
    for key in sorted(keys):
        scene.expect(not key.startswith("__ansible"), f"the status lists the key {key}")
    more = f"{memory.growth:.0f} MiB more"
    scene.expect(memory.growth <= GROWTH_MIB, f"the operator's memory: {more}")
    scene.expect_unevaluated()
    scene.expect_deleted()
    said = f"{status.get('state')}, {len(profiles)} profiles, {''.join(messages_of(cache)[-1:])}"
    return f"after {seconds:.0f} s, {more}: {said[:150]}"


def has_verdict(cache: Json) -> bool:
    """Whether its manifest was read or refused."""
    status = cache.get("status") or {}
    stalled = [
        item["type"] in ("Stalled", "NIM_CACHE_RECONCILE_FAILED") and item["status"] == "True"
        for item in conditions_of(cache)
    ]
    return (
        bool(status.get("profiles")) or status.get("state") in ("Failed", "Ready") or any(stalled)
    )


@attack("children-edited", "what a tenant writes into children is taken as text")
def attack_children(scene: Scene) -> str:
    """A tenant edits children, which the operator then reads."""
    scene.make(make_choosy_cache("model"), make_nimservice("service"))
    scene.wait_for(lambda: scene.find("ConfigMap", "model-manifest"))
    scene.wait_state("service")
    edited = 0
    for kind, name in (("ConfigMap", "model-manifest"), ("Service", "service"), ("Deployment", "service")):  # fmt: skip
        text = apply_defaults(JINJA.text, make_token("child", kind), scene.canary)
        notes: Json = {"metadata": {"annotations": {"a/x": text, "b": text}}}
        if kind == "ConfigMap":
            keys = ("__ansible_unsafe", "__ansible_vault", "model_manifest.yaml")
            notes |= {"data": dict.fromkeys(keys, text)}
        edited += not scene.cluster.merge(scene.path(kind, name), notes).refusal
    scene.expect(edited == 3, f"only {edited} of 3 children could be edited")
    scene.change("service", {"spec": {"replicas": 2, "env": [{"name": "A", "value": "b"}]}})
    scene.expect_answered()
    scene.expect_unevaluated()
    scene.expect_deleted()
    return f"{edited} children with templates and keys of Ansible: nothing evaluated"


for _name, (_make, _expected) in BOMBS.items():
    attack(f"manifest-{_name}", _expected, quick=_name == "templates")(
        partial(attack_manifest, _make)
    )
