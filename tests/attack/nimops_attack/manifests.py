# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Manifests of models, whose authors need no permissions in the cluster."""

from __future__ import annotations

import json
import time
import typing as t
from dataclasses import dataclass
from functools import partial

from nimops_harness.runtime import MemoryWatch
from nimops_harness.workload import make_nimcache, make_nimservice

from .fields import Json
from .harness import KINDS, Harness, Seen, attack, path_to
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


def with_aliases(_canary: str) -> str:
    levels = [f"  l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12)]
    return make_profile("a" * 64) + "  l0: &l0 [x, x]\n" + "\n".join(levels) + "\n  tags2: *l11\n"


def with_alias_tags(_canary: str) -> str:
    """Aliases in tags, which go into the status."""
    levels = [f"    l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 12)]
    return make_profile("a" * 64, "    l0: &l0 [x, x]\n" + "".join(levels))


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


@dataclass(frozen=True)
class Bomb:
    name: str
    make: t.Callable[[str], str]
    what: str


BOMBS = (
    Bomb("templates", with_templates, "nothing evaluated; keys of Ansible are not in the status"),
    Bomb("commands", with_commands, "nothing is built but plain data"),
    Bomb("aliases", with_aliases, "refused in bounded memory, others are served meanwhile"),
    Bomb("alias-tags", with_alias_tags, "refused in bounded memory, others are served meanwhile"),
    Bomb("size", with_much, "refused in bounded memory, others are served meanwhile"),
    Bomb("depth", with_depth, "refused in bounded memory, others are served meanwhile"),
    Bomb("expression", with_expression, "matched in bounded time, others are served meanwhile"),
)


def print_manifest(harness: Harness, namespace: str, pod: str, text: str) -> None:
    """Replace the log of a pod."""
    folder = harness.sandbox.folder / "pod-logs"
    folder.mkdir(exist_ok=True)
    path = folder / f"{namespace}-{pod}.log"
    path.write_text("".join(f"{_STAMP}{line}\n" for line in text.splitlines()))
    body = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Logs",
        "metadata": {"name": pod},
        "spec": {"logs": [{"logsFile": str(path)}]},
    }
    place = f"/apis/kwok.x-k8s.io/v1alpha1/namespaces/{namespace}/logs"
    harness.cluster.request("POST", place, body)


def make_choosy_cache(name: str) -> Json:
    cache = make_nimcache(name)
    cache["spec"]["source"]["ngc"]["model"] = {"engine": "tensorrt_llm"}
    return cache


def attack_manifest(bomb: Bomb, harness: Harness) -> Seen:
    namespace = harness.namespace(f"manifest-{bomb.name}")
    print_manifest(harness, namespace, "model-pod", bomb.make(str(harness.canary)))
    began = time.monotonic()
    with MemoryWatch(harness.ensure().memory) as memory:
        harness.create(namespace, make_choosy_cache("model"))
        user = make_nimservice("user")
        user["spec"]["storage"] = {"nimCache": {"name": "model"}}
        harness.create(namespace, user)
        problems = harness.find_unserved(namespace)
        cache = wait_for_verdict(harness, namespace, "model")
        seconds = time.monotonic() - began
    if cache is None:
        problems.append("the NIMCache does not report its manifest")
    else:
        problems += find_reserved_keys(cache)
    if memory.growth > GROWTH_MIB:
        problems.append(f"the operator's memory grew by {memory.growth:.0f} MiB")
    problems += harness.evaluated(namespace)
    for kind in ("NIMService", "NIMCache"):
        name = "user" if kind == "NIMService" else "model"
        problems += harness.find_undeleted(kind, namespace, [name])
    said = describe(cache) if cache else ""
    return Seen.of(problems, f"after {seconds:.0f} s, {memory.growth:.0f} MiB more: {said}")


def wait_for_verdict(harness: Harness, namespace: str, name: str) -> Json | None:
    """The NIMCache once its manifest was read or refused."""

    def look() -> Json | None:
        found = harness.read("NIMCache", namespace, name)
        status = (found or {}).get("status") or {}
        done = status.get("profiles") or status.get("state") in ("Failed", "Ready")
        stalled = any(
            item["type"] in ("Stalled", "NIM_CACHE_RECONCILE_FAILED") and item["status"] == "True"
            for item in status.get("conditions") or []
        )
        return found if found and (done or stalled) else None

    return t.cast("Json | None", harness.wait_for(f"a verdict on {name}", look, 60))


def find_reserved_keys(cache: Json) -> list[str]:
    keys = {
        key
        for profile in cache["status"].get("profiles") or []
        for key in profile.get("config") or {}
        if key.startswith("__ansible")
    }
    return [f"the status lists the key {key}" for key in sorted(keys)]


def describe(cache: Json) -> str:
    status = cache["status"]
    said = [item["message"] for item in status.get("conditions") or [] if item.get("message")]
    listed = f"{len(status.get('profiles') or [])} profiles"
    return f"{status.get('state')}, {listed}, {said[-1][:120] if said else ''}"


@attack("children-edited", "what a tenant writes into children is taken as text")
def attack_children(harness: Harness) -> Seen:
    """A tenant edits children, which the operator then reads."""
    namespace = harness.namespace("children")
    canary = str(harness.canary)
    harness.create(namespace, make_choosy_cache("model"))
    harness.create(namespace, make_nimservice("service"))
    harness.wait_for("the ConfigMap", lambda: harness.cluster.find(_core(namespace, "configmaps/model-manifest")), 60)  # fmt: skip
    harness.wait_state("NIMService", namespace, "service")
    problems, edited = [], 0
    deployment = f"/apis/apps/v1/namespaces/{namespace}/deployments/service"
    for place in (_core(namespace, "configmaps/model-manifest"), _core(namespace, "services/service"), deployment):  # fmt: skip
        text = apply_defaults(JINJA.text, make_token("child", place), canary)
        notes: Json = {"metadata": {"annotations": {"a/x": text, "b": text}}}
        if place.endswith("-manifest"):
            notes |= {"data": {"__ansible_unsafe": text, "__ansible_vault": text, "model_manifest.yaml": text}}  # fmt: skip
        edited += harness.cluster.merge(place, notes).refusal is None  # fmt: skip
    if edited < 3:
        problems.append(f"only {edited} of 3 children could be edited")
    for kind, name in (("NIMService", "service"),):
        change = {"spec": {"replicas": 2, "env": [{"name": "A", "value": "b"}]}}
        harness.cluster.patch(path_to(kind, namespace, name), change)
    problems += harness.find_unanswered("NIMService", namespace, ["service"])  # fmt: skip
    problems += harness.evaluated(namespace)
    for kind in KINDS:
        problems += harness.find_undeleted(kind, namespace, ["service", "model"])  # fmt: skip
    return Seen.of(
        problems, f"{edited} children with templates and keys of Ansible: nothing evaluated"
    )


def _core(namespace: str, rest: str) -> str:
    return f"/api/v1/namespaces/{namespace}/{rest}"


for _bomb in BOMBS:
    attack(f"manifest-{_bomb.name}", _bomb.what, quick=_bomb.name == "templates")(
        partial(attack_manifest, _bomb)
    )
